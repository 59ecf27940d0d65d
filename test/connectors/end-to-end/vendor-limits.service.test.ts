import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStage, type Stage } from './stage.ts';

const EVENTS = 4;
/** Slack accepts one message per second, and messages may arrive closer together than they were sent. */
const INTERVAL_MILLISECONDS = 1_200;
const MARGIN_OF_TIMERS = 20;

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

test("a burst for a connector with a higher limit of its own stays within its vendor's limit", async () => {
  const connector = await stage.connect('slack', { eventTypes: ['payment.settled'] });
  expect((await stage.patch(connector.id, { maxPerSecond: 50 })).status).toBe(200);
  for (let count = 0; count < EVENTS; count++) await stage.record('payment.settled', {}, { isHeldBack: true });
  const from = Date.now();
  await stage.makeDue();
  const deliveries = await stage.deliveriesAre(connector.id, 'SUCCEEDED', EVENTS);
  for (const delivery of deliveries) expect(delivery).toMatchObject({ attemptCount: 1, statusCode: 200 });
  const times = stage.vendors.timesOf('slack');
  expect(times).toHaveLength(EVENTS);
  // On a busy machine, a request may be late, but none is before its slot.
  for (const [index, time] of times.entries()) {
    expect(time - from).toBeGreaterThan(index * INTERVAL_MILLISECONDS - MARGIN_OF_TIMERS);
  }
});
