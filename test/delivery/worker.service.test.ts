import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { topics } from '../../src/bus/bus.ts';
import type { ConnectorDefinition } from '../../src/connectors/definition.ts';
import { openQueuePool } from '../../src/database/client.ts';
import { claimDue } from '../../src/delivery/queue/claim.ts';
import { DELETED_PROJECT_ID } from '../../src/features/deletions/soft-delete.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { type ReceiverHandler, startReceiver } from '../support/receiver.ts';
import { openStage, type Stage, until } from './support.ts';

let stage: Stage;
let cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook" CASCADE'));
afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});
afterAll(() => stage.close());

async function receive(handler?: ReceiverHandler) {
  const receiver = await startReceiver(handler);
  cleanups.push(() => receiver.close());
  return receiver;
}

const start: Stage['startWorker'] = (...options) => {
  const worker = stage.startWorker(...options);
  cleanups.push(() => worker.stop());
  return worker;
};

/** A pool that can delay matching statements, as if the connection to the database were slow. */
function delayStatements(statements: RegExp) {
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  let count = 0;
  const query = async (statement: string | { text: string }, values?: unknown[]) => {
    if (statements.test(typeof statement === 'string' ? statement : statement.text)) {
      count++;
      await gate.promise;
    }
    return stage.pool.query(statement as string, values);
  };
  const pool = { query, connect: () => stage.pool.connect() } as unknown as pg.Pool;
  cleanups.push(() => gate.resolve());
  return {
    pool,
    begin(): void {
      gate = Promise.withResolvers();
      count = 0;
    },
    end: () => gate.resolve(),
    count: () => count,
  };
}

const succeeded = (count: number) =>
  until(
    async () => (await stage.countBy('SUCCEEDED')) === count,
    () => `${count} deliveries to succeed`,
  );

describe('workers', () => {
  test('announce a skipped delivery in its own project when its webhook has been deleted', async () => {
    const hints: string[] = [];
    for (const projectId of [stage.projectId, DELETED_PROJECT_ID])
      cleanups.push(stage.bus.subscribe(topics.deliveries(projectId), () => hints.push(projectId)));
    const { id } = await stage.addWebhook('http://127.0.0.1:9/');
    await stage.pool.query('UPDATE "Webhook" SET "projectId" = $2, "isActive" = false WHERE "id" = $1', [
      id,
      DELETED_PROJECT_ID,
    ]);
    await stage.addDelivery(id);
    start();
    await expect.poll(() => stage.countBy('SKIPPED')).toBe(1);
    await expect.poll(() => hints).toContain(stage.projectId);
    expect(hints).not.toContain(DELETED_PROJECT_ID);
  });

  test('share the queue and send every delivery once', async () => {
    const receiver = await receive();
    const webhook = await stage.addWebhook(receiver.url);
    const ids = await stage.addDeliveries(webhook.id, 300);
    for (let count = 0; count < 3; count++) start({ claimBatch: 20, maxInFlight: 40 });
    await succeeded(300);
    expect(receiver.requests).toHaveLength(300);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(300);
    const { rows } = await stage.pool.query(`SELECT count(*)::int AS n FROM "Attempt" WHERE "deliveryId" = ANY($1)`, [
      ids,
    ]);
    expect(rows[0].n).toBe(300);
  });

  test('take over the deliveries of a killed worker', async () => {
    const receiver = await receive();
    const webhook = await stage.addWebhook(receiver.url);
    const ids = await stage.addDeliveries(webhook.id, 5);
    const request = { limit: 5, retryLimit: 5, leaseSeconds: 0.3, capacity: new Map(), defaultCapacity: 5 };
    expect((await claimDue(stage.pool, request)).deliveries).toHaveLength(5);
    start();
    await succeeded(5);
    for (const id of ids) expect(await stage.delivery(id)).toMatchObject({ leaseToken: 2, attemptCount: 1 });
  });

  test('extend the leases of slow deliveries', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const receiver = await receive(async () => {
      await promise;
      return {};
    });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start({ leaseSeconds: 10 });
    await receiver.waitFor(1);
    const first = (await stage.delivery(id)).leasedUntil as Date;
    start({ leaseSeconds: 10 });
    const prolongedPast = (time: number) => async () =>
      ((await stage.delivery(id)).leasedUntil as Date).getTime() > time;
    await until(prolongedPast(first.getTime() + 5_000));
    resolve();
    expect(await stage.deliveryIs(id, 'SUCCEEDED')).toMatchObject({ leaseToken: 1 });
    expect(receiver.requests).toHaveLength(1);
  });

  test("notify a project's live feed when its deliveries change", async () => {
    const receiver = await receive();
    let hints = 0;
    cleanups.push(stage.bus.subscribe(topics.deliveries(stage.projectId), () => hints++));
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDelivery(webhook.id);
    start();
    await until(() => hints > 0);
  });

  test('report their metrics', async () => {
    const receiver = await receive((_request, _response, index) => ({ statusCode: index === 0 ? 500 : 200 }));
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDelivery(webhook.id);
    const worker = start();
    await succeeded(1);
    // The row is visible before the worker knows that it was written.
    await expect
      .poll(() => worker.stats())
      .toEqual({ inFlight: 0, failingDestinations: 0, attempts: 2, delivered: 1, failed: 1 });
  });
});

