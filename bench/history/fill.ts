import type pg from 'pg';
import { inTransaction } from '../../src/database/transaction.ts';
import { firstIdAt, newId } from '../../src/ids.ts';
import { fillAccounts } from './fill-accounts.ts';
import { fillBusiness } from './fill-business.ts';

export type FillOptions = { attempts: number; weeks: number; projectId: string; otherProjectId: string };

const WEEK_MILLISECONDS = 7 * 24 * 60 * 60_000;
/** One in eight deliveries took three attempts, and the others took one. Each event went to two webhooks. */
const ATTEMPTS_A_DELIVERY = 10 / 8;
const DELIVERIES_AN_EVENT = 2;
const PAYMENTS_AN_EVENT = 1 / 4;
/** Each project has this many webhooks, and the busy one also has a connector. */
const WEBHOOKS = 7;
const DESTINATIONS = WEBHOOKS + 1;

/** Ordered by reference: each table comes after the tables it references. */
const TABLES = [
  { name: 'Event', type: 'Event' },
  { name: 'Delivery', type: 'Delivery' },
  { name: 'Attempt', type: 'Delivery' },
] as const;

// Creates IDs like src/ids.ts, from a time and a unique number. It's a single expression so that PostgreSQL inlines it.
const ID_FUNCTION = `
  CREATE OR REPLACE FUNCTION bench_id(prefix text, milliseconds bigint, seed bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT prefix || '_' || ${Array.from(
      { length: 10 },
      (_, index) =>
        `substr('0123456789abcdefghjkmnpqrstvwxyz', ((milliseconds >> ${5 * (9 - index)}) & 31)::int + 1, 1)`,
    ).join(' || ')} || substr(md5(seed::text), 1, 16)
  $$`;

/** How many tables are filled at the same time. One connection uses one core. */
const AT_THE_SAME_TIME = 2;

/**
 * Fills the history with weekly partitions, the busy project's payments, and other accounts. Nine in ten events belong to
 * the busy project. Each partition is filled before it is attached, so its indexes are built in one go. If `wal_level` is
 * `minimal`, PostgreSQL writes no log for it, because the transaction that fills it has created it.
 */
export async function fillHistory(pool: pg.Pool, options: FillOptions, say: (line: string) => void): Promise<void> {
  const { attempts, weeks, projectId, otherProjectId } = options;
  const webhookIds = await createWebhooks(pool, projectId);
  const connectorId = await createConnector(pool, projectId);
  const [otherWebhookId] = await createWebhooks(pool, otherProjectId);
  await pool.query(ID_FUNCTION);
  const firstEnd = await dropInitial(pool);
  const events = Math.ceil(attempts / ATTEMPTS_A_DELIVERY / DELIVERIES_AN_EVENT / weeks);
  const receivers = [webhookIds, otherWebhookId, connectorId];
  const start = firstEnd - weeks * WEEK_MILLISECONDS;

  async function fillWeek(week: number): Promise<void> {
    const from = start + week * WEEK_MILLISECONDS;
    const to = from + WEEK_MILLISECONDS;
    // The current week is filled up to now.
    const until = Math.min(to, Date.now() - 60_000);
    const values = [week * events, events, from, (until - from) / events, projectId, otherProjectId];
    await inTransaction(pool, async (client) => {
      for (const { name } of TABLES) {
        await client.query(
          `CREATE TABLE "${name}_week_${week}" (LIKE "${name}" INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING STORAGE)`,
        );
      }
      await client.query({ text: eventsOf(week), values });
      await client.query({ text: deliveriesOf(week), values: [...values, ...receivers] });
      await client.query(attemptsOf(week));
    });
    for (const { name, type } of TABLES) {
      const lower = week === 0 ? 'MINVALUE' : `'${firstIdAt(type, from)}'`;
      await pool.query(`ALTER TABLE "${name}" ATTACH PARTITION "${name}_week_${week}"
        FOR VALUES FROM (${lower}) TO ('${firstIdAt(type, to)}')`);
    }
    say(`week ${week + 1} of ${weeks}`);
  }

  async function fillRest(): Promise<void> {
    await fillAccounts(pool, start);
    const payments = Math.ceil(events * weeks * PAYMENTS_AN_EVENT);
    await fillBusiness(pool, { payments, projectId, from: start, until: Date.now() - 60_000 });
    say('payments');
  }

  // The payments come first, because they take longer than a week.
  const tasks = [fillRest, ...Array.from({ length: weeks }, (_, week) => () => fillWeek(week))];
  const workThrough = async () => {
    for (let task = tasks.shift(); task; task = tasks.shift()) await task();
  };
  await Promise.all(Array.from({ length: AT_THE_SAME_TIME }, workThrough));
  await pool.query('DROP FUNCTION bench_id');
  await pool.query('VACUUM (ANALYZE)');
}

