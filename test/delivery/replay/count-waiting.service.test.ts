import { afterAll, beforeAll, expect, test } from 'vitest';
import { countWaiting } from '../../../src/delivery/replay/batch.ts';
import { openStage, type Stage } from '../support.ts';

const BACKLOG = 20_000;
let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

async function addBacklog(name: string, projectId: string, values: string): Promise<void> {
  const { id } = await stage.addWebhook('https://a.example', { projectId });
  await stage.pool.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "trigger", "nextAttemptAt")
     SELECT 'dlv_${name}_' || n, $1, 'evt_1', 'endpoint.created', $2, ${values} FROM generate_series(1, $3::int) n`,
    [projectId, id, BACKLOG],
  );
}

test('counting the waiting deliveries of a project’s replays reads only those', async () => {
  const { projectId } = stage;
  await addBacklog('new', projectId, `'SCHEDULED', now()`);
  await addBacklog('later', projectId, `'MANUAL', now() + interval '1 hour'`);
  await addBacklog('other', await stage.addProject(), `'MANUAL', now()`);
  const { id } = await stage.addWebhook('https://a.example');
  await stage.addDeliveries(id, 3, { trigger: 'MANUAL', isReplay: true });
  await stage.pool.query('ANALYZE "Delivery"');
  const client = await stage.pool.connect();
  await client.query('BEGIN');
  expect(await countWaiting(client, projectId, 100)).toBe(3);
  const { rows } = await client.query(
    `SELECT sum(pg_stat_get_xact_tuples_returned(inhrelid) + pg_stat_get_xact_tuples_fetched(inhrelid))::int AS "read"
     FROM pg_inherits WHERE inhparent = '"Delivery"'::regclass`,
  );
  await client.query('ROLLBACK');
  client.release();
  expect(rows[0].read).toBeLessThan(100);
});
