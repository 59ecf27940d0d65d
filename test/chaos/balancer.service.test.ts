import { expect, onTestFinished, test } from 'vitest';
import { startBalancer } from '../../bench/upgrade/balancer.ts';
import { startReceiver } from '../support/receiver.ts';

// What the programs that break the service count as a server error.

const problem = (code: string) => ({ statusCode: 500, body: JSON.stringify({ status: 500, code }) });
const UNAVAILABLE = { statusCode: 503, body: '{"code":"UNAVAILABLE"}' };

test('server errors are counted by their code, except those that are allowed', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const balancer = await startBalancer({ allowedCodes: ['OUTCOME_UNCERTAIN'] });
  balancer.use([{ name: 'api-1', role: 'api', url: receiver.url }]);
  receiver.respondNext(
    {},
    problem('INTERNAL'),
    problem('OUTCOME_UNCERTAIN'),
    { ...UNAVAILABLE, headers: { 'retry-after': '1' } },
    UNAVAILABLE,
    { statusCode: 500 },
  );

  const bodies: string[] = [];
  for (let index = 0; index < 6; index++) bodies.push(await (await fetch(`${balancer.url}/api/me`)).text());

  expect(Object.fromEntries(balancer.faults)).toEqual({
    'api-1: 500 INTERNAL': 1,
    'api-1: 503': 1,
    'api-1: 500': 1,
  });
  expect(balancer.successesOf('api-1')).toBe(1);
  expect(bodies[1]).toBe(problem('INTERNAL').body);
});
