import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { EventType } from '../../../src/events/types.ts';
import type { Interference } from '../support/vendors/server.ts';
import { json, text, type VendorCall } from '../support/vendors/vendor.ts';
import { GONE, REFUSALS } from './refusals.ts';
import { type Delivery, openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(() => stage.close());

let days = 0;
/** Returns a day without entries. */
const newDay = () => new Date(Date.UTC(2026, 0, 1 + days++)).toISOString().slice(0, 10);

/** Creates a connector, sends it one event, and returns the connector, the delivery, and the vendor's calls. */
async function deliver(
  type: ConnectorType,
  eventType: EventType,
  status: string,
  ...interferences: Parameters<Stage['vendors']['interfereNext']>[1][]
) {
  const connector = await stage.connect(type, { eventTypes: [eventType] });
  const before = stage.vendors.callsTo(type).length;
  stage.vendors.interfereNext(type, ...interferences);
  const data = eventType === 'revenue.daily_summary' ? { date: newDay() } : {};
  await stage.record(eventType, data, { secondsAgo: 600 });
  const [delivery] = await stage.deliveriesAre(connector.id, status);
  const afterwards = await stage.connector(connector.id);
  await stage.user.rest('PATCH', `${stage.base}/connectors/${connector.id}`, { isActive: false });
  const calls = stage.vendors.callsTo(type).slice(before);
  const times = stage.vendors.timesOf(type).slice(before);
  return { connector: afterwards, delivery: await stage.delivery(delivery!.id), calls, times };
}

const statusesOf = ({ attempts = [] }: Delivery) => attempts.map(({ statusCode }) => statusCode);
const errorsOf = ({ attempts = [] }: Delivery) => attempts.map(({ errorClass }) => errorClass);

const reset: Interference = (_call, response) => {
  response.destroy();
  return undefined;
};

/** The vendor processes the request, but resets the connection before it responds. */
const resetAfterDoing: Interference = (_call, response, usual) => {
  usual();
  response.destroy();
  return undefined;
};

describe('a vendor with a rate limit', () => {
  test("isn't called again until the seconds in Retry-After have passed", async () => {
    const busy = json(429, { message: 'slow down' }, { 'retry-after': '1' });
    const { delivery, times } = await deliver('segment', 'payment.settled', 'SUCCEEDED', busy);
    expect(statusesOf(delivery)).toEqual([429, 200]);
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(1_000);
  });

  test("isn't called again before the date in Retry-After", async () => {
    // A date has no milliseconds, so it is one to two seconds ahead.
    const until = Math.floor(Date.now() / 1000 + 2) * 1000;
    const busy = { statusCode: 503, headers: { 'retry-after': new Date(until).toUTCString() } };
    const { delivery, times } = await deliver('discord', 'payment.settled', 'SUCCEEDED', busy);
    expect(statusesOf(delivery)).toEqual([503, 200]);
    expect(times[1]!).toBeGreaterThanOrEqual(until);
  });
});

describe('a failing vendor', () => {
  test('receives the event again after each 5xx until it accepts it', async () => {
    const { delivery, calls, connector } = await deliver(
      'linear',
      'payment.failed',
      'SUCCEEDED',
      text(503, 'busy'),
      text(500, 'oops'),
      text(502, ''),
    );
    expect(statusesOf(delivery)).toEqual([503, 500, 502, 200]);
    expect(delivery).toMatchObject({ attemptCount: 4, retryCount: 3 });
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
    expect(connector.failingSince).toBeNull();
  });

  test('receives no more retries after the end of the schedule, and the last reason is kept', async () => {
    const failures = Array.from({ length: 5 }, () => text(500, 'still broken'));
    const { delivery, connector } = await deliver('datadog', 'payment.settled', 'FAILED', ...failures);
    expect(statusesOf(delivery)).toEqual([500, 500, 500, 500, 500]);
    expect(delivery).toMatchObject({
      reason: "Datadog couldn't accept the event right now (HTTP 500).",
      nextAttemptAt: null,
    });
    expect(connector.failingSince).not.toBeNull();
  });

  test('receives the event again after it resets the connection', async () => {
    const { delivery, calls } = await deliver('mixpanel', 'payment.settled', 'SUCCEEDED', reset, reset);
    expect(errorsOf(delivery)).toEqual(['connection_reset', 'connection_reset', null]);
    // The bytes are the same, so the vendor can deduplicate.
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
  });

  test("can't redirect the request", async () => {
    const redirect = { statusCode: 307, headers: { location: 'https://hooks.slack.com/services/T1/B1/elsewhere' } };
    const { delivery, calls } = await deliver('zapier', 'payment.settled', 'FAILED', redirect);
    expect(statusesOf(delivery)).toEqual([307]);
    expect(calls).toHaveLength(1);
  });
});

/** Interferes only with the call that appends rows to a Google spreadsheet. */
const onAppend =
  (interference: Interference): Interference =>
  (call, response, usual) =>
    stepOf(call) === 'append' ? interference(call, response, usual) : usual();

function stepOf({ url: { pathname } }: VendorCall): string {
  const [, verb] = /:(append|batchUpdate)$/.exec(pathname) ?? [];
  return verb ?? (pathname.includes('/values/') ? 'read' : 'find');
}

describe('when an event may already have arrived', () => {
  test('a row is looked up before it is written again', async () => {
    stage.vendors.interfere('google-sheets', onAppend(resetAfterDoing));
    const { delivery, calls } = await deliver('google-sheets', 'payment.settled', 'SUCCEEDED');
    stage.vendors.interfere('google-sheets', undefined);
    expect(errorsOf(delivery)).toEqual(['connection_reset', null]);
    expect(calls.map(stepOf)).toEqual(['find', 'batchUpdate', 'append', 'find', 'read']);
    expect(delivery.reason).toBe('The rows already existed.');
  });

  test('a missing row is written', async () => {
    let appends = 0;
    stage.vendors.interfere(
      'google-sheets',
      onAppend((...args) => (++appends === 1 ? reset(...args) : args[2]())),
    );
    const { delivery, calls } = await deliver('google-sheets', 'payment.failed', 'SUCCEEDED');
    stage.vendors.interfere('google-sheets', undefined);
    expect(errorsOf(delivery)).toEqual(['connection_reset', null]);
    expect(calls.map(stepOf)).toEqual(['find', 'append', 'find', 'read', 'append', 'batchUpdate']);
  });

  test('a receipt is looked up before another one is booked', async () => {
    const afterBooking: Interference = (call, response, usual) => {
      const answer = usual();
      if (call.method !== 'POST') return answer;
      response.destroy();
      return undefined;
    };
    stage.vendors.interfere('quickbooks', afterBooking);
    const { delivery, calls } = await deliver('quickbooks', 'revenue.daily_summary', 'SUCCEEDED');
    stage.vendors.interfere('quickbooks', undefined);
    expect(errorsOf(delivery)).toEqual(['connection_reset', null]);
    expect(calls.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(delivery.reason).toMatch(/^X402\w+ is already booked\.$/);
  });
});

describe('a rejection with a success status', () => {
  const onWrite =
    (answer: ReturnType<typeof json>): Interference =>
    (call, _response, usual) =>
      call.method === 'GET' ? usual() : answer;

  test.each(REFUSALS)("doesn't count as a delivery to %s: %s", async (type, eventType, answer, reason) => {
    // HubSpot's properties are created with the first contact.
    if (type === 'hubspot') await deliver(type, eventType, 'SUCCEEDED');
    stage.vendors.interfere(type, onWrite(answer));
    const { delivery, connector } = await deliver(type, eventType, 'FAILED');
    stage.vendors.interfere(type, undefined);
    expect(delivery.reason).toMatch(reason);
    expect(delivery).toMatchObject({
      attemptCount: 1,
      errorClass: 'rejected',
    });
    // A single rejected event doesn't pause the connector.
    expect(connector).toMatchObject({ isActive: true, pausedReason: null, disabledReason: null });
  });
});

describe('a destination that no longer exists', () => {
  test.each(GONE)(
    'disables a connector of type %s immediately, with the reason, and skips later events',
    async (type, answer, reason) => {
      const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
      stage.vendors.interfereNext(type, answer);
      await stage.record('payment.settled');
      await stage.deliveriesAre(connector.id, 'FAILED');
      await expect
        .poll(() => stage.connector(connector.id))
        .toMatchObject({ isActive: false, disabledReason: expect.stringMatching(reason) });

      const before = stage.vendors.callsTo(type).length;
      await stage.record('payment.settled');
      const [skipped] = await stage.deliveriesAre(connector.id, 'SKIPPED');
      expect(skipped).toMatchObject({ reason: 'disabled', attemptCount: 0 });
      expect(stage.vendors.callsTo(type)).toHaveLength(before);

      expect((await stage.patch(connector.id, { isActive: true })).body).toMatchObject({
        isActive: true,
        disabledReason: null,
      });
      await stage.record('payment.settled');
      await stage.deliveriesAre(connector.id, 'SUCCEEDED');
      await stage.patch(connector.id, { isActive: false });
    },
  );
});

describe("an event that a connector type doesn't send", () => {
  test('is recorded as skipped with the reason, and the vendor is not called', async () => {
    const skipped = async (type: ConnectorType, eventType: EventType, data = {}) => {
      const connector = await stage.connect(type);
      await stage.record(eventType, data);
      const [delivery] = await stage.deliveriesAre(connector.id, 'SKIPPED');
      await stage.patch(connector.id, { isActive: false });
      expect(delivery).toMatchObject({ attemptCount: 0, nextAttemptAt: null });
      return delivery!.reason;
    };
    const before = ['hubspot', 'opsgenie', 'xero'].map((type) => stage.vendors.callsTo(type as ConnectorType).length);
    expect(await skipped('hubspot', 'payment.settled')).toBe('unsupported_event');
    expect(await skipped('xero', 'payment.settled')).toBe('unsupported_event');
    expect(await skipped('opsgenie', 'payment.settled')).toBe('No alert is open for this endpoint.');
    expect(await skipped('xero', 'revenue.daily_summary', { totalUsd: '0.004' })).toBe(
      'Nothing to book: 0.004 USD rounds to 0.00.',
    );
    expect(['hubspot', 'opsgenie', 'xero'].map((type) => stage.vendors.callsTo(type as ConnectorType).length)).toEqual(
      before,
    );
  });
});
