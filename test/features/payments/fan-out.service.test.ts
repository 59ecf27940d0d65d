import { afterEach, beforeEach, expect, test } from 'vitest';
import { leaseOf, type PaymentLease } from '../../../src/features/payments/lease.ts';
import { newId } from '../../../src/ids.ts';
import { claimed, hex, newPayment, openTestLedger, type TestLedger } from './support.ts';

const DESTINATIONS = 100;
const PAYMENTS = 60;

let books: TestLedger;
beforeEach(async () => {
  books = await openTestLedger();
});
afterEach(async () => {
  await books.close();
});

/** A project with many webhooks. They are disabled, so their deliveries are written but not sent. */
async function busyProject({ userId, eventType = '*' }: { userId?: string; eventType?: string } = {}): Promise<string> {
  const { id } = await books.project(userId === undefined ? {} : { userId });
  const ids = Array.from({ length: DESTINATIONS }, () => newId('Webhook'));
  await books.db.pool.query(
    `INSERT INTO "Webhook" ("id", "projectId", "url", "eventTypes", "secret", "isActive")
     SELECT id, $2, 'https://example.com/', ARRAY[$3], '', false FROM unnest($1::text[]) AS id`,
    [ids, id, eventType],
  );
  return id;
}

async function claims(projectId: string, count: number): Promise<PaymentLease[]> {
  const claiming = Array.from({ length: count }, () =>
    claimed(books.ledger, newPayment(projectId, { payer: hex(20) })),
  );
  return (await Promise.all(claiming)).map(leaseOf);
}

/** Changes payments at the same time. @returns their projects, in the order that they were changed. */
async function changeAll(
  leases: readonly PaymentLease[],
  change: (lease: PaymentLease) => Promise<unknown>,
): Promise<string[]> {
  const order: string[] = [];
  await Promise.all(
    leases.map(async (lease) => {
      await change(lease);
      order.push(lease.projectId);
    }),
  );
  return order;
}

const verifyAll = (leases: readonly PaymentLease[]) => changeAll(leases, books.ledger.verified);
const failAll = (leases: readonly PaymentLease[]) =>
  changeAll(leases, (lease) => books.ledger.failed(lease, { stage: 'VERIFY', reason: 'invalid', message: 'invalid' }));

test('payments of a project with many webhooks don’t hold up those of other projects', async () => {
  const [busy, other] = [await busyProject(), (await books.project()).id];
  await verifyAll(await claims(busy, 1));
  const order = await verifyAll([...(await claims(busy, PAYMENTS)), ...(await claims(other, 1))]);
  expect(order).toHaveLength(PAYMENTS + 1);
  expect(order.indexOf(other)).toBeLessThan(10);
  expect(await books.eventsOf(busy, 'payment.verified')).toHaveLength(PAYMENTS + 1);
});

test('nor if the webhooks get only the last event of a payment', async () => {
  const [busy, other] = [await busyProject({ eventType: 'payment.failed' }), (await books.project()).id];
  await failAll(await claims(busy, 1));
  await verifyAll(await claims(busy, 1));
  const order = await failAll([...(await claims(busy, PAYMENTS)), ...(await claims(other, 1))]);
  expect(order).toHaveLength(PAYMENTS + 1);
  expect(order.indexOf(other)).toBeLessThan(10);
});

test('accounts whose projects have many webhooks take turns', async () => {
  const { id: first, userId } = await books.project();
  const busy = await Promise.all([busyProject({ userId }), busyProject({ userId })]);
  const other = await busyProject();
  for (const projectId of [first, ...busy, other]) await verifyAll(await claims(projectId, 1));
  const leases = await Promise.all([...busy.map((projectId) => claims(projectId, PAYMENTS / 2)), claims(other, 3)]);
  const order = await verifyAll(leases.flat());
  expect(order).toHaveLength(PAYMENTS + 3);
  expect(order.lastIndexOf(other)).toBeLessThan(15);
});
