import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import type { VendorCall } from '../support/vendors/vendor.ts';
import { json } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

const EVENTS = 30;

let stage: Stage;

beforeAll(async () => {
  // Far enough apart to tell separate attempts from batched ones.
  stage = await openStage({ retryScheduleSeconds: [0.5, 0.5] });
});
beforeEach(async () => {
  await stage.db.prisma.connector.deleteMany();
});
afterAll(() => stage.close());

/** Returns the IDs of the events in a write, in order. */
const WRITES: Partial<Record<ConnectorType, (call: VendorCall) => string[]>> = {
  'google-sheets': ({ url, body }) =>
    url.pathname.endsWith(':append') ? JSON.parse(body).values.map(([id]: string[]) => id) : [],
  bigquery: ({ url, body }) =>
    url.pathname.endsWith('/insertAll')
      ? JSON.parse(body).rows.map(({ insertId }: { insertId: string }) => insertId)
      : [],
  dune: ({ url, body }) =>
    url.pathname.endsWith('/insert')
      ? body
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).event_id)
      : [],
};
const idsIn = (type: ConnectorType, call: VendorCall) => WRITES[type]!(call);

/** Records `count` events that are all due now. */
async function recordAtOnce(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const payment = { paymentId: `pay_${index}` };
    ids.push(await stage.record('payment.settled', payment, { secondsAgo: 600, isHeldBack: true }));
  }
  await stage.makeDue();
  return ids;
}

describe.each(['google-sheets', 'bigquery', 'dune'] as const)('%s', (type) => {
  test('receives all due events in one write, each exactly once', async () => {
    const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
    const before = stage.vendors.callsTo(type).length;
    const ids = await recordAtOnce(EVENTS);
    const delivered = await stage.deliveriesAre(connector.id, 'SUCCEEDED', EVENTS);
    for (const { attemptCount, statusCode } of delivered) expect([attemptCount, statusCode]).toEqual([1, 200]);
    const writes = stage.vendors
      .callsTo(type)
      .slice(before)
      .map((call) => idsIn(type, call))
      .filter((each) => each.length > 0);
    expect(writes).toHaveLength(1);
    expect(writes[0]!.toSorted()).toEqual(ids.toSorted());
  });

  // Every request waits for its slot within the vendor's rate limit. Dune allows one every 4 seconds.
  test('delivers the other events if the vendor rejects one', async () => {
    const count = type === 'dune' ? 8 : EVENTS;
    const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
    let bad = '';
    const stored: string[] = [];
    stage.vendors.interfere(type, (call, _response, usual) => {
      if (idsIn(type, call).length === 0) return usual();
      if (call.body.includes(bad))
        return json(400, { error: { code: 400, message: 'Invalid value', status: 'INVALID_ARGUMENT' } });
      stored.push(...idsIn(type, call));
      return usual();
    });
    const ids: string[] = [];
    for (let index = 0; index < count; index++) {
      const payment = { paymentId: `pay_${index}` };
      ids.push(await stage.record('payment.settled', payment, { secondsAgo: 600, isHeldBack: true }));
    }
    bad = ids[5]!;
    const before = stage.vendors.callsTo(type).length;
    await stage.makeDue();
    const [failed] = await stage.deliveriesAre(connector.id, 'FAILED', 1, 60_000);
    expect(failed).toMatchObject({ eventId: bad, reason: expect.stringContaining('rejected the') });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', count - 1, 60_000);
    stage.vendors.interfere(type, undefined);
    expect(stored.toSorted()).toEqual(ids.filter((id) => id !== bad).toSorted());
    // The connector finds the rejected event by halving the batch, instead of sending events one by one.
    const calls = stage.vendors.callsTo(type).slice(before);
    const writes = calls.filter((call) => idsIn(type, call).length > 0);
    expect(writes.length).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(count)) + 1);
    expect(await stage.connector(connector.id)).toMatchObject({ isActive: true, pausedReason: null });
  });

  test('receives a retry as a batch after a lost response, without duplicate rows if it can look them up', async () => {
    const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
    const before = stage.vendors.callsTo(type).length;
    const stored: string[] = [];
    stage.vendors.interfere(type, (call, response, usual) => {
      const answer = usual();
      if (idsIn(type, call).length === 0) return answer;
      stored.push(...idsIn(type, call));
      if (stored.length > 5) return answer;
      response.destroy();
      return undefined;
    });
    const ids = await recordAtOnce(5);
    const delivered = await stage.deliveriesAre(connector.id, 'SUCCEEDED', 5);
    stage.vendors.interfere(type, undefined);
    for (const { attemptCount } of delivered) expect(attemptCount).toBe(2);
    // BigQuery and Dune offer no way to look up rows, so readers must deduplicate by event ID.
    expect(stored.toSorted()).toEqual((type === 'google-sheets' ? ids : [...ids, ...ids]).toSorted());
    expect(stage.vendors.callsTo(type).length - before).toBeLessThanOrEqual(5);
  });
});

