import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bus, topics } from '../../../src/bus/bus.ts';
import { openRouteTable } from '../../../src/gateway/routing/route-table.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertEndpoints, insertProjects } from '../../support/fill.ts';
import { WALLET } from '../../support/resources.ts';
import { NETWORK } from '../support.ts';

const SECOND = 1_000;
const secretBox = { open: () => '' };

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** Adds a project of a new account, with one endpoint. */
async function insertShop(): Promise<string> {
  const [userId, id] = [newId('User'), newId('Project')];
  await pool.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ($1, 'https://id.example', $1)`, [userId]);
  await pool.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, 'P', $3)`, [
    ...[id, userId, WALLET],
  ]);
  await insertEndpoints(pool, id, 1);
  return id;
}

/** Opens a route table in which an account's routes can be read once and then not again for a long time. */
async function openPaced() {
  const listeners = new Map<string, () => void>();
  const bus: Bus = {
    publish() {},
    publishHereFirst() {},
    close: async () => {},
    subscribe(topic, listener) {
      listeners.set(topic, listener);
      return () => listeners.delete(topic);
    },
  };
  const reads: string[] = [];
  const query = (...args: [{ name: string; values: string[] }]) => {
    if (args[0].name === 'gateway-routes') reads.push(args[0].values[0]!);
    return pool.query(...(args as [never]));
  };
  const pace = { bytesPerSecond: 1, burstBytes: 0, maxWaitMilliseconds: 3_600 * SECOND };
  let milliseconds = 0;
  const table = await openRouteTable({
    db: { pool: { query } as unknown as pg.Pool },
    bus,
    log: pino({ level: 'silent' }),
    networks: [NETWORK],
    ownHosts: undefined,
    secretBox,
    maxAgeMilliseconds: 3_600 * SECOND,
    pace,
    now: () => milliseconds,
  });
  return {
    table,
    pace,
    /** The projects whose routes were read, in order. */
    reads,
    find: async (projectId: string) => {
      const { rows } = await pool.query('SELECT "path" FROM "Endpoint" WHERE "projectId" = $1', [projectId]);
      return table.find(projectId, rows[0].path.slice(1).split('/'), 'GET');
    },
    change: (projectId: string) => listeners.get(topics.routes(projectId))?.(),
    pass: (seconds: number) => {
      milliseconds += seconds * SECOND;
    },
  };
}

test('routes that their seller keeps changing are read only as often as they may be, and other accounts don’t wait', async () => {
  const [busy, other] = [await insertShop(), await insertShop()];
  const { table, reads, find, change, pass } = await openPaced();
  await find(busy);
  const waiting = [];
  for (let count = 0; count < 20; count++) {
    change(busy);
    waiting.push(find(busy));
  }
  expect((await find(other))?.route).toBeDefined();
  expect(reads).toEqual([busy, other]);
  await pool.query('UPDATE "Endpoint" SET "priceAtomic" = 20000 WHERE "projectId" = $1', [busy]);
  change(busy);
  waiting.push(find(busy));
  pass(3_600);
  // All that waited share one read, which includes the last change.
  for (const found of await Promise.all(waiting)) expect(found?.route?.priceAtomic).toBe(20_000n);
  expect(reads).toEqual([busy, other, busy]);
  table.close();
});

test('an account’s projects share how much of their routes may be read', async () => {
  const [first, other] = [await insertShop(), await insertShop()];
  const [second] = await insertProjects(pool, first, 1);
  await insertEndpoints(pool, second!, 1);
  const { table, reads, find, change, pass } = await openPaced();
  await find(first);
  await find(second!);
  change(second!);
  pass(1);
  const waiting = find(second!);
  await find(other);
  expect([first, second!, other].map((id) => table.isPaced(id))).toEqual([true, true, true]);
  expect(reads).toEqual([first, second, other]);
  pass(3 * 3_600);
  await waiting;
  expect(reads).toEqual([first, second, other, second]);
  table.close();
});

test('a request that would wait too long for routes gets 503, and the routes are read all the same', async () => {
  const busy = await insertShop();
  const { table, pace, reads, find, change, pass } = await openPaced();
  await find(busy);
  change(busy);
  pace.maxWaitMilliseconds = 1;
  const refusal = { code: 'UNAVAILABLE', status: 503, retryAfterSeconds: 5 };
  await expect(find(busy)).rejects.toMatchObject(refusal);
  expect(reads).toEqual([busy]);
  pace.maxWaitMilliseconds = 3_600 * SECOND;
  const waiting = find(busy);
  pass(3_600);
  expect((await waiting)?.route).toBeDefined();
  expect(reads).toEqual([busy, busy]);
  table.close();
});
