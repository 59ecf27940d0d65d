import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { firstIdAt, newId } from '../../../src/ids.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { type NoticeStage, openNoticeStage } from './support.ts';

let stage: NoticeStage;
let contact: Receiver;
let projectId: string;
/** The Monday of the last finished week, in milliseconds and as text. */
let monday: number;
let week: string;

const DAY = 86_400_000;

beforeAll(async () => {
  stage = await openNoticeStage();
  const { rows } = await stage.pool.query(
    `SELECT (date_trunc('week', now() AT TIME ZONE 'UTC' - interval '30 minutes') - interval '7 days')::date::text AS "week"`,
  );
  week = rows[0].week;
  monday = Date.parse(week);
});
beforeEach(async () => {
  contact = await startReceiver();
  projectId = await stage.addProject();
  await stage.setContacts(projectId, { webhookUrl: contact.url });
  await joinedOn(new Date(monday));
});
afterEach(() => contact.close());
afterAll(() => stage?.close());

const joinedOn = (date: Date) =>
  stage.pool.query(`UPDATE "NoticeContacts" SET "createdAt" = $2 WHERE "id" = $1`, [projectId, date]);
const digests = () => contact.requests.map(({ body }) => JSON.parse(body.toString()));
const addRevenue = (day: number, totalAtomic: number, paymentCount: number, failedCount: number) =>
  stage.pool.query(
    `INSERT INTO "RevenueDay" ("projectId", "day", "endpointId", "totalAtomic", "paymentCount", "failedCount")
     VALUES ($1, $2::date + $3::int, 'ep_1', $4, $5, $6)`,
    [projectId, week, day, totalAtomic, paymentCount, failedCount],
  );

async function addCustomer(firstDay: number): Promise<string> {
  const id = newId('Customer');
  await stage.pool.query(
    `INSERT INTO "Customer" ("id", "projectId", "walletAddress", "firstPaymentAt") VALUES ($1, $2, $1, $3)`,
    [id, projectId, new Date(monday + firstDay * DAY)],
  );
  return id;
}

async function addPayment(day: number, customerId: string, failureReason: string | null = null): Promise<void> {
  const id = newId('Payment');
  const at = new Date(monday + day * DAY);
  await stage.pool.query(
    `INSERT INTO "Payment" ("id", "projectId", "endpointId", "endpointPath", "method", "customerId", "status", "failureStage",
       "failureReason", "x402Version", "network", "asset", "assetAddress", "payer", "payTo", "nonce", "amountAtomic",
       "validAfter", "validBefore", "requestFingerprint", "settledAt", "updatedAt")
     VALUES ($1, $2, 'ep_1', '/now', 'GET', $3, $5::"PaymentStatus", $6::"PaymentStage", $7, 2, 'eip155:84532', 'USDC', '0x1',
       '0x2', '0x3', $1, 10000, $4, $4, 'f', CASE WHEN $7::text IS NULL THEN $4::timestamptz END, $4)`,
    [id, projectId, customerId, at, ...(failureReason ? ['FAILED', 'SETTLE', failureReason] : ['SETTLED', null, null])],
  );
}

/** Adds deliveries that finished on a day of the week, and counts them in the rollups the way the service does. */
async function addDeliveries(destinationId: string, day: number, times: number[], errorClass: string | null = null) {
  const at = new Date(monday + day * DAY + 3_600_000);
  for (const responseTimeMs of times) {
    const id = await stage.addDelivery(destinationId, { projectId, responseTimeMs, errorClass, nextAttemptAt: null });
    await stage.pool.query(
      `UPDATE "Delivery" SET "status" = $2::"DeliveryStatus", "updatedAt" = $3, "completedAt" = $3 WHERE "id" = $1`,
      [id, errorClass ? 'FAILED' : 'SUCCEEDED', at],
    );
  }
  await stage.pool.query(
    `INSERT INTO "DeliveryRollup" ("projectId", "interval", "start", "succeededCount", "failedCount", "skippedCount", "retriedCount",
       "responseTimesMs", "responseCounts")
     VALUES ($1, 'DAY', $2, $3, $4, 0, 0, '{}', '{}')
     ON CONFLICT ("projectId", "interval", "start") DO UPDATE SET
       "succeededCount" = "DeliveryRollup"."succeededCount" + excluded."succeededCount",
       "failedCount" = "DeliveryRollup"."failedCount" + excluded."failedCount"`,
    [projectId, new Date(monday + day * DAY), errorClass ? 0 : times.length, errorClass ? times.length : 0],
  );
}

