import { expect, test } from 'vitest';
import { disableLastingFailure } from '../../../src/delivery/outcome/lasting-failure.ts';
import { countRows } from '../queue/rows-read.ts';
import { openStage } from '../support.ts';

const DAY_SECONDS = 86_400;
const MAX_READ = 10_000;

test('the deliveries that are waiting for a failing destination are not all read, because all results wait for that', async () => {
  const stage = await openStage();
  const { id } = await stage.addWebhook('https://hooks.example.com/in', {
    failingSince: new Date(Date.now() - 6 * DAY_SECONDS * 1000),
  });
  const eventId = await stage.addEvent();
  const other = await stage.addWebhook('https://hooks.example.com/other');
  const addDeliveries = (webhookId: string, status: string, count: number) =>
    stage.pool.query(
      `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "status", "retryStep", "completedAt")
       SELECT new_id('dlv'), $1, $2, 'endpoint.created', $3, $4::"DeliveryStatus", 3, CASE WHEN $4 = 'FAILED' THEN now() END
       FROM generate_series(1, $5)`,
      [stage.projectId, eventId, webhookId, status, count],
    );
  await addDeliveries(id, 'FAILED', 1);
  await addDeliveries(id, 'PENDING', 2 * MAX_READ);
  await addDeliveries(other.id, 'FAILED', 2 * MAX_READ);
  await stage.pool.query('ANALYZE');

  async function check() {
    const client = await stage.pool.connect();
    await client.query('BEGIN; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off');
    const { db, read } = countRows(client);
    const options = { db, failingLimitSeconds: 5 * DAY_SECONDS, retries: 3 };
    const projectId = await disableLastingFailure(options, 'webhook', id, ['dlv_given_up']);
    await client.query('ROLLBACK');
    client.release();
    return { projectId, read: read() };
  }

  const few = await check();
  expect(few.projectId).toBeUndefined();
  expect(few.read).toBeLessThanOrEqual(MAX_READ + 100);
  await stage.pool.query(
    `UPDATE "Delivery" SET "status" = 'FAILED', "completedAt" = now()
     WHERE "id" = (SELECT "id" FROM "Delivery" WHERE "webhookId" = $1 AND "status" = 'PENDING' ORDER BY "id" LIMIT 1)`,
    [id],
  );
  expect((await check()).projectId).toBe(stage.projectId);
  await stage.close();
});