describe('a worker', () => {
  test('wakes up when the bus announces a due delivery', async () => {
    const receiver = await receive();
    const webhook = await stage.addWebhook(receiver.url);
    start({ pollMilliseconds: 3_600_000 });
    for (let count = 1; count <= 3; count++) {
      await stage.addDelivery(webhook.id);
      stage.bus.publish(topics.deliveriesDue);
      await receiver.waitFor(count);
    }
  });

  test('wakes up when a delivery becomes due', async () => {
    const receiver = await receive();
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDelivery(webhook.id, { nextAttemptAt: new Date(Date.now() + 400) });
    start({ pollMilliseconds: 3_600_000 });
    await receiver.waitFor(1);
  });

  test('wakes up when one of its own retries becomes due', async () => {
    const receiver = await receive((_request, _response, index) => ({ statusCode: index === 0 ? 500 : 200 }));
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDelivery(webhook.id);
    start({ pollMilliseconds: 3_600_000, retryScheduleSeconds: [0.5] });
    await succeeded(1);
  });

  test('wakes up at every poll interval, even without being notified', async () => {
    const receiver = await receive();
    const webhook = await stage.addWebhook(receiver.url);
    start({ pollMilliseconds: 50 });
    await stage.addDelivery(webhook.id);
    await receiver.waitFor(1);
  });
});

describe('fairness', () => {
  test('a destination that never responds does not delay other destinations, no matter how many deliveries to it are due', async () => {
    const blackHole = await receive(() => undefined);
    const receiver = await receive();
    const dead = await stage.addWebhook(blackHole.url);
    await stage.addDeliveries(dead.id, 400);
    const others = await Promise.all(Array.from({ length: 10 }, () => stage.addWebhook(receiver.url)));
    start({ maxInFlight: 40, perDestination: 4, claimBatch: 20, timeoutMilliseconds: 60_000, drainMilliseconds: 0 });
    await until(() => blackHole.requests.length >= 4);
    for (const { id } of others) await stage.addDeliveries(id, 10);
    stage.bus.publish(topics.deliveriesDue);
    await receiver.waitFor(100);
    await succeeded(100);
    expect(blackHole.requests.length).toBeLessThan(40);
  });
});

