import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { EventType } from '../../../src/events/types.ts';
import { sampleConfig } from '../support/configs.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  // One delivery at a time, so that credentials can expire in the middle of many.
  stage = await openStage({ maxInFlight: 1, perDestination: 1, claimBatch: 1 });
});

afterAll(() => stage.close());

/** Types with vendors that reject credentials in different ways. */
const CASES: [ConnectorType, EventType, RegExp][] = [
  ['supabase', 'payment.settled', /^Supabase rejected the API key\./],
  ['slack', 'payment.settled', /^Slack no longer accepts this webhook URL\./],
  // This vendor responds with 400 instead of 401.
  ['amplitude', 'payment.settled', /^Amplitude rejected the API key/],
  // Both regions reject the key.
  ['opsgenie', 'payment.failed', /^Opsgenie rejected the credentials/],
  // In the middle of a delivery with several steps.
  ['quickbooks', 'payment.settled', /^QuickBooks rejected the access token\./],
];

describe('credentials that expire in the middle of a backlog', () => {
  test.each(CASES)(
    'pause a connector of type %s, which holds its deliveries until it gets new credentials',
    async (type, eventType, reason) => {
      const connector = await stage.connect(type, { eventTypes: [eventType] });
      const event = (index: number) =>
        stage.record(eventType, { paymentId: `pay_${type}_${index}` }, { isHeldBack: true });
      for (let index = 0; index < 12; index++) await event(index);

      // The vendor rejects the credentials from the fourth event on.
      let taken = 0;
      stage.vendors.interfere(type, (call, _response, usual) => {
        const response = usual();
        const isTaken = call.method === 'POST' && (response.statusCode ?? 200) < 300;
        if (isTaken && ++taken === 3) stage.vendors.expire(connector.mark);
        return response;
      });
      await stage.makeDue();
      await expect
        .poll(() => stage.connector(connector.id))
        .toMatchObject({
          isActive: true,
          pausedReason: expect.stringMatching(reason),
          pausedAt: expect.any(String),
        });
      stage.vendors.interfere(type, undefined);
      const held = await stage.deliveriesAre(connector.id, 'PENDING', 9);
      await expect
        .poll(
          async () => (await stage.deliveries(connector.id)).filter(({ nextAttemptAt }) => nextAttemptAt !== null),
          { timeout: 60_000 },
        )
        .toEqual([]);
      expect(held.filter(({ attemptCount }) => attemptCount > 0)).toHaveLength(1);

      // New deliveries are also held, and no calls are made.
      const calls = stage.vendors.callsTo(type).length;
      await stage.record(eventType, { paymentId: `pay_${type}_12` });
      const waiting = await stage.deliveriesAre(connector.id, 'PENDING', 10);
      expect(waiting.map(({ reason: why }) => why)).toEqual(waiting.map(() => 'paused'));
      expect(stage.vendors.callsTo(type)).toHaveLength(calls);

      // Another bad credential pauses it again, without losing anything.
      const configOf = (mark: string) => sampleConfig(type, 'required', mark);
      const expired = await stage.patch(connector.id, {
        config: secretsOf(configOf('k0123456789abcdef0123456789abcde')),
      });
      expect(expired.body).toMatchObject({ pausedReason: null, pausedAt: null });
      await expect
        .poll(() => stage.connector(connector.id))
        .toMatchObject({ pausedReason: expect.stringMatching(reason) });
      await stage.deliveriesAre(connector.id, 'PENDING', 10);

      const renewed = await stage.patch(connector.id, { config: secretsOf(configOf(stage.newMark())) });
      expect(renewed.body).toMatchObject({ pausedReason: null, isActive: true });
      const arrived = await stage.deliveriesAre(connector.id, 'SUCCEEDED', 13);
      expect(new Set(arrived.map(({ eventId }) => eventId)).size).toBe(13);
      // Deliveries that were only held haven't used up any attempts.
      expect(arrived.filter(({ attemptCount }) => attemptCount === 1).length).toBeGreaterThanOrEqual(11);
      await stage.patch(connector.id, { isActive: false });
    },
  );

  test('don’t stop the seller from sending a test event to find out whether the credentials work again', async () => {
    const mark = 'k1123456789abcdef0123456789abcde';
    const connector = await stage.connect('slack', { eventTypes: ['payment.settled'], mark });
    await stage.record('payment.settled');
    await expect.poll(() => stage.connector(connector.id)).toMatchObject({ pausedReason: expect.any(String) });
    stage.vendors.accept(mark);
    const test = await stage.user.rest('POST', `${stage.base}/connectors/${connector.id}/test`, {
      eventType: 'payment.settled',
    });
    expect(test.body).toMatchObject({ probe: null, delivery: { status: expect.stringMatching(/PENDING|RUNNING/) } });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
    await stage.deliveriesAre(connector.id, 'PENDING', 1);
    // The problem is fixed, so the seller only has to enable the connector again.
    const resumed = await stage.patch(connector.id, { isActive: true });
    expect(resumed.body).toMatchObject({ pausedReason: null, pausedAt: null });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 2);
  });
});

function secretsOf(config: Record<string, unknown>): Record<string, unknown> {
  const names = ['webhookUrl', 'apiKey', 'accessToken', 'routingKey'];
  return Object.fromEntries(Object.entries(config).filter(([name]) => names.includes(name)));
}
