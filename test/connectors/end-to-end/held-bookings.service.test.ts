import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ConnectorType } from '../../../src/connectors/definition.ts';
import {
  newQuickBooksCompany,
  type QuickBooksCompany,
  quickbooks,
  type XeroOrganization,
  xero,
} from '../support/vendors/accounting.ts';
import { ask, type Vendor } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

type Notice = {
  type: string;
  subjectId: string;
  title: string;
  cause: string;
  advice: string;
  closedAt: string | null;
};

let stage: Stage;
let company: QuickBooksCompany;
let organization: XeroOrganization;
/** The connectors of the current test. Each event goes to all connectors that are enabled. */
let connected: string[];

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());
beforeEach(() => {
  company = newQuickBooksCompany();
  organization = {};
  connected = [];
  const fresh: [ConnectorType, Vendor][] = [
    ['quickbooks', quickbooks(company)],
    ['xero', xero(organization)],
  ];
  for (const [type, vendor] of fresh) stage.vendors.interfere(type, (call) => ask(vendor, call, () => true));
});
afterEach(async () => {
  for (const id of connected) await stage.patch(id, { isActive: false });
});

async function connect(type: 'quickbooks' | 'xero', config: Record<string, unknown> = {}): Promise<string> {
  const { id } = await stage.connect(type, { eventTypes: ['revenue.daily_summary'], config });
  connected.push(id);
  return id;
}

const book = (date: string, totalUsd = '12.34') => stage.record('revenue.daily_summary', { date, totalUsd });
const resend = (id: string) => stage.user.rest('POST', `${stage.base}/deliveries/${id}/resend`);
const noticesAbout = async (deliveryId: string): Promise<Notice[]> => {
  const { body } = await stage.user.rest<{ data: Notice[] }>('GET', `${stage.base}/notices?limit=100`);
  return body.data.filter(({ subjectId }) => subjectId === deliveryId);
};
const WORDS = /^[^.]*\bresend this delivery: 12\.34 USD for 2026-01-\d\d \(X402\w+\) isn't booked\. /;

describe.each([
  // More days than the rejections that pause a connector.
  ['quickbooks', {}, 7, 'QuickBooks Online', /^Reopen the books for 2026-01-0\d in QuickBooks/],
  // Fewer days, because Xero accepts only a request per second.
  ['xero', {}, 3, 'Xero', /^Set the lock dates in Xero/],
  ['xero', { bankAccountCode: '090', revenueAccountCode: '200' }, 3, 'Xero', /^Set the lock dates in Xero/],
] as const)('days in a closed period at %s %j', (type, config, days, title, instruction) => {
  const close = (through: string | undefined) => {
    Object.assign(company, { closedThrough: through });
    Object.assign(organization, { lockedThrough: through });
  };

  test('are held with a notice each while other days are booked, and are booked once they are resent', async () => {
    close('2026-01-07');
    const id = await connect(type, config);
    for (let day = 1; day <= days; day++) await book(`2026-01-0${day}`);
    await book('2026-01-08');
    await stage.deliveriesAre(id, 'SUCCEEDED', 1);
    await expect
      .poll(async () => (await stage.deliveries(id)).filter(({ attemptCount }) => attemptCount > 0), {
        timeout: 60_000,
      })
      .toHaveLength(days + 1);
    const held = await stage.deliveriesAre(id, 'PENDING', days);
    for (const delivery of held) {
      expect(delivery).toMatchObject({ nextAttemptAt: null, statusCode: 400, attemptCount: 1 });
      expect(delivery.reason).toMatch(instruction);
      expect(delivery.reason).toMatch(WORDS);
      expect(await noticesAbout(delivery.id)).toMatchObject([
        { type: 'delivery.held', title: `A delivery to ${title} is held`, cause: delivery.reason, closedAt: null },
      ]);
    }
    expect(await stage.connector(id)).toMatchObject({ isActive: true, pausedAt: null, failingSince: null });

    // Resending too early changes nothing, and resending after the period was reopened books the day.
    const [first, second, ...rest] = held as [(typeof held)[0], (typeof held)[0], ...typeof held];
    expect((await resend(first.id)).status).toBe(200);
    await expect.poll(() => stage.delivery(first.id)).toMatchObject({ attemptCount: 2, nextAttemptAt: null });
    expect(await stage.delivery(first.id)).toMatchObject({ status: 'PENDING', reason: first.reason });
    expect(await noticesAbout(first.id)).toMatchObject([{ closedAt: null }]);

    close(undefined);
    await resend(first.id);
    const document = 'mutation ($id: ID!) { resendDelivery(input: { id: $id }) { delivery { status } } }';
    await stage.user.graphql(document, { id: second.id });
    await stage.deliveriesAre(id, 'SUCCEEDED', 3);
    for (const delivery of [first, second])
      expect(await noticesAbout(delivery.id)).toMatchObject([{ closedAt: expect.any(String) }]);

    const replay = { filter: { status: ['PENDING'], connectorId: id } };
    expect((await stage.user.rest('POST', `${stage.base}/replays`, replay)).status).toBe(200);
    await stage.deliveriesAre(id, 'SUCCEEDED', days + 1);
    for (const delivery of rest)
      expect(await noticesAbout(delivery.id)).toMatchObject([{ closedAt: expect.any(String) }]);
    if (type === 'quickbooks') {
      const booked = company.receipts.map(({ TxnDate }) => TxnDate).toSorted();
      expect(booked).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((day) => `2026-01-0${day}`));
    }
  });

  test('keep their reason while the connector is paused, and are skipped when it is disabled', async () => {
    close('2026-01-09');
    const id = await connect(type, config);
    await book('2026-01-09');
    const [held] = await stage.deliveriesAre(id, 'PENDING');
    await expect.poll(() => stage.delivery(held!.id)).toMatchObject({ reason: expect.stringMatching(WORDS) });
    for (const isPaused of [true, false]) {
      await stage.patch(id, { isPaused });
      expect(await stage.delivery(held!.id)).toMatchObject({ status: 'PENDING', reason: expect.stringMatching(WORDS) });
    }
    // A later delivery shows that resuming the connector released nothing else.
    await book('2026-01-10');
    await stage.deliveriesAre(id, 'SUCCEEDED');
    expect(await stage.delivery(held!.id)).toMatchObject({ status: 'PENDING', attemptCount: 1 });

    await stage.patch(id, { isActive: false });
    await expect.poll(() => stage.delivery(held!.id)).toMatchObject({ status: 'SKIPPED', reason: 'disabled' });
    expect(await noticesAbout(held!.id)).toMatchObject([{ closedAt: expect.any(String) }]);
  });
});

