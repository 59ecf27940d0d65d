import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

// The settings that PgBouncer accepts with a connection and tracks per client: https://www.pgbouncer.org/config.html
const KNOWN = ['user', 'database', 'client_encoding', 'application_name', 'DateStyle', 'TimeZone'];

let testDatabase: TestDatabase;
let pooler: Server;
let url: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { hostname, port } = new URL(testDatabase.url);
  // Passes on everything except connections with a setting that a pooler does not know.
  pooler = createServer((client) => {
    client.once('data', (startup) => {
      const pairs = startup.subarray(8).toString().split('\0');
      const unknown = pairs.filter((name, index) => index % 2 === 0 && name !== '' && !KNOWN.includes(name));
      if (unknown.length > 0) return void client.destroy();
      const server = connect(Number(port), hostname, () => server.write(startup));
      client.pipe(server).pipe(client);
      for (const socket of [client, server]) socket.on('error', () => client.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(pooler, 'listening');
  const through = new URL(testDatabase.url);
  through.port = String((pooler.address() as AddressInfo).port);
  url = through.href;
});

afterAll(async () => {
  pooler.close();
  await testDatabase.drop();
});

test('a pooler that rejects settings in the connection request works, and every session uses UTC', async () => {
  const database = await openDatabase({ url, poolSize: 2, log: pino({ level: 'silent' }) });
  const settings = `SELECT current_setting('TimeZone') AS zone, current_setting('statement_timeout') AS statement,
    pg_sleep(0.05)::text`;
  const sessions = await Promise.all([database.pool.query(settings), database.pool.query(settings)]);
  expect(database.pool.totalCount).toBe(2);
  for (const { rows } of sessions) expect(rows).toMatchObject([{ zone: 'UTC', statement: '15s' }]);
  await database.close();
});