async function createWebhooks(pool: pg.Pool, projectId: string): Promise<string[]> {
  const ids = Array.from({ length: WEBHOOKS }, () => newId('Webhook'));
  await pool.query(
    `INSERT INTO "Webhook" ("id", "projectId", "url", "eventTypes", "secret")
     SELECT id, $2, 'https://receiver.example/', '{*}', '' FROM unnest($1::text[]) AS id`,
    [ids, projectId],
  );
  return ids;
}

async function createConnector(pool: pg.Pool, projectId: string): Promise<string> {
  const id = newId('Connector');
  await pool.query(
    `INSERT INTO "Connector" ("id", "projectId", "type", "config", "secretConfig", "eventTypes")
     VALUES ($1, $2, 'slack', '{}', '', '{*}')`,
    [id, projectId],
  );
  return id;
}

/** Drops the initial partitions, which cover all of the past and are empty. Returns the end of the current week. */
async function dropInitial(pool: pg.Pool): Promise<number> {
  for (const { name } of TABLES) await pool.query(`DROP TABLE "${name}_initial"`);
  const week = Math.floor(Date.now() / WEEK_MILLISECONDS);
  return (week + 1) * WEEK_MILLISECONDS;
}

/** Each event's number, its time, and whether it belongs to the busy project. */
const NUMBERED = `
  (SELECT number, ($3::float8 + (number - $1) * $4::float8)::bigint AS ms, number % 10 > 0 AS "isBusy"
     FROM generate_series($1::bigint, $1 + $2::bigint - 1) AS number) AS numbered`;

const eventsOf = (week: number) => `
  INSERT INTO "Event_week_${week}" ("id", "projectId", "type", "data", "timestamp")
  SELECT bench_id('evt', ms, number), CASE WHEN "isBusy" THEN $5 ELSE $6 END,
    CASE WHEN number % 50000 = 1 THEN 'customer.milestone' WHEN number % 3 = 0 THEN 'payment.verified' ELSE 'payment.settled' END,
    '{"paymentId":"pay_01jc9x2v5qe3w8k4m6n7p9r0st","amountUsd":"0.010000","payer":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}',
    to_timestamp(ms / 1000.0)
  FROM ${NUMBERED}`;

const deliveriesOf = (week: number) => `
  INSERT INTO "Delivery_week_${week}" ("id", "projectId", "eventId", "eventType", "webhookId", "connectorId", "status", "attemptCount",
    "nextAttemptAt", "statusCode", "responseTimeMs", "createdAt", "updatedAt", "completedAt")
  SELECT bench_id('dlv', ms, number * ${DELIVERIES_AN_EVENT} + copy), CASE WHEN "isBusy" THEN $5 ELSE $6 END,
    bench_id('evt', ms, number),
    CASE WHEN number % 50000 = 1 THEN 'customer.milestone' WHEN number % 3 = 0 THEN 'payment.verified' ELSE 'payment.settled' END,
    CASE WHEN "isBusy" THEN ($7::text[])[(number * ${DELIVERIES_AN_EVENT} + copy) % ${DESTINATIONS} + 1] ELSE $8 END,
    CASE WHEN "isBusy" AND (number * ${DELIVERIES_AN_EVENT} + copy) % ${DESTINATIONS} = ${WEBHOOKS} THEN $9 END,
    CASE WHEN number % 20000 = 7 THEN 'FAILED' ELSE 'SUCCEEDED' END::"DeliveryStatus",
    CASE WHEN (number * ${DELIVERIES_AN_EVENT} + copy) / ${DESTINATIONS} % 8 = 0 THEN 3 ELSE 1 END,
    NULL, 200, (10 + number % 90)::int, to_timestamp(ms / 1000.0), to_timestamp((ms + 120) / 1000.0), to_timestamp((ms + 120) / 1000.0)
  FROM ${NUMBERED}, generate_series(0, ${DELIVERIES_AN_EVENT - 1}) AS copy`;

const attemptsOf = (week: number) => `
  INSERT INTO "Attempt_week_${week}" ("id", "deliveryId", "number", "trigger", "startedAt", "durationMs", "statusCode",
    "responseBody", "firstByteMs", "requestMethod", "requestUrl", "requestHeaders", "responseHeaders")
  SELECT 'att' || substr(d."id", 4, 24) || lpad(number::text, 3, '0'), d."id", number, 'SCHEDULED', d."createdAt", d."responseTimeMs",
    CASE WHEN number = d."attemptCount" THEN 200 ELSE 503 END, '{"received":true}', d."responseTimeMs" - 1, 'POST',
    'https://receiver.example/', '{"content-type":"application/json","webhook-id":"evt","webhook-timestamp":"1"}',
    '{"content-type":"application/json"}'
  FROM "Delivery_week_${week}" d, generate_series(1, d."attemptCount") AS number`;