test('an explanation of a held delivery says what to do, and that nothing happens by itself', async () => {
  company.closedThrough = '2026-02-01';
  const id = await connect('quickbooks');
  await book('2026-02-01');
  await expect.poll(async () => (await stage.deliveries(id))[0]?.nextAttemptAt).toBeNull();
  const [held] = await stage.deliveries(id);
  const document = `query ($id: ID!) { node(id: $id) { ... on Delivery { explanation {
    summary next advice remainingTries { afterSeconds } } } } }`;
  const { explanation } = (await stage.user.graphql<{ node: { explanation: object } }>(document, { id: held!.id }))
    .data!.node;
  expect(explanation).toEqual({
    summary: expect.stringContaining('Reopen the books for 2026-02-01'),
    next: 'The delivery is held until you resend it. Other deliveries are still sent.',
    advice: expect.stringContaining('resend the delivery'),
    remainingTries: [],
  });
});

describe('a company that numbers its receipts itself', () => {
  /** Resends a delivery after QuickBooks has forgotten its request IDs, and waits for the result. */
  async function resendLater(id: string): Promise<void> {
    company.responses.clear();
    await resend(id);
    await expect.poll(() => stage.delivery(id)).toMatchObject({ status: 'SUCCEEDED', attemptCount: 2 });
  }
  const receiptsOf = (day: string) => company.receipts.filter(({ TxnDate }) => TxnDate === day);

  test('gets each day once, no matter how often the day is sent or how many connectors send it', async () => {
    company.keepsNumbers = false;
    const id = await connect('quickbooks');
    await book('2026-03-01');
    const [first] = await stage.deliveriesAre(id, 'SUCCEEDED');
    expect(receiptsOf('2026-03-01')).toMatchObject([{ DocNumber: '1001' }]);
    expect(first!.reason).toMatch(/^Sales receipt 1001\. .*don't change its memo/);
    await resendLater(first!.id);
    expect((await stage.delivery(first!.id)).reason).toMatch(/is already booked/);

    const other = await connect('quickbooks');
    await book('2026-03-02');
    await stage.deliveriesAre(id, 'SUCCEEDED', 2);
    const [second] = await stage.deliveriesAre(other, 'SUCCEEDED');
    await resendLater(second!.id);
    expect(company.receipts.map(({ TxnDate }) => TxnDate)).toEqual(['2026-03-01', '2026-03-02']);
  });

  test.each([
    [true, false],
    [false, true],
  ])('gets each day once even if it changes its setting from %s to %s in between', async (before, after) => {
    company.keepsNumbers = before;
    const id = await connect('quickbooks');
    const day = before ? '2026-03-03' : '2026-03-04';
    await book(day);
    const [delivery] = await stage.deliveriesAre(id, 'SUCCEEDED');
    company.keepsNumbers = after;
    await resendLater(delivery!.id);
    expect(receiptsOf(day)).toHaveLength(1);
  });

  test('is noticed by the connection test', async () => {
    company.keepsNumbers = false;
    const id = await connect('quickbooks');
    const { body } = await stage.user.rest<{ message: string }>('POST', `${stage.base}/connectors/${id}/test`, {});
    expect(JSON.stringify(body)).toMatch(/custom transaction numbers are off/);
  });
});