describe('an event that is waiting for a batch', () => {
  test('is sent immediately if it is resent manually or is a test', async () => {
    const connector = await stage.connect('dune', { eventTypes: ['payment.settled'] });
    // An event from tomorrow waits until then for its batch, no matter how long the next steps take.
    await stage.record('payment.settled', {}, { secondsAgo: -86_400 });
    const recordedAt = Date.now();
    const next = async () => (await stage.deliveries(connector.id))[0]!;
    await expect.poll(async () => Date.parse((await next()).nextAttemptAt ?? '')).toBeGreaterThan(recordedAt);
    const waiting = await next();
    expect(waiting).toMatchObject({ status: expect.stringMatching(/PENDING|RUNNING/), attemptCount: 0 });
    const resend = () => stage.user.rest('POST', `${stage.base}/deliveries/${waiting.id}/resend`);
    await expect.poll(async () => (await resend()).status).toBe(200);
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
    await stage.user.rest('POST', `${stage.base}/connectors/${connector.id}/test`, { eventType: 'payment.settled' });
    await stage.deliveriesAre(connector.id, 'SUCCEEDED', 2);
  });
});

describe('what a connector remembers', () => {
  test.each([
    // Dune: namespace and table. Sheets: the sheet and the row to read from. QuickBooks: item and currency. Opsgenie:
    // region.
    ['dune', { namespace: 'my_team', 'table:my_team/x402_events': 'created' }, 3, 1],
    [
      'google-sheets',
      {
        'tab:1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms:': '0:Tabelle1',
        'lastRow:1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms:Tabelle1': expect.stringMatching(/^\d+$/),
      },
      // The sheet already has a heading.
      3,
      2,
    ],
    ['quickbooks', { 'currency:9130355377388383': 'USD', 'item:9130355377388383': '42' }, 5, 3],
    ['opsgenie', expect.objectContaining({ region: 'eu' }), 2, 1],
  ] as const)(
    '%s is kept for the next delivery and cleared when the config changes',
    async (type, memory, firstCalls, laterCalls) => {
      const kind = type === 'opsgenie' ? 'payment.failed' : 'payment.settled';
      const connector = await stage.connect(type, { eventTypes: [kind] });
      const callsOf = async (paymentId: string, count: number) => {
        const before = stage.vendors.callsTo(type).length;
        await stage.record(kind, { paymentId }, { secondsAgo: 600 });
        await stage.deliveriesAre(connector.id, 'SUCCEEDED', count);
        return stage.vendors.callsTo(type).length - before;
      };
      expect(await callsOf(`pay_${type}_1`, 1)).toBe(firstCalls);
      expect(await stage.memory(connector.id)).toEqual(memory);
      expect(await callsOf(`pay_${type}_2`, 2)).toBe(laterCalls);
      expect((await stage.patch(connector.id, { config: {} })).status).toBe(200);
      expect(await stage.memory(connector.id)).toEqual({});
    },
  );

  test("is used once by the next settled payment, to close an endpoint's alert", async () => {
    for (const type of ['pagerduty', 'opsgenie'] as const) {
      const connector = await stage.connect(type, { eventTypes: ['payment.failed', 'payment.settled'] });
      await stage.record('payment.failed');
      await stage.deliveriesAre(connector.id, 'SUCCEEDED', 1);
      await stage.record('payment.settled');
      await stage.deliveriesAre(connector.id, 'SUCCEEDED', 2);
      expect(
        Object.keys((await stage.memory(connector.id)) as object).filter((name) => name.startsWith('open:')),
      ).toEqual([]);
      await stage.record('payment.settled');
      const [skipped] = await stage.deliveriesAre(connector.id, 'SKIPPED');
      expect(skipped!.reason).toBe('No alert is open for this endpoint.');
      await stage.patch(connector.id, { isActive: false });
    }
  });
});
