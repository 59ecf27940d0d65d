import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { topics } from '../../../src/bus/bus.ts';
import { claimDue } from '../../../src/delivery/queue/claim.ts';
import { changeWaiting, releaseHeld } from '../../../src/delivery/queue/held.ts';
import { releaseFollowers, releaseWaiting } from '../../../src/delivery/queue/ordering.ts';
import { requeue } from '../../../src/delivery/queue/queue.ts';
import { newWebhookSecret } from '../../../src/delivery/send/signing.ts';
import { parseKeyring } from '../../../src/secrets/keyring.ts';
import { createSecretBox } from '../../../src/secrets/secret-box.ts';
import { type NodeProcess, startNode } from '../../support/node-process.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage, until } from '../support.ts';
import { REQUEST } from './support.ts';

let stage: Stage;
let receiver: Receiver;
beforeEach(async () => {
  stage = await openStage();
  receiver = await startReceiver();
});
afterEach(async () => {
  await stage.close();
  await receiver.close();
});

const idOf = ({ headers }: ReceivedRequest) => String(headers['webhook-id']);
const receivedIds = () => receiver.requests.map(idOf);

/** Adds an ordered webhook. */
const addOrdered = async (values = {}) => (await stage.addWebhook(receiver.url, { ordering: 'PAYMENT', ...values })).id;

/** Adds deliveries with one ordering key, in the order of their events. */
async function addKey(webhookId: string, orderingKey: string, count: number) {
  const added: { id: string; eventId: string }[] = [];
  for (let index = 0; index < count; index++) {
    const id = await stage.addDelivery(webhookId, { orderingKey });
    added.push({ id, eventId: String((await stage.delivery(id)).eventId) });
  }
  return added;
}

const eventIds = (added: { eventId: string }[]) => added.map(({ eventId }) => eventId);
const claim = () => claimDue(stage.pool, REQUEST);

/** Holds all requests until the returned function is called with the response to all of them. */
function delayResponses() {
  const { promise, resolve } = Promise.withResolvers<{ statusCode?: number }>();
  receiver.handle(() => promise);
  return resolve;
}

