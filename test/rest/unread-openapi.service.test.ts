import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type ServiceNode, startServiceNode } from '../support/service-node.ts';

// One process with a small heap. It doesn't know its public URL, so the document depends on the request.

const HEAP_MEGABYTES = 256;
const SOCKETS = 60;
/** As many as a connection may have without a response. All documents together are about twice as large as the heap. */
const REQUESTS = 16;

let database: TestDatabase;
let dataDir: string;
let node: ServiceNode;
const sockets: Socket[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-openapi-'));
  database = await createTestDatabase();
  node = await startServiceNode({
    role: 'api',
    databaseUrl: database.url,
    dataDir,
    maxHeapMegabytes: HEAP_MEGABYTES,
  });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await node?.end('SIGKILL');
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Requests the document several times, and reads only the beginning of the first response. */
async function requestWithoutReading(host: string): Promise<void> {
  const { hostname, port } = new URL(node.url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  sockets.push(socket);
  socket.write(`GET /api/openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(REQUESTS));
  // The connection also closes if the process dies.
  await new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
  socket.pause();
}

test('OpenAPI documents that strangers request without reading them take hardly any memory', async () => {
  for (let index = 0; index < SOCKETS; index++) await requestWithoutReading(`${index}.example`);
  const response = await fetch(`${node.url}/api/openapi.json`).catch(() => undefined);
  expect(response?.status, node.printed().slice(-1_000)).toBe(200);
  expect(await response!.json()).toMatchObject({ servers: [{ url: node.url }] });
  expect(node.isRunning()).toBe(true);
}, 300_000);
