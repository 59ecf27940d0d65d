import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { metricValue, readMetrics } from '../support/metrics.ts';
import { type ServiceNode, startServiceNode } from '../support/service-node.ts';

const SOCKETS = 40;

let database: TestDatabase;
let dataDir: string;
let node: ServiceNode;
const sockets: Socket[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-explorer-'));
  database = await createTestDatabase();
  const env = { GRAPHQL_EXPLORER: 'on' };
  node = await startServiceNode({ role: 'api', databaseUrl: database.url, dataDir, env });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await node?.end('SIGKILL');
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Requests the page, and reads only its beginning. */
async function requestWithoutReading(): Promise<void> {
  const { hostname, port, host } = new URL(node.url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  sockets.push(socket);
  socket.write(`GET /graphql HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\n\r\n`);
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  socket.pause();
}

test('pages of the explorer that strangers request without reading them take hardly any memory', async () => {
  const resident = async () => metricValue(await readMetrics(node.url), 'process_resident_memory_bytes');
  const page = await fetch(`${node.url}/graphql`, { headers: { accept: 'text/html', 'accept-encoding': 'identity' } });
  const { length } = await page.text();
  expect(length).toBeGreaterThan(5_000_000);
  const before = await resident();

  for (let index = 0; index < SOCKETS; index++) await requestWithoutReading();

  expect((await resident()) - before).toBeLessThan((SOCKETS / 2) * length);
}, 300_000);