describe('the weekly digest', () => {
  test('has the figures for the last finished UTC week, and nothing from the days around it', async () => {
    await addRevenue(-1, 9_000_000, 9, 9);
    await addRevenue(0, 1_250_000, 2, 1);
    await addRevenue(6, 250_000, 1, 2);
    await addRevenue(7, 9_000_000, 9, 9);
    const [old, fresh] = [await addCustomer(-3), await addCustomer(2)];
    for (const day of [-1, 0, 1, 6.99, 7]) await addPayment(day, old);
    await addPayment(3, fresh);
    await addPayment(2, fresh, 'insufficient_funds');
    await addPayment(8, fresh, 'insufficient_funds');
    const slow = await stage.addWebhook('https://slow.example.com/in', { projectId });
    const quick = await stage.addWebhook('https://quick.example.com/in', { projectId, name: 'Books' });
    await addDeliveries(slow.id, 1, [900, 1000]);
    await addDeliveries(quick.id, 2, [10, 20, 30]);
    await addDeliveries(slow.id, 3, [40, 50], 'http_5xx');
    await addDeliveries(quick.id, 8, [5_000], 'timeout');
    await stage.run();
    expect(digests()).toMatchObject([{ type: 'weekly_digest', projectId }]);
    expect(digests()[0].data).toEqual({
      projectName: 'Weather',
      week,
      totalUsd: '1.5',
      paymentCount: 3,
      failedPaymentCount: 3,
      customerCount: 2,
      newCustomerCount: 1,
      deliveries: { succeeded: 5, failed: 2, skipped: 0 },
      failures: [
        { of: 'delivery', cause: 'http_5xx', count: 2 },
        { of: 'payment', cause: 'insufficient_funds', count: 1 },
      ],
      slowest: [
        { destinationId: slow.id, name: 'slow.example.com', p95Ms: 1000, deliveryCount: 4 },
        { destinationId: quick.id, name: 'Books', p95Ms: 30, deliveryCount: 3 },
      ],
    });
  });

  test('shows names of destinations unchanged, and the service’s name for connectors without one', async () => {
    const webhook = await stage.addWebhook('https://hooks.example.com/in', { projectId, name: 'slack' });
    const named = await stage.addConnector('slack', {}, { projectId, name: 'bigquery' });
    const unnamed = await stage.addConnector('bigquery', {}, { projectId });
    await addDeliveries(webhook.id, 1, [300]);
    await addDeliveries(named, 1, [200]);
    await addDeliveries(unnamed, 1, [100]);
    await stage.run();
    expect(digests()[0].data.slowest).toMatchObject([{ name: 'slack' }, { name: 'bigquery' }, { name: 'BigQuery' }]);
  });

  test('is written only once per project and week, even by several processes', async () => {
    await addRevenue(0, 10_000, 1, 0);
    await Promise.all([stage.run(), stage.run(), stage.run()]);
    await stage.run();
    expect(digests()).toHaveLength(1);
  });

  test("is still written for other projects if it can't be written for one", async () => {
    // The sum of the week's failures doesn't fit into an integer.
    for (const day of [0, 1]) await addRevenue(day, 10_000, 1, 2_000_000_000);
    const [broken, other] = [projectId, await stage.addProject()];
    projectId = other;
    await stage.setContacts(other, { webhookUrl: contact.url });
    await joinedOn(new Date(monday));
    await addRevenue(0, 10_000, 1, 0);
    await stage.run();
    expect(digests()).toMatchObject([{ type: 'weekly_digest', projectId: other }]);
    await stage.pool.query('UPDATE "RevenueDay" SET "failedCount" = 1 WHERE "projectId" = $1', [broken]);
    await stage.run();
    expect(digests()).toMatchObject([{ projectId: other }, { projectId: broken }]);
  });

  test("that can't be written is not tried again by the same process in the next round", async () => {
    for (const day of [0, 1]) await addRevenue(day, 10_000, 1, 2_000_000_000);
    const failures = () =>
      stage.lines.filter((line) => line.projectId === projectId && /weekly digest/.test(String(line.msg)));
    const runner = stage.runner();
    await runner.run();
    await runner.run();
    expect(failures()).toHaveLength(1);
    await stage.run();
    expect(failures()).toHaveLength(2);
    await stage.pool.query('DELETE FROM "RevenueDay" WHERE "projectId" = $1', [projectId]);
  });

  test('is written for up to 100 projects per round, and doesn’t delay notices', async () => {
    await stage.run();
    const projectIds = await Promise.all(Array.from({ length: 101 }, () => stage.addProject()));
    for (projectId of projectIds) {
      await stage.setContacts(projectId, { webhookUrl: contact.url });
      await joinedOn(new Date(monday));
    }
    const count = async () => {
      const sql = 'SELECT FROM "WeeklyDigest" WHERE "projectId" = ANY ($1)';
      return (await stage.pool.query(sql, [projectIds])).rowCount;
    };
    const blocker = await stage.pool.connect();
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE "WeeklyDigest" IN SHARE ROW EXCLUSIVE MODE');
    const { id } = await stage.addWebhook('https://hooks.example.com/in', { projectId });
    await stage.pool.query(`UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone' WHERE "id" = $1`, [id]);
    const running = stage.run();
    await contact.waitFor(1).finally(async () => {
      await blocker.query('COMMIT');
      blocker.release();
      await running;
    });
    expect(digests()).toMatchObject([{ type: 'notices' }]);
    expect(await count()).toBe(100);
    await stage.run();
    expect(await count()).toBe(101);
  });

  test('is not written by a process that checked before another one wrote it', async () => {
    await addRevenue(0, 10_000, 1, 0);
    const other = await stage.pool.connect();
    await other.query('BEGIN');
    await other.query('INSERT INTO "WeeklyDigest" ("projectId", "week") VALUES ($1, $2::date)', [projectId, week]);
    const running = stage.run();
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await expect.poll(async () => (await stage.pool.query(waiting)).rowCount).toBe(1);
    await other.query('COMMIT');
    other.release();
    await running;
    expect(await stage.messagesOf(projectId)).toEqual([]);
  });

  test('is not written if nothing happened, if it is turned off, or for the week in which the contacts were added', async () => {
    await stage.run();
    expect(await stage.messagesOf(projectId)).toEqual([]);
    await stage.pool.query(`DELETE FROM "WeeklyDigest"`);
    await addRevenue(0, 10_000, 1, 0);
    await stage.pool.query(`UPDATE "NoticeContacts" SET "weeklyDigest" = false WHERE "id" = $1`, [projectId]);
    await stage.run();
    await stage.pool.query(`UPDATE "NoticeContacts" SET "weeklyDigest" = true WHERE "id" = $1`, [projectId]);
    await joinedOn(new Date(monday + 7 * DAY));
    await stage.run();
    expect(await stage.messagesOf(projectId)).toEqual([]);
    await joinedOn(new Date(monday + 7 * DAY - 1));
    await stage.run();
    expect(digests()).toHaveLength(1);
  });
});

test('IDs made by the database are valid for the service, and sort by time', async () => {
  const { rows } = await stage.pool.query<{ id: string }>(`SELECT new_id('ntc') AS "id" FROM generate_series(1, 50)`);
  for (const { id } of rows) {
    expect(id >= firstIdAt('Notice', Date.now() - 60_000)).toBe(true);
    expect(id < firstIdAt('Notice', Date.now() + 60_000)).toBe(true);
  }
  expect(new Set(rows.map(({ id }) => id)).size).toBe(50);
});
