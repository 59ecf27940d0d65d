import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createReplayRunner } from '../../../src/delivery/replay/runner.ts';
import { newId } from '../../../src/ids.ts';
import { type NodeProcess, startNode } from '../../support/node-process.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage, until } from '../support.ts';

let stage: Stage;
let receiver: Receiver;
const received = new Map<string, number>();
const processes: NodeProcess[] = [];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  received.clear();
  receiver = await startReceiver(({ headers }) => {
    const id = String(headers['webhook-id']);
    received.set(id, (received.get(id) ?? 0) + 1);
    return {};
  });
});
afterEach(async () => {
  await Promise.all(processes.splice(0).map((process) => process.end('SIGKILL')));
  await receiver.close();
});
afterAll(() => stage.close());

async function startProcess(): Promise<void> {
  const process = startNode(join(import.meta.dirname, 'replay-process.ts'), [stage.url]);
  processes.push(process);
  await process.nextMessage();
}

/** Adds failed deliveries and a replay of all of them to one webhook. */
async function prepare(count: number, maxPerSecond: number) {
  const webhook = await stage.addWebhook(receiver.url);
  const failed = { status: 'FAILED', nextAttemptAt: null };
  await Promise.all(Array.from({ length: count }, () => stage.addDelivery(webhook.id, failed)));
  const id = newId('Replay');
  await stage.pool.query(
    `INSERT INTO "Replay" ("id", "projectId", "filter", "maxPerSecond", "total", "startedBy", "createdAt")
     VALUES ($1, $2, $3, $4, $5, 'usr_1', now() + interval '2 ms')`,
    [id, stage.projectId, JSON.stringify({ webhookId: webhook.id }), maxPerSecond, count],
  );
  return { id, webhookId: webhook.id };
}

async function replay(id: string) {
  const { rows } = await stage.pool.query(`SELECT * FROM "Replay" WHERE "id" = $1`, [id]);
  return rows[0] as { status: string; done: number; skipped: number; leaseToken: number };
}

const isFinished = (id: string) => async () => (await replay(id)).status === 'COMPLETED';

describe('a replay', () => {
  test('continues in another process when its own is killed, without gaps or duplicates', async () => {
    const worker = stage.startWorker();
    // So slow that it can't finish before the test has killed its process.
    const { id } = await prepare(120, 4);
    await startProcess();
    for (const killAt of [4, 8]) {
      await until(async () => (await replay(id)).done >= killAt);
      await processes.shift()!.end('SIGKILL');
      expect((await replay(id)).status).toBe('RUNNING');
      // The first lease has to expire on its own; the test ends the second one.
      if (killAt === 8) {
        const fast = `UPDATE "Replay" SET "leasedUntil" = now(), "maxPerSecond" = 100 WHERE "id" = $1`;
        await stage.pool.query(fast, [id]);
      }
      await startProcess();
    }
    await until(isFinished(id), () => 'the replay');
    expect(await replay(id)).toMatchObject({ done: 120, skipped: 0, leaseToken: 3 });
    await until(() => received.size === 120);
    expect([...received.values()].every((count) => count === 1)).toBe(true);
    await worker.stop();
  });

  test('runs in only one of two processes and sends everything once', async () => {
    const worker = stage.startWorker();
    const { id } = await prepare(60, 100);
    await Promise.all([startProcess(), startProcess()]);
    await until(isFinished(id), () => 'the replay');
    expect(await replay(id)).toMatchObject({ done: 60, leaseToken: 1 });
    await until(() => received.size === 60);
    expect([...received.values()].every((count) => count === 1)).toBe(true);
    await worker.stop();
  });

  test('of a delivery whose process died while sending it says that the request may have arrived', async () => {
    const { id, webhookId } = await prepare(1, 100);
    const { rows } = await stage.pool.query(
      `UPDATE "Delivery" SET "status" = 'RUNNING', "leasedUntil" = now() WHERE "webhookId" = $1
       RETURNING "id"`,
      [webhookId],
    );
    const runner = createReplayRunner({ db: stage, bus: stage.bus, log: stage.log });
    runner.start();
    await until(isFinished(id), () => 'the replay');
    await runner.stop();
    expect(await replay(id)).toMatchObject({ done: 1, skipped: 0 });
    const found = await stage.pool.query(`SELECT "status", "errorClass" FROM "Delivery" WHERE "id" = $1`, [rows[0].id]);
    expect(found.rows).toEqual([{ status: 'PENDING', errorClass: 'interrupted' }]);
    await stage.pool.query('DELETE FROM "Delivery" WHERE "id" = $1', [rows[0].id]);
  });

  test('makes progress even when a process has more slow replays than it runs at the same time', async () => {
    const worker = stage.startWorker();
    const long: string[] = [];
    for (let count = 0; count < 8; count++) long.push((await prepare(60, 1)).id);
    const runner = createReplayRunner({ db: stage, bus: stage.bus, log: stage.log });
    runner.start();
    for (const id of long) await until(async () => (await replay(id)).done > 0);
    const { id } = await prepare(3, 1_000);
    await until(isFinished(id), () => 'the replay');
    // Paused replays continue when it is their turn again.
    const done = await Promise.all(long.map(async (each) => (await replay(each)).done));
    for (const [index, each] of long.entries()) await until(async () => (await replay(each)).done > done[index]!);
    expect((await replay(long[0]!)).status).toBe('RUNNING');
    await runner.stop();
    await worker.stop();
    await stage.pool.query('DELETE FROM "Replay"');
  });

  test('queues no more deliveries while earlier ones wait, so that new events are not delayed', async () => {
    const { id, webhookId } = await prepare(400, 1_000);
    const runner = createReplayRunner({ db: stage, bus: stage.bus, log: stage.log });
    runner.start();
    // No worker is running.
    await until(async () => (await replay(id)).done >= 100);
    const fresh = await stage.addDelivery(webhookId);
    const { rows } = await stage.pool.query(
      `SELECT count(*)::int AS n FROM "Delivery" d, "Delivery" f WHERE f."id" = $1 AND d."webhookId" = $2
         AND d."status" = 'PENDING' AND d."nextAttemptAt" <= f."nextAttemptAt" AND d."id" <> f."id"`,
      [fresh, webhookId],
    );
    expect(rows[0].n).toBeLessThanOrEqual(200);
    const worker = stage.startWorker();
    await until(isFinished(id), () => 'the replay');
    expect(await replay(id)).toMatchObject({ done: 400, skipped: 0 });
    await until(() => received.size === 401);
    await worker.stop();
    await runner.stop();
  });
});
