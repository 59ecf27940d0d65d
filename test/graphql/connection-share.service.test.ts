import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newId } from '../../src/ids.ts';
import { encodeCursor } from '../../src/live/cursor.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, GOOD } from '../support/resources.ts';
import { connectSocket } from './socket-client.ts';

const POOL_SIZE = 12;
const SHARE = 3;
const DOCUMENTS = 60;

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let bob: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let projectId: string;
let deliveryId: string;
let sql: pg.Pool;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: 'served' }));
  // One process has all roles, so its gateway shares the database connections.
  app = await startTestApp({ env: { ...rails.env, DATABASE_POOL_SIZE: String(POOL_SIZE) } });
  alice = await app.user('alice', 'ENTERPRISE');
  bob = await app.user('bob');
  shop = await createShop(app, bob, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
  const project = await createProject(alice);
  projectId = project.id;
  await createWebhook(alice, project.base);
  await createEndpoint(alice, project.base);
  const { body } = await alice.rest<{ data: { id: string }[] }>('GET', `${project.base}/deliveries`);
  deliveryId = body.data[0]!.id;
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
});

afterAll(async () => {
  await sql?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

/** The number of the process's connections that wait for a lock. */
async function waitingConnections(): Promise<number> {
  const { rows } = await sql.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'tollgate' AND wait_event_type = 'Lock'`,
  );
  return rows[0].count;
}

const aliases = (count: number, field: string) => Array.from({ length: count }, (_, n) => `f${n}: ${field}`).join(' ');

test.each([
  {
    what: 'queries with many fields',
    lock: () => 'LOCK TABLE "AuditEntry" IN ACCESS EXCLUSIVE MODE',
    document: () => `{ viewer { ${aliases(10, 'auditLog(first: 1) { nodes { id } }')} } }`,
  },
  {
    // Prisma sends such queries as a batch, on a connection that it takes itself.
    what: 'queries with the same item several times',
    lock: () => 'LOCK TABLE "Attempt" IN ACCESS EXCLUSIVE MODE',
    document: () => `{ ${aliases(5, `node(id: "${deliveryId}") { ... on Delivery { attempts { id } } }`)} }`,
  },
  {
    what: 'mutations',
    lock: () => `SELECT 1 FROM "Project" WHERE "id" = '${projectId}' FOR UPDATE`,
    document: () => `mutation { createWebhook(input: {
      projectId: "${projectId}", url: "${GOOD.webhook.url}", eventTypes: [ALL] }) { webhook { id } } }`,
  },
])(
  "an account's slow requests use a quarter of the connections, and other callers get responses: $what",
  async (slow) => {
    const buyer = await rails.wallet(10_000n);
    const payment = v2Headers(await sign(buyer));
    const locker = await sql.connect();
    await locker.query('BEGIN');
    await locker.query(slow.lock());
    const responses = Array.from({ length: DOCUMENTS }, () => alice.graphql(slow.document()));
    await vi.waitFor(async () => expect(await waitingConnections()).toBeGreaterThanOrEqual(SHARE), { timeout: 60_000 });

    const projects = await bob.rest('GET', '/api/projects');
    const paid = await fetch(`${shop.url}/weather`, { headers: payment });
    const waiting = await waitingConnections();
    await locker.query('COMMIT');
    locker.release();

    expect([projects.status, paid.status, await paid.text()]).toEqual([200, 200, 'served']);
    expect(waiting).toBe(SHARE);
    const statuses = (await Promise.all(responses)).map(({ errors }) => errors?.[0]?.extensions?.code ?? 'OK');
    expect([...new Set(statuses)]).toEqual(['OK']);
  },
);

test("several accounts' slow requests leave connections for other callers", async () => {
  const slow = [alice, ...(await Promise.all(['carol', 'dave', 'erin'].map((name) => app.user(name, 'ENTERPRISE'))))];
  // Accounts are created before the lock.
  await Promise.all(slow.map((user) => user.rest('GET', '/api/projects')));
  const locker = await sql.connect();
  await locker.query('BEGIN; LOCK TABLE "AuditEntry" IN ACCESS EXCLUSIVE MODE');
  const document = `{ viewer { ${aliases(10, 'auditLog(first: 1) { nodes { id } }')} } }`;
  const responses = slow.flatMap((user) => Array.from({ length: 5 }, () => user.graphql(document)));
  await vi.waitFor(async () => expect(await waitingConnections()).toBeGreaterThanOrEqual(POOL_SIZE / 2), {
    timeout: 60_000,
  });

  const projects = await bob.rest('GET', '/api/projects');
  const waiting = await waitingConnections();
  await locker.query('COMMIT');
  locker.release();

  expect(projects.status).toBe(200);
  // Two accounts can use half of the connections, and then the other two one each.
  expect(waiting).toBeLessThanOrEqual(POOL_SIZE / 2 + 2);
  const statuses = (await Promise.all(responses)).map(({ errors }) => errors?.[0]?.extensions?.code ?? 'OK');
  expect([...new Set(statuses)]).toEqual(['OK']);
});

test('an account’s subscriptions use the same quarter of the connections for the fields of their items', async () => {
  const { base, id } = await createProject(alice);
  await createWebhook(alice, base, { eventTypes: ['endpoint.created'] });
  await createEndpoint(alice, base);
  const after = encodeCursor({
    position: { milliseconds: 1, id: newId('Delivery', 1) },
    readAtMilliseconds: 1,
    horizon: 1n,
    shown: new Map(),
  });
  const locker = await sql.connect();
  await locker.query('BEGIN');
  await locker.query('LOCK TABLE "Attempt" IN ACCESS EXCLUSIVE MODE');
  const socket = await connectSocket(app.url, alice.token);
  for (let index = 1; index <= 10; index++) {
    const fields = aliases(index, 'attempts { id }');
    const query = `subscription { deliveryUpdated(projectId: "${id}", after: "${after}") { delivery { ${fields} } } }`;
    socket.send({ id: String(index), type: 'subscribe', payload: { query } });
  }
  await vi.waitFor(async () => expect(await waitingConnections()).toBeGreaterThanOrEqual(SHARE), { timeout: 60_000 });
  const projects = await bob.rest('GET', '/api/projects');
  const waiting = await waitingConnections();
  await locker.query('COMMIT');
  locker.release();
  await socket.close();
  expect(projects.status).toBe(200);
  // Live reads have their own share, and aren't waiting here. The worker's connection may be.
  expect(waiting).toBeLessThanOrEqual(SHARE + 1);
});
