import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { createShop, payingFetch, type Rails, startRails } from '../gateway/support.ts';
import { caller, type TestUser } from '../support/app.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { pace } from '../support/pace.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { GOOD } from '../support/resources.ts';
import { type ServiceNode, startServiceNode } from '../support/service-node.ts';

/**
 * PostgreSQL restarts behind a proxy that accepts connections and closes them, as HAProxy does when it has no server.
 * All roles run in one separate process, so that its log and memory can be measured.
 */

const OUTAGE_SECONDS = 6;
const ASKS_PER_SECOND = 3;
const MAX_ATTEMPTS = 100;
const MAX_LINES = 20;
const MAX_LINE_LENGTH = 4_000;
const MAX_GROWTH_BYTES = 100 * 1024 * 1024;

let dataDir: string;
let database: TestDatabase;
let wire: CuttableProxy;
let rails: Rails;
let upstream: Receiver;
let service: ServiceNode;
let alice: TestUser;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-outage-'));
  [database, rails, upstream] = await Promise.all([createTestDatabase(), startRails(), startReceiver()]);
  const url = new URL(database.url);
  wire = await startCuttableProxy(`http://${url.host}`);
  url.host = new URL(wire.url).host;
  const env = { ...rails.env, DATABASE_POOL_SIZE: '10' };
  service = await startServiceNode({ role: 'api,gateway,worker', databaseUrl: url.href, dataDir, env });
  const issuer = await openDevIssuer({ dataDir });
  alice = caller(service.url, 'alice', await issuer.sign({ subject: 'alice', tier: 'ENTERPRISE' }));
  shop = await createShop(service, alice, { '/paid': { upstreamUrl: upstream.url } });
});

afterAll(async () => {
  wire?.mend();
  await service?.end();
  await wire?.close();
  await Promise.all([upstream?.close(), rails?.close()]);
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const isReady = async () => (await fetch(`${service.url}/readyz`)).status === 200;

const memoryBytes = async () =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${service.pid()}/status`, 'utf8'))![1]) * 1024;

type TestResponse = { status: number; headers: Headers };

/** What a client asks for, and the status it gets while the database works. */
async function asks(): Promise<[expected: number, ask: () => Promise<TestResponse>][]> {
  const buyer = payingFetch(await rails.wallet());
  const query = (text: string) =>
    fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: text }),
    });
  return [
    [200, () => alice.rest('GET', shop.base)],
    [200, () => fetch(`${service.url}/readyz`)],
    [201, () => alice.rest('POST', '/api/projects', GOOD.project)],
    [402, () => fetch(`${shop.url}/paid`)],
    [200, () => query('{ viewer { tier } }')],
    [200, () => buyer(`${shop.url}/paid`)],
  ];
}

test('an outage costs few connection attempts, few log lines, and no memory, and ends with the database’s return', async () => {
  const kinds = await asks();
  for (const [expected, ask] of kinds) expect((await ask()).status).toBe(expected);
  const before = { printed: service.printed().length, made: wire.madeCount(), memory: await memoryBytes() };

  wire.cut();
  const startedAt = performance.now();
  const responses: Promise<{ expected: number; response: TestResponse }>[] = [];
  for (let count = 0; count < OUTAGE_SECONDS * ASKS_PER_SECOND; count++) {
    const [expected, ask] = kinds[count % kinds.length]!;
    responses.push(ask().then((response) => ({ expected, response })));
    await pace(1000 / ASKS_PER_SECOND);
  }
  const attempts = wire.madeCount() - before.made;
  const lines = service.printed().slice(before.printed).trim().split('\n');
  // On a slow machine, the outage lasts longer.
  const longer = (performance.now() - startedAt) / (OUTAGE_SECONDS * 1000);
  expect(attempts).toBeLessThanOrEqual(MAX_ATTEMPTS * longer);
  expect(lines.length).toBeLessThanOrEqual(MAX_LINES * longer);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(MAX_LINE_LENGTH);
  // What a driver's connection knows, such as statements and the key that cancels them, is not for the log.
  expect(lines.join()).not.toContain('secretKey');

  let unavailable = 0;
  for (const { expected, response } of await Promise.all(responses)) {
    const { status, headers } = response;
    expect(status === 503 ? [status, headers.get('retry-after')] : [status]).toEqual(
      status === 503 ? [503, '1'] : [expected],
    );
    if (status === 503) unavailable += 1;
  }
  // Readiness and prices may be remembered for a second.
  expect(unavailable).toBeGreaterThan(responses.length / 2);

  wire.mend();
  expect((await alice.rest('POST', '/api/projects', GOOD.project)).status).toBe(201);
  await expect.poll(isReady).toBe(true);
  for (const [expected, ask] of kinds) expect((await ask()).status).toBe(expected);
  await expect.poll(() => service.printed()).toContain('lost the database connection');
  expect((await memoryBytes()) - before.memory).toBeLessThan(MAX_GROWTH_BYTES);
});

test('a process that is told to stop during an outage stops', async () => {
  wire.cut();
  await expect.poll(isReady).toBe(false);
  expect(await service.end('SIGTERM')).toBe(0);
});
