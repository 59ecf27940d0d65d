import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openQueuePool, type Queryable } from '../../../src/database/client.ts';
import { claimDue } from '../../../src/delivery/queue/claim.ts';
import { changeWaiting, releaseHeld, releaseStranded } from '../../../src/delivery/queue/held.ts';
import { recheckWaiting, releaseFollowers, releaseWaiting } from '../../../src/delivery/queue/ordering.ts';
import { openStage, type Stage } from '../support.ts';
import { countRows } from './rows-read.ts';
import { REQUEST } from './support.ts';

const HELD = { nextAttemptAt: null, reason: 'paused' };
const ASIDE = { nextAttemptAt: null, reason: 'ordering' };
/** How many deliveries of each kind another seller has. */
const BACKLOG = 5_000;

let stage: Stage;
let queue: pg.Pool;

const analyze = () => stage.pool.query('ANALYZE');

beforeAll(async () => {
  stage = await openStage();
  queue = openQueuePool(stage);
  const { rows } = await stage.pool.query<{ name: string }>(
    `SELECT inhrelid::regclass::text AS "name" FROM pg_inherits WHERE inhparent = '"Delivery"'::regclass`,
  );
  // Statistics change only when the test says so.
  for (const { name } of rows) await stage.pool.query(`ALTER TABLE ${name} SET (autovacuum_enabled = off)`);
});
afterAll(async () => {
  await queue?.end();
  await stage?.close();
});

/** Stores many deliveries. `state` is the SQL for the columns that differ. */
async function load(webhook: string, projectId: string, columns: string, state: string): Promise<void> {
  await stage.pool.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", ${columns})
     SELECT 'dlv_' || md5(n::text || $3 || $4), $1, $2, 'endpoint.created', $3, ${state}
     FROM generate_series(1, ${BACKLOG}) AS n`,
    [projectId, await stage.addEvent({ projectId }), webhook, state],
  );
}

/** Stores a history, then a backlog of every kind, and analyzes the tables at some point. */
async function loadAll(analyzeWhen: 'never' | 'before the backlog' | 'after the backlog'): Promise<void> {
  const projectId = await stage.addProject();
  const values = { projectId, ordering: 'PAYMENT' };
  const { id: paused } = await stage.addWebhook('https://a.example', { ...values, pausedAt: new Date() });
  const { id: active } = await stage.addWebhook('https://b.example', values);
  await load(active, projectId, '"status", "completedAt"', `'SUCCEEDED', now()`);
  if (analyzeWhen === 'before the backlog') await analyze();
  const columns = '"nextAttemptAt", "reason", "orderingKey"';
  await load(paused, projectId, columns, `NULL, 'paused', NULL`);
  await load(paused, projectId, columns, `NULL, 'paused', 'pay_' || n`);
  await load(active, projectId, columns, `NULL, 'ordering', 'pay_' || n`);
  await load(active, projectId, columns, `now() + interval '1 hour', NULL, 'pay_' || n`);
  if (analyzeWhen === 'after the backlog') await analyze();
}

type Destinations = { connector: string; paused: string; webhook: string };
type Work = (db: Queryable, destinations: Destinations) => Promise<unknown>;

/** What the queue does, which of the deliveries it concerns, and how that one changes. */
const WORK: Readonly<Record<string, [Work, index: number, change: object]>> = {
  'releasing stranded deliveries': [(db) => releaseStranded(db), 0, { reason: null }],
  'resuming a destination': [(db, { connector }) => releaseHeld(db, connector), 0, { reason: null }],
  'pausing a destination': [
    (db, { paused }) => changeWaiting(db, 'connector', paused, 'hold'),
    1,
    { reason: 'paused' },
  ],
  'finishing a delivery that others wait for': [
    (db, { webhook: webhookId }) => releaseFollowers(db, [{ webhookId, key: 'pay_1' }]),
    2,
    { reason: null },
  ],
  'changing the order': [(db, { webhook }) => releaseWaiting(db, webhook, true), 2, { reason: null }],
  rechecking: [(db) => recheckWaiting(db), 2, { reason: null }],
  'claiming a delivery that has to wait': [(db) => claimDue(db, REQUEST), 3, { reason: 'ordering' }],
};

describe.each(['never', 'before the backlog', 'after the backlog'] as const)('with tables analyzed %s', (when) => {
  let destinations: Destinations;
  let ids: string[];
  beforeAll(async () => {
    await stage.pool.query('TRUNCATE "Delivery", "Webhook", "Connector" CASCADE');
    // The previous statistics would outlast the rows.
    await stage.pool.query(`DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE '"Delivery%'`);
    await loadAll(when);
    const { id: webhook } = await stage.addWebhook('https://c.example', { ordering: 'PAYMENT' });
    const connector = await stage.addConnector('slack', {});
    const paused = await stage.addConnector('slack', {}, { pausedAt: new Date() });
    destinations = { connector, paused, webhook };
    const old = { updatedAt: new Date(Date.now() - 3_600_000) };
    ids = [
      await stage.addDelivery(connector, HELD),
      await stage.addDelivery(paused, { nextAttemptAt: new Date(Date.now() + 3_600_000) }),
      await stage.addDelivery(webhook, { ...ASIDE, ...old, orderingKey: 'pay_1' }),
      await stage.addDelivery(webhook, { orderingKey: 'pay_1' }),
    ];
  });

  describe.each(['of the queue', 'of the service'])('on a connection %s', (connection) => {
    test.each(Object.entries(WORK))('%s reads no deliveries of others', async (_, [work, index, change]) => {
      const client = await (connection === 'of the queue' ? queue : stage.pool).connect();
      try {
        await client.query('BEGIN');
        const { db, read } = countRows(client);
        await work(db, destinations);
        const { rows } = await client.query('SELECT * FROM "Delivery" WHERE "id" = $1', [ids[index]]);
        expect(rows[0]).toMatchObject(change);
        expect(read()).toBeLessThan(BACKLOG / 5);
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    });
  });
});