describe('a claim', () => {
  test.each([undefined, ''])(
    'takes only the first delivery of each key and defers the rest (after %j)',
    async (after) => {
      const webhookId = await addOrdered();
      const [first, second, third] = await addKey(webhookId, 'pay_1', 3);
      const [other] = await addKey(webhookId, 'pay_2', 1);
      const free = await stage.addDelivery(webhookId);
      const { deliveries } = await claimDue(stage.pool, { ...REQUEST, ...(after !== undefined && { after }) });
      expect(deliveries.map(({ id }) => id).sort()).toEqual([first!.id, other!.id, free].sort());
      for (const { id } of [second!, third!]) {
        const waiting = { status: 'PENDING', reason: 'ordering', nextAttemptAt: null, leaseToken: 0, retryStep: 0 };
        expect(await stage.delivery(id)).toMatchObject(waiting);
      }
      expect((await claim()).deliveries).toEqual([]);
    },
  );

  test('reports more deliveries when the ones it deferred took slots from others', async () => {
    const webhookId = await addOrdered();
    const [first, second] = await addKey(webhookId, 'pay_1', 2);
    const [other] = await addKey(webhookId, 'pay_2', 1);
    await stage.pool.query(
      `UPDATE "Delivery" SET "nextAttemptAt" = now() + CASE "id" WHEN $1 THEN interval '1 hour' WHEN $2 THEN '-1 hour' ELSE '0' END`,
      [first!.id, second!.id],
    );
    const capacity = new Map([[webhookId, 1]]);
    const request = { ...REQUEST, capacity, after: '' };
    expect(await claimDue(stage.pool, request)).toMatchObject({ deliveries: [], hasMore: true });
    const next = await claimDue(stage.pool, request);
    expect(next).toMatchObject({ deliveries: [{ id: other!.id }], hasMore: false });
  });

  test('never takes two deliveries of a key, even among many concurrent claims', async () => {
    const webhookId = await addOrdered();
    for (let key = 0; key < 20; key++) await addKey(webhookId, `pay_${key}`, 5);
    const claims = await Promise.all(Array.from({ length: 8 }, claim));
    const keys = claims.flatMap(({ deliveries }) => deliveries.map(({ orderingKey }) => orderingKey));
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toHaveLength(20);
  });

  test('leaves a delivery for the next claim while its predecessor is being written', async () => {
    const webhookId = await addOrdered();
    const [first, second] = await addKey(webhookId, 'pay_1', 2);
    await stage.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() + interval '1 hour' WHERE "id" = $1`, [
      first!.id,
    ]);
    const client = await stage.pool.connect();
    await client.query('BEGIN');
    await client.query(`UPDATE "Delivery" SET "status" = 'SUCCEEDED' WHERE "id" = $1`, [first!.id]);
    expect((await claim()).deliveries).toEqual([]);
    expect((await stage.delivery(second!.id)).nextAttemptAt).not.toBeNull();
    await client.query('COMMIT');
    client.release();
    expect((await claim()).deliveries.map(({ id }) => id)).toEqual([second!.id]);
  });
});

describe('deliveries with the same ordering key', () => {
  test('arrive one after the other without waiting for the next poll', async () => {
    const webhookId = await addOrdered();
    const added = await addKey(webhookId, 'pay_1', 5);
    stage.startWorker({ pollMilliseconds: 3_600_000 });
    await until(() => receiver.requests.length === 5);
    expect(receivedIds()).toEqual(eventIds(added));
  });

  test('wait while the first one is retried, and follow as soon as it succeeds', async () => {
    const webhookId = await addOrdered();
    const added = await addKey(webhookId, 'pay_1', 3);
    receiver.respondNext({ statusCode: 500 }, { statusCode: 500 });
    stage.startWorker({ pollMilliseconds: 3_600_000, retryScheduleSeconds: [0.2, 0.2, 3600] });
    await until(() => receiver.requests.length === 5);
    const [first, ...others] = eventIds(added);
    expect(receivedIds()).toEqual([first, first, first, ...others]);
    for (const { id } of added.slice(1)) {
      expect(await stage.deliveryIs(id, 'SUCCEEDED')).toMatchObject({ attemptCount: 1, retryStep: 0, reason: null });
    }
  });

  test('skip ahead of one that has failed too many times, which continues to be retried', async () => {
    const webhookId = await addOrdered({ orderingEscapeAfterAttempts: 2 });
    const [stuck, next] = await addKey(webhookId, 'pay_1', 2);
    receiver.handle((request) => ({ statusCode: idOf(request) === stuck!.eventId ? 500 : 200 }));
    stage.startWorker({ retryScheduleSeconds: [0.05, 0.05, 0.05, 0.05] });
    await stage.deliveryIs(next!.id, 'SUCCEEDED');
    expect(await stage.deliveryIs(stuck!.id, 'FAILED')).toMatchObject({ attemptCount: 5 });
    expect(receivedIds().indexOf(next!.eventId)).toBeGreaterThanOrEqual(2);
  });

  test('continue when the first one fails', async () => {
    const webhookId = await addOrdered({ orderingEscapeAfterAttempts: 100 });
    const [first, second] = await addKey(webhookId, 'pay_1', 2);
    receiver.respondNext({ statusCode: 500 });
    stage.startWorker({ retryScheduleSeconds: [] });
    await stage.deliveryIs(second!.id, 'SUCCEEDED');
    expect(await stage.delivery(first!.id)).toMatchObject({ status: 'FAILED', reason: 'exhausted' });
  });

  test('do not delay deliveries with another key, without a key, or to another webhook', async () => {
    const webhookId = await addOrdered();
    const [stuck] = await addKey(webhookId, 'pay_1', 2);
    const [other] = await addKey(webhookId, 'pay_2', 1);
    const [elsewhere] = await addKey(await addOrdered(), 'pay_1', 1);
    const free = await stage.addDelivery(webhookId);
    receiver.handle((request) => ({ statusCode: idOf(request) === stuck!.eventId ? 500 : 200 }));
    stage.startWorker({ retryScheduleSeconds: [3600] });
    for (const id of [other!.id, elsewhere!.id, free]) await stage.deliveryIs(id, 'SUCCEEDED');
    expect(receivedIds().filter((id) => id === stuck!.eventId)).toHaveLength(1);
  });

  test('go first if they are old and resent, but delay later ones only until the skip limit', async () => {
    const webhookId = await addOrdered({ orderingEscapeAfterAttempts: 2 });
    const [old, later] = await addKey(webhookId, 'pay_1', 2);
    await stage.pool.query(`UPDATE "Delivery" SET "status" = 'FAILED', "attemptCount" = 1 WHERE "id" = $1`, [old!.id]);
    await requeue(stage.pool, old!.id);
    receiver.handle((request) => ({ statusCode: idOf(request) === old!.eventId ? 500 : 200 }));
    stage.startWorker({ retryScheduleSeconds: [3600] });
    await stage.deliveryIs(later!.id, 'SUCCEEDED');
    expect(receivedIds()).toEqual([old!.eventId, later!.eventId]);
  });

  test('continue when two earlier ones finish at the same moment in two processes', async () => {
    const webhookId = await addOrdered();
    const added = await addKey(webhookId, 'pay_1', 3);
    const third = added[2]!.id;
    await stage.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = NULL, "reason" = 'ordering' WHERE "id" = $1`, [
      third,
    ]);
    const begin = async ({ id }: { id: string }) => {
      const client = await stage.pool.connect();
      await client.query('BEGIN');
      await client.query(`UPDATE "Delivery" SET "status" = 'SUCCEEDED' WHERE "id" = $1`, [id]);
      return client;
    };
    const clients = [await begin(added[0]!), await begin(added[1]!)] as const;
    const release = (client: pg.PoolClient) => releaseFollowers(client, [{ webhookId, key: 'pay_1' }]);
    await release(clients[0]);
    let isReleased = false;
    const released = release(clients[1]).then(() => {
      isReleased = true;
    });
    const waits = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until(async () => isReleased || (await stage.pool.query(waits)).rowCount === 1);
    await clients[0].query('COMMIT');
    await released;
    await clients[1].query('COMMIT');
    for (const client of clients) client.release();
    expect(await stage.delivery(third)).toMatchObject({ reason: null, nextAttemptAt: expect.any(Date) });
  });

  test('are all skipped when the webhook is disabled', async () => {
    const webhookId = await addOrdered();
    const added = await addKey(webhookId, 'pay_1', 4);
    const release = delayResponses();
    stage.startWorker();
    await receiver.waitFor(1);
    await until(async () => (await stage.delivery(added[3]!.id)).reason === 'ordering');
    release({ statusCode: 410 });
    for (const { id } of added.slice(1)) {
      expect(await stage.deliveryIs(id, 'SKIPPED')).toMatchObject({ reason: 'disabled' });
    }
  });

  test('arrive in order after a pause, even if the pause began while one was being sent', async () => {
    const webhookId = await addOrdered();
    const added = await addKey(webhookId, 'pay_1', 4);
    const other = await addKey(webhookId, 'pay_2', 3);
    const answer = delayResponses();
    stage.startWorker();
    await receiver.waitFor(2);
    await stage.pool.query(`UPDATE "Webhook" SET "pausedAt" = now() WHERE "id" = $1`, [webhookId]);
    await changeWaiting(stage.pool, 'webhook', webhookId, 'hold');
    answer({});
    await stage.deliveryIs(added[0]!.id, 'SUCCEEDED');
    const rest = [...added.slice(1), ...other.slice(1)];
    for (const { id } of rest) {
      await until(async () => (await stage.delivery(id)).reason === 'paused');
    }
    // An event that happens during the pause.
    added.push(...(await addKey(webhookId, 'pay_1', 1)));
    await until(async () => (await stage.delivery(added[4]!.id)).nextAttemptAt === null);
    expect(receiver.requests).toHaveLength(2);
    await stage.pool.query(`UPDATE "Webhook" SET "pausedAt" = NULL WHERE "id" = $1`, [webhookId]);
    await releaseHeld(stage.pool, webhookId);
    stage.bus.publish(topics.deliveriesDue);
    await receiver.waitFor(8);
    const isOf = (key: { eventId: string }[]) => receivedIds().filter((id) => eventIds(key).includes(id));
    expect(isOf(added)).toEqual(eventIds(added));
    expect(isOf(other)).toEqual(eventIds(other));
  });

  test('do not stop the worker when the webhook is deleted', async () => {
    const webhookId = await addOrdered();
    await addKey(webhookId, 'pay_1', 3);
    const release = delayResponses();
    stage.startWorker();
    await receiver.waitFor(1);
    await stage.pool.query(`DELETE FROM "Webhook" WHERE "id" = $1`, [webhookId]);
    release({});
    const [next] = await addKey(await addOrdered(), 'pay_1', 1);
    await stage.deliveryIs(next!.id, 'SUCCEEDED');
  });

  test('are sent right away when ordering is turned off', async () => {
    const webhookId = await addOrdered();
    const [stuck, ...others] = await addKey(webhookId, 'pay_1', 4);
    receiver.handle((request) => ({ statusCode: idOf(request) === stuck!.eventId ? 500 : 200 }));
    stage.startWorker({ retryScheduleSeconds: [3600] });
    await until(async () => (await stage.delivery(others[2]!.id)).reason === 'ordering');
    await releaseWaiting(stage.pool, webhookId, false);
    for (const { id } of others) await stage.deliveryIs(id, 'SUCCEEDED');
  });
});

