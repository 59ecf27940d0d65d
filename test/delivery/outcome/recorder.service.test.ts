import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openQueuePool } from '../../../src/database/client.ts';
import { newWebhookSecret } from '../../../src/delivery/send/signing.ts';
import type { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { newId } from '../../../src/ids.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage, until } from '../support.ts';

let stage: Stage;
let receiver: Receiver;
let queue: pg.Pool;
let worker: DeliveryWorker | undefined;
beforeEach(async () => {
  stage = await openStage();
  receiver = await startReceiver();
  queue = openQueuePool(stage);
});
afterEach(async () => {
  await worker?.stop();
  await queue.end();
  await stage.close();
  await receiver.close();
});

/** Adds another project with a webhook. */
async function addNeighbour() {
  const projectId = newId('Project');
  const id = newId('Webhook');
  await stage.pool.query(
    `INSERT INTO "Project" ("id", "userId", "name", "walletAddress") SELECT $1, "userId", 'Maps', '0x0' FROM "Project" WHERE "name" <> 'Deleted'`,
    [projectId],
  );
  const cell = { table: 'Webhook', column: 'secret', rowId: id, projectId };
  await stage.addWebhook(receiver.url, { id, projectId, secret: stage.secretBox.seal(newWebhookSecret(), cell) });
  return { projectId, id };
}

test('while a project is being deleted, results of other projects are still written, and its own are written afterward', async () => {
  const neighbour = await addNeighbour();
  const { id } = await stage.addWebhook(receiver.url);
  const { promise: response, resolve: release } = Promise.withResolvers<{ statusCode: number }>();
  receiver.handle(() => response);
  worker = stage.startWorker({}, { pool: queue });
  const { projectId } = neighbour;
  const eventId = await stage.addEvent({ projectId });
  const theirs = await stage.addDelivery(neighbour.id, { projectId, eventId });
  const ours = await Promise.all([stage.addDelivery(id), stage.addDelivery(id)]);
  await receiver.waitFor(3);

  const client = await stage.pool.connect();
  await client.query('BEGIN');
  await client.query('DELETE FROM "Project" WHERE "id" = $1', [projectId]);
  release({ statusCode: 200 });
  for (const delivery of ours) await stage.deliveryIs(delivery, 'SUCCEEDED');
  expect((await stage.delivery(theirs)).status).toBe('RUNNING');
  await client.query('ROLLBACK');
  client.release();
  expect(await stage.deliveryIs(theirs, 'SUCCEEDED')).toMatchObject({ attemptCount: 1 });
  expect(receiver.requests).toHaveLength(3);
  await until(() => worker?.stats().inFlight === 0);
});

test("other projects' deliveries are claimed while a project with leases to extend is being deleted", async () => {
  const neighbour = await addNeighbour();
  const { id } = await stage.addWebhook(receiver.url);
  const { promise: response, resolve: release } = Promise.withResolvers<{ statusCode: number }>();
  receiver.handle((_request, _response, index) => (index === 0 ? response : {}));
  worker = stage.startWorker({ leaseSeconds: 3 }, { pool: queue });
  const { projectId } = neighbour;
  const eventId = await stage.addEvent({ projectId });
  const theirs = await stage.addDelivery(neighbour.id, { projectId, eventId });
  await receiver.waitFor(1);

  const client = await stage.pool.connect();
  await client.query('BEGIN');
  await client.query('DELETE FROM "Project" WHERE "id" = $1', [projectId]);
  const { leasedUntil } = await stage.delivery(theirs);
  await until(() => Date.now() > (leasedUntil as Date).getTime());
  for (let count = 0; count < 3; count++) await stage.deliveryIs(await stage.addDelivery(id), 'SUCCEEDED');
  await client.query('ROLLBACK');
  client.release();
  release({ statusCode: 200 });
  await stage.deliveryIs(theirs, 'SUCCEEDED');
});

test('results of other projects are written while a statement about one project keeps taking too long', async () => {
  const neighbour = await addNeighbour();
  const { id } = await stage.addWebhook(receiver.url);
  const { projectId } = neighbour;
  await stage.pool.query(`
    CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
    CREATE TRIGGER slow BEFORE UPDATE ON "Webhook" FOR EACH ROW WHEN (OLD."id" = '${neighbour.id}') EXECUTE FUNCTION take_long()`);
  const { promise: response, resolve: release } = Promise.withResolvers<{ statusCode: number }>();
  // The neighbor's webhook fails, which changes its row.
  receiver.handle(() => response);
  const hasty = new pg.Pool({ connectionString: stage.url, max: 4, statement_timeout: 300 });
  hasty.on('error', () => {});
  worker = stage.startWorker({}, { pool: hasty });
  const theirs = await stage.addDelivery(neighbour.id, { projectId, eventId: await stage.addEvent({ projectId }) });
  await receiver.waitFor(1);
  receiver.handle(() => ({ statusCode: 200 }));
  release({ statusCode: 500 });
  for (let count = 0; count < 3; count++) await stage.deliveryIs(await stage.addDelivery(id), 'SUCCEEDED');
  expect(await stage.delivery(theirs)).toMatchObject({ status: 'RUNNING', attemptCount: 0 });

  await stage.pool.query('DROP TRIGGER slow ON "Webhook"');
  await stage.deliveryIs(theirs, 'SUCCEEDED');
  await worker.stop();
  worker = undefined;
  await hasty.end();
});
