import pg from 'pg';
import pino, { type Logger } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bus, openBus } from '../../src/bus/bus.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const log = pino({ level: 'silent' });
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

/** Opens a bus and collects the turns of the hints that it gets. */
async function listen(
  url = database.url,
  options: { log?: Logger; heartbeatMilliseconds?: number } = {},
): Promise<{ bus: Bus; turns: (number | undefined)[] }> {
  const bus = await openBus({ url, pool, log, ...options });
  const turns: (number | undefined)[] = [];
  bus.subscribe('news', (turn) => turns.push(turn));
  return { bus, turns };
}

test('every process gets every hint with the same turn number, which increases by one with each notification', async () => {
  const [one, two] = [await listen(), await listen()];
  for (let count = 1; count <= 3; count++) {
    one.bus.publish('news');
    await expect.poll(() => [one.turns.length, two.turns.length]).toEqual([count, count]);
  }
  const [first] = one.turns;
  expect(one.turns).toEqual([first, first! + 1, first! + 2]);
  expect(two.turns).toEqual(one.turns);
  await Promise.all([one.bus.close(), two.bus.close()]);
});

test('a connection that goes silent is replaced, and listeners check for what they missed', async () => {
  const target = new URL(database.url);
  const proxy = await startCuttableProxy(`http://${target.host}`);
  const url = Object.assign(new URL(database.url), { port: new URL(proxy.url).port }).href;
  const [publisher, { bus, turns }] = [await listen(), await listen(url, { heartbeatMilliseconds: 200 })];
  proxy.silence();
  await expect.poll(() => turns.length).toBeGreaterThan(0);
  expect(turns[0]).toBe(undefined);
  // On a busy machine, the short heartbeat can replace the connection once more, and lose a hint.
  const hears = () => {
    publisher.bus.publish('news');
    return turns.some((turn) => turn !== undefined);
  };
  await expect.poll(hears).toBe(true);
  await Promise.all([publisher.bus.close(), bus.close()]);
  await proxy.close();
});

test('the bus reconnects more and more slowly to a server that closes every connection, with one attempt at a time', async () => {
  const target = new URL(database.url);
  const proxy = await startCuttableProxy(`http://${target.host}`);
  const url = Object.assign(new URL(database.url), { port: new URL(proxy.url).port }).href;
  const failures: number[] = [];
  const failureLog = pino({ level: 'warn' }, { write: () => failures.push(performance.now()) });
  const { bus, turns } = await listen(url, { log: failureLog });
  const before = proxy.madeCount();
  proxy.cut();
  await expect.poll(() => failures.length).toBeGreaterThanOrEqual(5);
  // At least three quarters of 0.5 + 1 + 2 + 2 seconds.
  expect(failures[4]! - failures[0]!).toBeGreaterThan(4_000);
  proxy.mend();
  await expect.poll(() => turns).toEqual([undefined]);
  expect(proxy.madeCount() - before).toBe(failures.length + 1);
  await expect.poll(() => proxy.openCount()).toBe(1);
  await bus.close();
  await proxy.close();
});

test('a bus that is closed while it reconnects leaves no connection behind', async () => {
  const target = new URL(database.url);
  const proxy = await startCuttableProxy(`http://${target.host}`);
  const url = Object.assign(new URL(database.url), { port: new URL(proxy.url).port }).href;
  const warnings: string[] = [];
  const { bus } = await listen(url, { log: pino({ level: 'warn' }, { write: (line) => warnings.push(line) }) });
  proxy.cut();
  await expect.poll(() => warnings.length).toBeGreaterThan(0);
  // From now on, the server accepts connections but doesn't respond.
  proxy.mend({ isSilent: true });
  await expect.poll(() => proxy.openCount()).toBe(1);
  const before = warnings.length;
  await bus.close();
  await expect.poll(() => proxy.openCount()).toBe(0);
  expect(warnings).toHaveLength(before);
  await proxy.close();
});

test('a notification from an earlier version, which has no turn number, is passed on', async () => {
  const { bus, turns } = await listen();
  await pool.query(`SELECT pg_notify('tollgate', E'other\\nnews')`);
  await expect.poll(() => turns).toEqual([undefined]);
  await bus.close();
});
