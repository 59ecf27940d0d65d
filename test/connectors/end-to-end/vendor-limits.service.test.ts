import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Interference } from '../support/vendors/server.ts';
import { openStage, type Stage } from './stage.ts';

const EVENTS = 6;

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** Accepts one request per second, and responds to all others with 429. */
function createStrictVendor() {
  const accepted: number[] = [];
  let refusals = 0;
  const interference: Interference = (_call, _response, usual) => {
    const now = performance.now();
    if (now - (accepted.at(-1) ?? Number.NEGATIVE_INFINITY) < 1_000) {
      refusals++;
      return { statusCode: 429, headers: { 'retry-after': '1' } };
    }
    accepted.push(now);
    return usual();
  };
  return { interference, accepted, refusals: () => refusals };
}

test.each([
  ['without a limit of its own', null],
  ['with a higher limit of its own', 50],
])("a burst for a connector %s stays within its vendor's limit", async (_what, maxPerSecond) => {
  const vendor = createStrictVendor();
  stage.vendors.interfere('slack', vendor.interference);
  const connector = await stage.connect('slack', { eventTypes: ['payment.settled'] });
  expect((await stage.patch(connector.id, { maxPerSecond })).status).toBe(200);
  for (let count = 0; count < EVENTS; count++) await stage.record('payment.settled', {}, { isHeldBack: true });
  await stage.makeDue();
  await expect.poll(() => vendor.accepted.length + vendor.refusals()).toBe(EVENTS);
  const deliveries = await stage.deliveriesAre(connector.id, 'SUCCEEDED', EVENTS);
  expect(vendor.refusals()).toBe(0);
  expect(deliveries).toHaveLength(EVENTS);
  for (const delivery of deliveries) expect(delivery).toMatchObject({ attemptCount: 1, statusCode: 200 });
  // No slower than necessary: a request every 1.2 seconds.
  expect(vendor.accepted.at(-1)! - vendor.accepted[0]!).toBeLessThan(EVENTS * 1_500);
  await stage.patch(connector.id, { isActive: false });
});
