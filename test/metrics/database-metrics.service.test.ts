import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Metric, metricValue, readMetrics } from '../support/metrics.ts';
import { createProject, createWebhook } from '../support/resources.ts';

const SHARED = [
  ...['tollgate_deliveries', 'tollgate_delivery_oldest_due_seconds', 'tollgate_payments_open', 'tollgate_subscribers'],
  ...['tollgate_payment_oldest_unknown_seconds', 'tollgate_partitions_ahead_seconds', 'tollgate_deletions'],
];
const FAILING = { kind: 'webhook', state: 'failing' };

let database: TestDatabase;
let apps: TestApp[];
let sql: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  sql = new pg.Pool({ connectionString: database.url });
  const options = { databaseUrl: database.url, env: { ROLES: 'api' } };
  apps = [await startTestApp(options), await startTestApp(options)];
  const alice = await apps[0]!.user('alice');
  await createWebhook(alice, (await createProject(alice)).base);
});
afterAll(async () => {
  for (const app of apps ?? []) await app.stop();
  await sql?.end();
  await database?.drop();
});
beforeEach(async () => {
  await sql.query('DELETE FROM "MetricSnapshot"');
  await setFailing(false);
});
afterEach(() => vi.restoreAllMocks());

const setFailing = (isFailing: boolean) =>
  sql.query(`UPDATE "Webhook" SET "failingSince" = CASE WHEN $1 THEN now() END`, [isFailing]);
const failing = (metrics: Map<string, Metric>) => metricValue(metrics, 'tollgate_subscribers', FAILING);
const shared = (metrics: Map<string, Metric>) => SHARED.map((name) => metrics.get(name));
const scrape = (index: 0 | 1) => readMetrics(apps[index]!.url);
/** Moves the stored values, and the claims on them, into the past. */
const age = (seconds: number) =>
  sql.query(
    `UPDATE "MetricSnapshot" SET "claimedAt" = "claimedAt" - make_interval(secs => $1), "takenAt" = "takenAt" - make_interval(secs => $1)`,
    [seconds],
  );

/** Counts the queries that both processes send from now on to count webhooks. */
function countCounts(): () => number {
  let counts = 0;
  const { query } = pg.Client.prototype;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [statement] = args as [string | { text: string }];
    if (/"failingSince" IS NOT NULL/.test(typeof statement === 'string' ? statement : statement.text)) counts += 1;
    return Reflect.apply(query, this, args);
  } as never);
  return () => counts;
}

describe('metrics about the whole service', () => {
  test('are counted by one process at a time, and reported by all', async () => {
    const counts = countCounts();
    await setFailing(true);
    const first = await scrape(0);
    await setFailing(false);
    const second = await scrape(1);
    expect(shared(first).every((metric) => metric !== undefined)).toBe(true);
    expect(shared(second)).toEqual(shared(first));
    expect([failing(second), counts()]).toEqual([1, 1]);

    await age(10);
    const next = await Promise.all([scrape(0), scrape(1)]);
    expect(counts()).toBe(2);
    expect(failing(await scrape(0))).toBe(0);
    expect(next.every((metrics) => metrics.has('tollgate_subscribers'))).toBe(true);
    expect(counts()).toBe(2);
  });

  test('are counted by another process if the process that was counting is gone', async () => {
    await scrape(0);
    await setFailing(true);
    // A process claims the counts and dies.
    await sql.query('UPDATE "MetricSnapshot" SET "claimedAt" = statement_timestamp()');
    await age(15);
    const during = await scrape(1);
    expect([shared(during).includes(undefined), failing(during)]).toEqual([false, 0]);
    await age(5);
    expect(failing(await scrape(1))).toBe(1);
  });

  test('are missing if they could not be counted for a minute, but other metrics are not', async () => {
    await scrape(0);
    await sql.query('ALTER TABLE "Connector" RENAME TO "Gone"');
    try {
      await age(20);
      const recent = await scrape(1);
      expect(shared(recent)).not.toContain(undefined);
      await age(40);
      const late = await scrape(1);
      expect(late.has('tollgate_subscribers')).toBe(false);
      // Deletions are counted from the same table, so they fail too.
      const others = SHARED.filter((name) => name !== 'tollgate_subscribers' && name !== 'tollgate_deletions');
      expect(others.filter((name) => !late.has(name))).toEqual([]);
      expect(metricValue(late, 'tollgate_database_up')).toBe(1);
    } finally {
      await sql.query('ALTER TABLE "Gone" RENAME TO "Connector"');
    }
    await age(20);
    expect(shared(await scrape(0))).not.toContain(undefined);
  });

  test('are reported without any that take too long to count', async () => {
    const lock = await sql.connect();
    try {
      await lock.query('BEGIN; LOCK TABLE "Connector" IN ACCESS EXCLUSIVE MODE');
      const metrics = await scrape(0);
      expect(metricValue(metrics, 'tollgate_database_up')).toBe(1);
      expect(metrics.has('tollgate_deliveries')).toBe(true);
      expect(metrics.has('tollgate_subscribers')).toBe(false);
    } finally {
      await lock.query('ROLLBACK');
      lock.release();
    }
    await expect.poll(async () => (await scrape(1)).has('tollgate_subscribers')).toBe(true);
  });
});
