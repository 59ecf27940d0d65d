import { afterAll, beforeAll, expect, test } from 'vitest';
import { sign, v2Headers } from '../gateway/sign.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

const CONNECTIONS = 120;
const ENOUGH_CALLS = 600;

let stage: AttackStage;

beforeAll(async () => {
  stage = await openAttackStage({ endpoints: { '/orders': {} }, gatewayCount: 2 });
});
afterAll(() => stage?.close());

test('an address that keeps sending payments that fail at settlement causes at most 60 upstream calls a minute through two processes, plus those in flight', {
  timeout: 120_000,
}, async () => {
  const { rails, upstream, urls } = stage;
  rails.facilitator.misbehave('settle', (response) => {
    response.end(JSON.stringify({ success: false, errorReason: 'insufficient_funds', transaction: '' }));
  });
  const buyer = await rails.wallet(1_000_000_000n);
  const startedAt = performance.now();
  const isStopped = await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, index) => {
      while (upstream.requests.length < ENOUGH_CALLS) {
        const { status } = await fetch(`${urls[index % 2]}/orders`, { headers: v2Headers(await sign(buyer)) });
        if (status === 429) return true;
      }
      return false;
    }),
  );
  const refilled = Math.ceil((performance.now() - startedAt) / 1000);
  expect(upstream.requests.length).toBeGreaterThanOrEqual(60);
  expect(upstream.requests.length).toBeLessThanOrEqual(60 + refilled + CONNECTIONS);
  expect(new Set(isStopped)).toEqual(new Set([true]));
});
