import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Database, openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import { SAMPLE_PAYLOADS } from '../../../src/events/samples.ts';
import { createEventService } from '../../../src/features/events/service.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const projectId = newId('Project');
let database: TestDatabase;
let db: Database;
let events: ReturnType<typeof createEventService>;

beforeAll(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, poolSize: 2, log: pino({ level: 'silent' }) });
  events = createEventService({ db: behindWall(db), bus: { publish: () => {} } as never });
  const user = await db.prisma.user.create({ data: { id: newId('User'), issuer: 'https://id.example', subject: 'a' } });
  await db.prisma.project.create({ data: { id: projectId, userId: user.id, name: 'P', walletAddress: '0x0' } });
});
afterAll(async () => {
  await db?.close();
  await database?.drop();
});

const event = { projectId, type: 'endpoint.created', data: SAMPLE_PAYLOADS['endpoint.created'] } as const;
const record = () => db.prisma.$transaction((tx) => events.record(tx, event));

async function addWebhook(values: object = {}): Promise<string> {
  const common = { projectId, url: 'https://a.example', eventTypes: ['*'], secret: 's' };
  return (await db.prisma.webhook.create({ data: { id: newId('Webhook'), ...common, ...values } })).id;
}

async function addConnector(values: object = {}): Promise<string> {
  const common = { projectId, type: 'slack', config: {}, secretConfig: 's', eventTypes: ['*'] };
  return (await db.prisma.connector.create({ data: { id: newId('Connector'), ...common, ...values } })).id;
}

test('an event without subscribed destinations is recorded', async () => {
  const { eventId, deliveryIds } = await record();
  expect(deliveryIds).toEqual([]);
  const { rows } = await db.pool.query(`SELECT "type", "version", "test", "data"::text FROM "Event" WHERE "id" = $1`, [
    eventId,
  ]);
  // The stored bytes must not change, because signatures are computed from them.
  expect(rows).toEqual([{ type: event.type, version: 1, test: false, data: JSON.stringify(event.data) }]);
});

test('exactly the subscribed destinations get a delivery, which says whether and why it is held or skipped', async () => {
  const wanted = new Map([
    [await addWebhook(), { status: 'PENDING', reason: null, isDue: true, isOver: false }],
    [await addWebhook({ isActive: false }), { status: 'SKIPPED', reason: 'disabled', isDue: false, isOver: true }],
    [await addConnector(), { status: 'PENDING', reason: null, isDue: true, isOver: false }],
    [
      await addConnector({ pausedReason: 'credentials_rejected', pausedAt: new Date() }),
      { status: 'PENDING', reason: 'paused', isDue: false, isOver: false },
    ],
    [
      await addConnector({ type: 'xero', eventTypes: ['*'] }),
      { status: 'SKIPPED', reason: 'unsupported_event', isDue: false, isOver: true },
    ],
  ]);
  await addWebhook({ eventTypes: ['payment.failed'] });
  const { eventId, deliveryIds } = await record();
  const { rows } = await db.pool.query(
    `SELECT "id", coalesce("webhookId", "connectorId") AS subscriber, "status"::text, "reason",
       "nextAttemptAt" <= now() AS "isDue", "completedAt" IS NOT NULL AS "isOver"
     FROM "Delivery" WHERE "eventId" = $1`,
    [eventId],
  );
  expect(rows.map(({ id }) => id).sort()).toEqual(deliveryIds.toSorted());
  const found = rows.map(({ subscriber, status, reason, isDue, isOver }) => [
    subscriber,
    { status, reason, isDue: isDue ?? false, isOver },
  ]);
  expect(new Map(found as [string, object][])).toEqual(wanted);
});

test('destinations get no delivery if their filters exclude the event, and the event lists them', async () => {
  const filter = { type: 'payment.failed' };
  const ids = [await addWebhook({ filter }), await addConnector({ filter })];
  await addWebhook({ filter, eventTypes: ['payment.failed'] });
  const { eventId } = await record();
  const { rows } = await db.pool.query(
    `SELECT "filteredOut", (SELECT count(*)::int FROM "Delivery" WHERE coalesce("webhookId", "connectorId") = ANY ($2)) AS "deliveries"
     FROM "Event" WHERE "id" = $1`,
    [eventId, ids],
  );
  expect(rows).toEqual([{ filteredOut: ids, deliveries: 0 }]);
});

test('events that the same filter excludes do not wait for each other', async () => {
  await addWebhook({ filter: { type: 'payment.failed' } });
  await db.prisma.$transaction(async (tx) => {
    await events.record(tx, event);
    await db.prisma.$transaction(async (other) => {
      await other.$executeRaw`SET LOCAL lock_timeout = '100ms'`;
      await events.record(other, event);
    });
  });
});

test('recording an event takes two statements for any number of destinations', async () => {
  const statements: string[] = [];
  const { query } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [statement] = args as [string | { text: string }];
    statements.push((typeof statement === 'string' ? statement : statement.text).trim().split(/\s/, 1)[0]!);
    return Reflect.apply(query, this, args);
  } as never);
  await record();
  spy.mockRestore();
  expect(statements).toEqual(['BEGIN', 'WITH', 'WITH', 'COMMIT']);
});