test('the order of every key is kept even if four workers keep getting killed and the server often fails', async () => {
  const KEYS = 40;
  const EACH = 6;
  const keyring = `k1:${randomBytes(32).toString('base64')}`;
  const webhookId = await addOrdered({ orderingEscapeAfterAttempts: 100 });
  const cell = { table: 'Webhook', column: 'secret', rowId: webhookId, projectId: stage.projectId };
  const sealed = createSecretBox(parseKeyring(keyring)).seal(newWebhookSecret(), cell);
  await stage.pool.query(`UPDATE "Webhook" SET "secret" = $2 WHERE "id" = $1`, [webhookId, sealed]);

  const accepted: string[] = [];
  const early: string[] = [];
  const before = new Map<string, string>();
  const last = new Map<number, string>();
  receiver.handle((request, response) => {
    const id = idOf(request);
    const chance = Math.random();
    if (before.has(id) && !accepted.includes(before.get(id)!)) early.push(id);
    if (chance < 0.15) return { statusCode: 500 };
    accepted.push(id);
    // The receiver has accepted this request, but the sender never finds out.
    if (chance < 0.2) response.destroy();
    return chance < 0.2 ? undefined : {};
  });
  const startWorker = () => startNode(join(import.meta.dirname, 'worker-process.ts'), [stage.url, keyring]);
  const workers: NodeProcess[] = Array.from({ length: 4 }, startWorker);
  try {
    for (let round = 0; round < EACH; round++) {
      await Promise.all(
        Array.from({ length: KEYS }, async (_, key) => {
          const eventId = await stage.addEvent();
          const previous = last.get(key);
          if (previous) before.set(eventId, previous);
          last.set(key, eventId);
          await stage.addDelivery(webhookId, { eventId, orderingKey: `pay_${key}` });
        }),
      );
      await until(
        () => new Set(accepted).size >= round * KEYS,
        () => 'the next kill',
        300_000,
      );
      await workers.shift()!.end('SIGKILL');
      workers.push(startWorker());
    }
    await until(
      async () => (await stage.countBy('SUCCEEDED')) === KEYS * EACH,
      () => 'all to succeed',
      300_000,
    );
  } finally {
    await Promise.all(workers.map((worker) => worker.end('SIGKILL')));
  }
  expect(early).toEqual([]);
  expect(new Set(accepted).size).toBe(KEYS * EACH);
}, 600_000);
