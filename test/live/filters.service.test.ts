import fc from 'fast-check';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/client.ts';
import type { DeliveryColumns } from '../../src/features/deliveries/filter.ts';
import type { PaymentColumns } from '../../src/features/payments/filter.ts';
import type { Delivery, Event, Payment } from '../../src/generated/prisma/client.ts';
import { newId } from '../../src/ids.ts';
import { type ChangeSource, deliveryChanges, eventChanges, paymentChanges } from '../../src/live/change-queries.ts';
import { deliveryMatches, eventMatches, paymentMatches } from '../../src/live/filters.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const TYPES = ['endpoint.created', 'payment.settled', 'payment.failed'];
const DELIVERY_STATUSES = ['PENDING', 'RUNNING', 'FAILED'];
const PAYMENT_STATUSES = ['CLAIMED', 'SETTLED', 'FAILED'];
const PAYERS = ['0xaa', '0xbb'];

let testDatabase: TestDatabase;
let db: Database;
const projectId = newId('Project');
const webhookIds = [newId('Webhook'), newId('Webhook')];
let events: Event[];
let deliveries: Delivery[];
let payments: Payment[];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  db = await openDatabase({ url: testDatabase.url, poolSize: 4, log: pino({ level: 'silent' }) });
  const { pool, prisma } = db;
  await pool.query(`INSERT INTO "User" (id, issuer, subject) VALUES ('usr_1', 'test', '1')`);
  await pool.query(`INSERT INTO "Project" (id, "userId", name, "walletAddress") VALUES ($1, 'usr_1', 'Shop', '0x')`, [
    projectId,
  ]);
  for (const id of webhookIds) {
    await pool.query(
      `INSERT INTO "Webhook" (id, "projectId", url, "eventTypes", secret) VALUES ($1, $2, 'https://x.test', '{*}', 'x')`,
      [id, projectId],
    );
  }
  for (let index = 0; index < 24; index++) {
    const type = TYPES[index % 3];
    const eventId = newId('Event');
    await pool.query(`INSERT INTO "Event" (id, "projectId", type, data) VALUES ($1, $2, $3, '{}')`, [
      ...[eventId, projectId, type],
    ]);
    await pool.query(
      `INSERT INTO "Delivery" (id, "projectId", "eventId", "eventType", status, "webhookId") VALUES ($1, $2, $3, $4, $5, $6)`,
      [newId('Delivery'), projectId, eventId, type, DELIVERY_STATUSES[index % 2], webhookIds[index % 2]],
    );
    const id = newId('Payment');
    await pool.query(
      `INSERT INTO "Payment" (id, "projectId", "endpointId", "endpointPath", method, status, "x402Version", network,
         asset, "assetAddress", payer, "payTo", nonce, "amountAtomic", "validAfter", "validBefore",
         "requestFingerprint", "transactionHash", "paymentIdentifier", "failureStage")
       VALUES ($1, $2, $3, '/', 'GET', $4, 2, 'eip155:84532', 'USDC', '0x', $5, '0x', $1, $8, now(), now(), $1, $6, $7, $9)`,
      [
        ...[id, projectId, `end_${index % 4}`, PAYMENT_STATUSES[index % 3], PAYERS[index % 2]],
        index % 5 === 0 ? null : `0x${index % 5}`,
        ...[index < 4 ? `order-${index}` : null, 10_000 + (index % 5), index === 0 ? 'SETTLE' : null],
      ],
    );
  }
  await pool.query(`UPDATE "Delivery" SET status = 'FAILED' WHERE "eventType" = 'payment.failed'`);
  await pool.query(`UPDATE "Payment" SET "settledAt" = "updatedAt" WHERE status = 'SETTLED'`);
  events = await prisma.event.findMany({ orderBy: { id: 'asc' } });
  deliveries = await prisma.delivery.findMany({ orderBy: { id: 'asc' } });
  payments = await prisma.payment.findMany({ orderBy: { id: 'asc' } });
});

afterAll(async () => {
  await db?.close();
  await testDatabase?.drop();
});

/** Returns the IDs of all rows that a table's statement finds. */
async function findIn(table: ChangeSource): Promise<string[]> {
  const position = { milliseconds: 0, id: '' };
  const { behind } = await table.query({ position, horizon: 1n, shown: [], sinceMilliseconds: 0 });
  return behind.map(({ id }) => id).sort();
}

const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);
const orAny = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2 });
const someOf = (values: string[]) => orAny(fc.subarray(values));

describe('a filter', () => {
  test('matches the same events in memory as in the database', async () => {
    await fc.assert(
      fc.asyncProperty(someOf(TYPES), async (types) => {
        const found = await findIn(eventChanges(db.pool, projectId, types));
        expect(idsOf(events.filter(eventMatches(types)))).toEqual(found);
      }),
      { numRuns: 20 },
    );
  });

  test('matches the same deliveries in memory as in the database', async () => {
    const anyTime = orAny(fc.nat(23).map((index) => deliveries[index]!.createdAt));
    const filter = fc.record({
      webhookId: orAny(fc.constantFrom(...webhookIds)),
      connectorId: fc.option(fc.constant('con_1'), { freq: 9 }),
      eventId: fc.option(
        fc.nat(23).map((index) => events[index]!.id),
        { freq: 9 },
      ),
      status: someOf(DELIVERY_STATUSES),
      eventTypes: someOf(TYPES),
      createdSince: anyTime,
      createdBefore: anyTime,
      finishedSince: anyTime,
      finishedBefore: anyTime,
    }) as fc.Arbitrary<DeliveryColumns>;
    await fc.assert(
      fc.asyncProperty(filter, async (wanted) => {
        const found = await findIn(deliveryChanges(db.pool, projectId, wanted));
        expect(idsOf(deliveries.filter(deliveryMatches(wanted)))).toEqual(found);
      }),
      { numRuns: 60 },
    );
  });

  test('matches the same payments in memory as in the database', async () => {
    const anyTime = orAny(fc.nat(23).map((index) => payments[index]!.updatedAt));
    const anyId = orAny(fc.nat(23).map((index) => payments[index]!.id));
    const filter = fc.record({
      status: someOf(PAYMENT_STATUSES),
      endpointId: orAny(fc.constantFrom('end_0', 'end_1')),
      customerId: orAny(fc.constant('cus_1')),
      payer: orAny(fc.constantFrom(...PAYERS)),
      transactionHash: orAny(fc.constantFrom('0x1', '0x2')),
      identifier: orAny(fc.constantFrom('order-0', 'order-1')),
      minAtomic: orAny(fc.constantFrom('10000', '10003')),
      maxAtomic: orAny(fc.constantFrom('10001', '10004')),
      firstId: anyId,
      endId: anyId,
      finishedSince: anyTime,
      finishedBefore: anyTime,
    }) as fc.Arbitrary<PaymentColumns>;
    await fc.assert(
      fc.asyncProperty(filter, async (wanted) => {
        const found = await findIn(paymentChanges(db.pool, projectId, wanted));
        expect(idsOf(payments.filter(paymentMatches(wanted)))).toEqual(found);
      }),
      { numRuns: 100 },
    );
  });
});
