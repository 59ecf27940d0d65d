import { expect, test } from 'vitest';
import { runBench } from '../support/bench.ts';

// A very short version of `npm run soak`. It is too short to show growth, but it does check that nothing is lost.

test('nothing is lost when every feature is used at the same time and the clock is moved', async ({ signal }) => {
  const { code, output } = await runBench('soak/main.ts', ['--minutes', '0.3', '--rate', '0.2'], signal);
  expect(code, output).toBe(0);
  const [, changes, responses] = output.match(/acknowledged: (\d+) changes, (\d+) paid responses/)!;
  for (const count of [changes, responses]) expect(Number(count)).toBeGreaterThan(10);
  expect(output).toContain('the clock was moved 1 times');
  expect(output).toMatch(/partitions: [1-9]\d* created/);
  for (const figure of ['api: memory', 'PostgreSQL connections', 'Delivery: bytes per row', 'live frames: p99'])
    expect(output).toContain(figure);
});