test.each([
  ['is disabled', 410, /"status" = 'SKIPPED'/],
  ['rejects its credential', 401, /"reason" = 'paused'/],
])(
  'a destination that %s does not delay other destinations, no matter how many deliveries wait for it',
  async (_title, statusCode, change) => {
    const receiver = await receive(({ path }) => ({ statusCode: path === '/gone' ? statusCode : 200 }));
    const connector: Partial<ConnectorDefinition> = {
      config: z.strictObject({}),
      supportsEvent: () => true,
      build: () => ({ method: 'POST', url: `${receiver.url}/gone`, headers: {} }),
      classify: () => ({ kind: 'pause', reason: 'Replace the key.' }),
    };
    const refused =
      statusCode === 410 ? (await stage.addWebhook(`${receiver.url}/gone`)).id : await stage.addConnector('slack', {});
    const { id } = await stage.addWebhook(receiver.url);
    const later = await stage.addDelivery(refused, { nextAttemptAt: new Date(Date.now() + 3_600_000) });
    await stage.addDelivery(refused);
    const held = delayStatements(change);
    held.begin();
    start({}, { pool: held.pool, findConnector: () => connector as ConnectorDefinition });
    await until(() => held.count() > 0);
    await stage.deliveryIs(await stage.addDelivery(id), 'SUCCEEDED');
    expect((await stage.delivery(later)).nextAttemptAt).not.toBeNull();
    held.end();
    await until(async () => (await stage.delivery(later)).nextAttemptAt === null);
  },
);

describe('a claimed delivery that is waiting for its turn', () => {
  test('is not sent once its lease may have expired', async () => {
    const { promise, resolve } = Promise.withResolvers<{ statusCode: number }>();
    const receiver = await receive((_request, _response, index) => (index === 0 ? promise : {}));
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDeliveries(webhook.id, 4);
    const held = delayStatements(/./s);
    const worker = start(
      { leaseSeconds: 2, perDestination: 1, maxPerDestination: 1, claimedAhead: 3 },
      { pool: held.pool },
    );
    await receiver.waitFor(1);
    await until(async () => (await stage.countBy('RUNNING')) === 4);
    // This worker can no longer reach the database, but others can.
    held.begin();
    start();
    await succeeded(4);
    expect(receiver.requests).toHaveLength(5);
    resolve({ statusCode: 200 });
    await until(() => worker.stats().inFlight === 1);
    held.end();
    await until(() => worker.stats().inFlight === 0);
    expect(receiver.requests).toHaveLength(5);
  });

  test('is not sent to a destination that just returned 410', async () => {
    const { promise, resolve } = Promise.withResolvers<{ statusCode: number }>();
    const receiver = await receive(() => promise);
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDeliveries(webhook.id, 6);
    start({ perDestination: 2, maxPerDestination: 2, claimedAhead: 4 });
    await receiver.waitFor(2);
    await until(async () => (await stage.countBy('RUNNING')) === 6);
    resolve({ statusCode: 410 });
    await until(async () => (await stage.countBy('SKIPPED')) === 4);
    // The second response may arrive after the others have been skipped.
    await until(async () => (await stage.countBy('FAILED')) === 2);
    expect(receiver.requests).toHaveLength(2);
  });
});

