import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseOf, type PaymentLease } from '../../../src/features/payments/lease.ts';
import { newId } from '../../../src/ids.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { answer, claimed, hex, newPayment, openTestLedger, settled, type TestLedger } from './support.ts';

let books: TestLedger;
let projectId: string;

beforeAll(async () => {
  books = await openTestLedger();
  projectId = (await books.project()).id;
  const data = { url: 'https://example.com', eventTypes: ['*'], secret: 'sealed' };
  await books.db.prisma.webhook.create({ data: { id: newId('Webhook'), projectId, ...data } });
  await settled(books.ledger, newPayment(projectId));
});
afterAll(() => books?.close());

const roundTripsOf = (run: () => Promise<unknown>) => countRoundTrips('tollgate-ledger', run);

test('a lone payment takes six round trips to the database, including its events and deliveries', async () => {
  const { ledger } = books;
  let lease: PaymentLease;
  const claim = async () => {
    lease = leaseOf(await claimed(ledger, newPayment(projectId)));
  };
  expect({
    claim: await roundTripsOf(claim),
    verify: await roundTripsOf(() => ledger.reserveFunds(lease)),
    serve: await roundTripsOf(() => ledger.served(lease, answer())),
    settle: await roundTripsOf(() => ledger.settled(lease, { transactionHash: hex(32), settledAt: new Date() })),
  }).toEqual({ claim: 1, verify: 2, serve: 1, settle: 2 });
  expect(await books.db.prisma.delivery.count({ where: { projectId, orderingKey: null } })).toBe(6);
});

test("recording a payment's failure takes two round trips, whether or not the seller is notified", async () => {
  const { ledger } = books;
  const reason = { reason: 'because', message: 'Because.' };
  const refused = leaseOf(await claimed(ledger, newPayment(projectId)));
  expect(await roundTripsOf(() => ledger.failed(refused, { stage: 'VERIFY', ...reason }))).toBe(2);
  const lease = leaseOf(await claimed(ledger, newPayment(projectId)));
  await ledger.reserveFunds(lease);
  expect(await roundTripsOf(() => ledger.failed(lease, { stage: 'UPSTREAM', ...reason }))).toBe(2);
});
