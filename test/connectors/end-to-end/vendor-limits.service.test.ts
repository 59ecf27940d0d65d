import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LimitedVendor, limitedDiscord, limitedSlack } from '../support/vendors/rate-limits.ts';
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
  ['without its own limit', null],
  ['with its own higher limit', 50],
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

type Case = ['slack' | 'discord', string, () => LimitedVendor, { events: number; maxRejected: number }];

const STRICTER_EVENTS = 6;

test.each<Case>([
  // Within the documented limits, not a single request is rejected.
  ['slack', 'its documented limit', limitedSlack, { events: 12, maxRejected: 0 }],
  ['discord', 'its documented limit', limitedDiscord, { events: 20, maxRejected: 0 }],
  // If the limit is lower, because others use the webhook too, each event is rejected at most once on average.
  [
    'slack',
    'half of it',
    () => limitedSlack({ perSecond: 0.5, burst: 1 }),
    { events: STRICTER_EVENTS, maxRejected: STRICTER_EVENTS },
  ],
  [
    'discord',
    'a quarter of it',
    () => limitedDiscord({ count: 5, perSeconds: 8 }),
    { events: 2 * STRICTER_EVENTS, maxRejected: 2 * STRICTER_EVENTS },
  ],
])(
  'messages that are due at the same time all reach %s, which enforces %s, and few are rejected',
  async (type, _limit, createVendor, { events, maxRejected }) => {
    const vendor = createVendor();
    stage.vendors.interfere(type, vendor.interference);
    const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
    for (let count = 0; count < events; count++) await stage.record('payment.settled', {}, { isHeldBack: true });
    await stage.makeDue();
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', events);
    expect(vendor.accepted).toHaveLength(events);
    expect(vendor.rejected.length).toBeLessThanOrEqual(maxRejected);
    expect(await stage.connector(connector.id)).toMatchObject({ isActive: true, pausedAt: null, failingSince: null });
    stage.vendors.interfere(type, undefined);
    await stage.patch(connector.id, { isActive: false });
  },
  120_000,
);