describe('a worker that stops', () => {
  test('finishes what is in flight and claims nothing new', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const receiver = await receive(async () => {
      await promise;
      return {};
    });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    const worker = stage.startWorker();
    await receiver.waitFor(1);
    const stopped = worker.stop();
    const later = await stage.addDelivery(webhook.id);
    stage.bus.publish(topics.deliveriesDue);
    resolve();
    await stopped;
    expect(await stage.delivery(id)).toMatchObject({ status: 'SUCCEEDED', attemptCount: 1 });
    expect(await stage.delivery(later)).toMatchObject({ status: 'PENDING', leaseToken: 0 });
  });

  test('releases deliveries that it claimed but did not start', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const receiver = await receive(async () => {
      await promise;
      return {};
    });
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDeliveries(webhook.id, 4);
    const worker = stage.startWorker({ perDestination: 1, maxPerDestination: 1, claimedAhead: 3 });
    await receiver.waitFor(1);
    await until(async () => (await stage.countBy('RUNNING')) === 4);
    const stopped = worker.stop();
    await until(async () => (await stage.countBy('PENDING')) === 3);
    resolve();
    await stopped;
    const { rows } = await stage.pool.query(
      `SELECT "status"::text, "attemptCount", "errorClass", "leasedUntil", count(*)::int AS n FROM "Delivery" GROUP BY 1, 2, 3, 4`,
    );
    const common = { errorClass: null, leasedUntil: null };
    expect(rows.toSorted((a, b) => a.n - b.n)).toEqual([
      { status: 'SUCCEEDED', attemptCount: 1, n: 1, ...common },
      { status: 'PENDING', attemptCount: 0, n: 3, ...common },
    ]);
    expect(receiver.requests).toHaveLength(1);
  });

  test('starts nothing from a claim that is still running', async () => {
    const { promise, resolve } = Promise.withResolvers<{ statusCode: number }>();
    const receiver = await receive((_request, _response, index) => (index === 0 ? promise : {}));
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDeliveries(webhook.id, 4);
    const held = delayStatements(/claimed AS/);
    const worker = stage.startWorker({ perDestination: 1, maxPerDestination: 1, claimedAhead: 3 }, { pool: held.pool });
    await receiver.waitFor(1);
    await until(async () => (await stage.countBy('RUNNING')) === 4);
    held.begin();
    stage.bus.publish(topics.deliveriesDue);
    await until(() => held.count() > 0);
    const stopped = worker.stop();
    resolve({ statusCode: 200 });
    await succeeded(1);
    await until(async () => (await stage.countBy('PENDING')) === 3);
    held.end();
    await stopped;
    expect(receiver.requests).toHaveLength(1);
  });

  test('releases deliveries that do not finish in time', async () => {
    const receiver = await receive((_request, _response, index) => (index === 0 ? undefined : {}));
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    const worker = stage.startWorker({ drainMilliseconds: 50 });
    await receiver.waitFor(1);
    await worker.stop();
    expect(await stage.delivery(id)).toMatchObject({ status: 'PENDING', errorClass: 'interrupted', leasedUntil: null });
    start();
    await stage.deliveryIs(id, 'SUCCEEDED');
    expect(receiver.requests).toHaveLength(2);
  });

  test('does not start another quick retry', async () => {
    const { promise, resolve } = Promise.withResolvers<{ statusCode: number }>();
    const receiver = await receive(() => promise);
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    const quickRetries = {
      maxRetries: 50,
      maxDurationMilliseconds: 60_000,
      maxRetryAfterSeconds: 2,
      minDelayMilliseconds: 1,
    };
    const worker = stage.startWorker({ quickRetries, retryScheduleSeconds: [600] });
    await receiver.waitFor(1);
    const stopped = worker.stop();
    resolve({ statusCode: 500 });
    await stopped;
    expect(await stage.delivery(id)).toMatchObject({ status: 'PENDING', attemptCount: 1 });
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('while the database is down', () => {
  test('results are kept, and written once it is back', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const receiver = await receive(async (_request, _response, index) => {
      if (index < 20) await promise;
      return {};
    });
    const webhook = await stage.addWebhook(receiver.url);
    await stage.addDeliveries(webhook.id, 20);
    const pool = new pg.Pool({ connectionString: stage.url, max: 4 });
    pool.on('error', () => {});
    cleanups.push(() => pool.end());
    start({}, { pool });
    await receiver.waitFor(20);

    const name = new URL(stage.url).pathname.slice(1);
    const server = new pg.Client({ connectionString: stage.url.replace(name, 'postgres') });
    await server.connect();
    cleanups.push(() => server.end());
    const cut = async () => {
      await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await server.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    };
    await cut();
    resolve();
    await until(() => stage.lines.some(({ msg }) => msg === 'delivery results are waiting for the database'));
    await until(() => stage.lines.some(({ msg }) => msg === "can't claim deliveries; retrying"));
    const errors = stage.lines.filter(({ level }) => level >= 50).length;
    expect(errors).toBeLessThan(10);
    await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);

    await succeeded(20);
    expect(receiver.requests).toHaveLength(20);
    await stage.addDelivery(webhook.id);
    await succeeded(21);
  });

  test('a statement without a response is retried over another connection', async () => {
    const receiver = await receive();
    const webhook = await stage.addWebhook(receiver.url);
    const direct = new URL(stage.url);
    const proxy = await startCuttableProxy(`http://${direct.host}`);
    cleanups.push(() => proxy.close());
    direct.host = new URL(proxy.url).host;
    const pool = openQueuePool({ url: direct.href, log: stage.log, responseTimeoutMilliseconds: 500 });
    cleanups.push(() => pool.end());
    start({}, { pool });
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'SUCCEEDED');
    proxy.silence();
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'SUCCEEDED');
  });
});
