import { afterAll, beforeAll, expect, test } from 'vitest';
import { sign, v2Headers } from '../gateway/sign.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

let stage: AttackStage;

beforeAll(async () => {
  stage = await openAttackStage({ endpoints: { '/weather': {} } });
});
afterAll(() => stage?.close());

test("a sale isn't lost if the facilitator returns one 503 for its settlement: the buyer is served and charged once", async () => {
  const { rails, upstream, urls, totals } = stage;
  let settlements = 0;
  rails.facilitator.misbehave('settle', async (response, real) => {
    if (settlements++ === 0) response.writeHead(503).end('{"error":"busy"}');
    else response.end(JSON.stringify(await real()));
  });
  const buyer = await rails.wallet(20_000n);

  const answer = await fetch(`${urls[0]}/weather`, { headers: v2Headers(await sign(buyer)) });

  expect([answer.status, await answer.text()]).toEqual([200, 'served']);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  expect(upstream.requests).toHaveLength(1);
  expect(settlements).toBe(2);
  expect(await totals()).toEqual({ paymentCount: 1, settledCount: 1, failedCount: 0 });
});
