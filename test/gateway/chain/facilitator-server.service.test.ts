import { expect, onTestFinished, test } from 'vitest';
import { startFacilitatorServer } from './facilitator-server.ts';

const unused = () => Promise.reject(new Error('Nothing calls it.'));

test('the facilitator for tests can go down and come up often, without a warning about too many listeners', async () => {
  const warnings: string[] = [];
  const collect = ({ message }: Error) => void warnings.push(message);
  process.on('warning', collect);
  onTestFinished(() => void process.off('warning', collect));
  const facilitator = await startFacilitatorServer({
    address: '0x0000000000000000000000000000000000000001',
    supported: () => ({ kinds: [] }),
    verify: unused,
    settle: unused,
  });
  for (let time = 0; time < 12; time += 1) {
    await facilitator.goDown();
    await facilitator.comeUp();
  }
  expect(await (await fetch(`${facilitator.url}/supported`)).json()).toEqual({ kinds: [] });
  await facilitator.close();
  expect(warnings).toEqual([]);
});
