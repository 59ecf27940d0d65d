import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Viewer } from '../../../src/auth/viewer.ts';
import { openDatabase } from '../../../src/database/client.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import { createDeliveryStatsService } from '../../../src/features/delivery-stats/service.ts';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject, createWebhook, type Resource } from '../../support/resources.ts';

type Figures = Record<string, number | null>;
type Stats = { from: string; totals: Figures; buckets: (Figures & { start: string })[]; isPartial: boolean };

let app: TestApp;
let sql: pg.Client;
let alice: TestUser;
let shop: Resource & { base: string };
let webhook: Resource;

async function finish(time: string, status: string, attemptCount: number, responseTimeMs: number | null) {
  const eventId = newId('Event');
  await sql.query(`INSERT INTO "Event" (id, "projectId", type, data) VALUES ($1, $2, 'payment.settled', '{}')`, [
    eventId,
    shop.id,
  ]);
  await sql.query(
    `INSERT INTO "Delivery" (id, "projectId", "eventId", "eventType", "webhookId", status, "attemptCount", "responseTimeMs", "nextAttemptAt", "updatedAt", "completedAt")
     VALUES ($1, $2, $3, 'payment.settled', $4, $5, $6, $7, NULL, $8, $8)`,
    [newId('Delivery'), shop.id, eventId, webhook.id, status, attemptCount, responseTimeMs, time],
  );
}

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Client({ connectionString: app.databaseUrl });
  await sql.connect();
  alice = await app.user('alice');
  shop = await createProject(alice);
  webhook = await createWebhook(alice, shop.base);
  await finish('2026-02-03T09:59:59.999Z', 'SUCCEEDED', 1, 10_000);
  await finish('2026-02-03T10:00:00.000Z', 'SUCCEEDED', 1, 20);
  for (const responseTimeMs of [30, 40, 50, 60]) await finish('2026-02-03T10:30:00Z', 'SUCCEEDED', 1, responseTimeMs);
  await finish('2026-02-03T10:59:59.999Z', 'FAILED', 9, 900);
  await finish('2026-02-03T12:15:00Z', 'SKIPPED', 0, null);
  await finish('2026-02-03T12:20:00Z', 'SUCCEEDED', 2, 70);
  await finish('2026-02-03T12:30:00Z', 'PENDING', 1, 5_000);
  await finish('2026-02-03T13:00:00.000Z', 'SUCCEEDED', 1, 10_000);
});

afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

const PERIOD = 'from=2026-02-03T10:00:00Z&to=2026-02-03T13:00:00Z';

test('delivery statistics count deliveries in the hour in which they finished, with response times', async () => {
  const { body } = await alice.rest<Stats>('GET', `${shop.base}/delivery-stats?${PERIOD}&interval=HOUR`);
  const nothing = {
    succeededCount: 0,
    failedCount: 0,
    skippedCount: 0,
    retriedCount: 0,
    responseTimeP50Ms: null,
    responseTimeP95Ms: null,
  };
  expect(body.buckets).toEqual([
    {
      ...nothing,
      start: '2026-02-03T10:00:00.000Z',
      succeededCount: 5,
      failedCount: 1,
      retriedCount: 1,
      responseTimeP50Ms: 40,
      responseTimeP95Ms: 900,
    },
    { ...nothing, start: '2026-02-03T11:00:00.000Z' },
    {
      ...nothing,
      start: '2026-02-03T12:00:00.000Z',
      succeededCount: 1,
      skippedCount: 1,
      retriedCount: 1,
      responseTimeP50Ms: 70,
      responseTimeP95Ms: 70,
    },
  ]);
  expect(body.totals).toEqual({
    succeededCount: 6,
    failedCount: 1,
    skippedCount: 1,
    retriedCount: 2,
    responseTimeP50Ms: 50,
    responseTimeP95Ms: 900,
  });
  expect(body.isPartial).toBe(false);
});

test('delivery statistics use UTC days and months, and are zero for a period without deliveries', async () => {
  const days = await alice.rest<Stats>(
    'GET',
    `${shop.base}/delivery-stats?from=2026-02-02T00:00:00Z&to=2026-02-04T00:00:00Z`,
  );
  expect(days.body.buckets.map(({ start, succeededCount }) => [start, succeededCount])).toEqual([
    ['2026-02-02T00:00:00.000Z', 0],
    ['2026-02-03T00:00:00.000Z', 8],
  ]);
  const months = await alice.rest<Stats>(
    'GET',
    `${shop.base}/delivery-stats?from=2025-11-05T00:00:00Z&to=2025-12-05T00:00:00Z&interval=MONTH`,
  );
  expect(months.body.totals.succeededCount).toBe(0);
  expect(months.body.buckets).toHaveLength(2);
});

test('delivery statistics use an index to read only the deliveries in the period', async () => {
  await sql.query('SET enable_seqscan = off');
  const { rows } = await sql.query(
    `EXPLAIN SELECT * FROM "Delivery" WHERE "projectId" = $1 AND "updatedAt" >= now() - interval '1 day'
     AND "updatedAt" < now() AND "outcome" IS NOT NULL ORDER BY "updatedAt" DESC LIMIT 10`,
    [shop.id],
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  // One index scan per partition.
  expect(plan).toMatch(/Index Scan.* using "Delivery_\w*projectId_updatedAt_id_idx"/);
  expect(plan).not.toContain('Seq Scan');
});

test('delivery statistics that would read too many deliveries include only the newest', async () => {
  const db = await openDatabase({ url: app.databaseUrl, poolSize: 1, log: pino({ level: 'silent' }) });
  try {
    const { rows } = await sql.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [shop.id]);
    const viewer: Viewer = {
      kind: 'user',
      userId: rows[0].userId,
      tier: 'STARTER',
      requestsPerMinute: null,
      expiresAt: new Date(),
    };
    const read = (maxRead: number) => {
      const query = { from: new Date('2026-02-03T10:00:00Z'), to: new Date('2026-02-03T13:00:00Z') };
      return createDeliveryStatsService({ db: behindWall(db), maxRead }).read(viewer, shop.id, {
        ...query,
        interval: 'HOUR',
      });
    };
    expect(await read(8)).toMatchObject({ isPartial: false, totals: { succeededCount: 6, failedCount: 1 } });
    const { isPartial, totals } = await read(2);
    expect(isPartial).toBe(true);
    expect(totals).toMatchObject({ succeededCount: 1, failedCount: 1, skippedCount: 1 });
  } finally {
    await db.close();
  }
});

test("delivery statistics reject other users' projects and excessive periods", async () => {
  const bob = await app.user('bob');
  expect((await bob.rest('GET', `${shop.base}/delivery-stats`)).status).toBe(404);
  const { status, body } = await alice.rest<{ errors: object[] }>(
    'GET',
    `${shop.base}/delivery-stats?from=2020-01-01T00:00:00Z&interval=HOUR`,
  );
  expect([status, body.errors]).toEqual([422, [expect.objectContaining({ pointer: '/from' })]]);
});
