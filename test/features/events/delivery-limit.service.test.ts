import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject, createWebhook, GOOD, type Resource } from '../../support/resources.ts';

const PER_DAY = 100_000;
/** The limit refills while a test runs, so this is less than nothing. */
const NOTHING = -10_000;
const LIMIT_REACHED = { status: 429, body: { code: 'RATE_LIMITED' } };

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let project: Resource & { base: string };
let users = 0;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});
beforeEach(async () => {
  alice = await app.user(`alice${users++}`, 'STARTER');
  project = await createProject(alice);
});

const KEY = `(SELECT 'change-deliveries ' || "userId" FROM "Project" WHERE "id" = $1)`;

/** Uses up the account's limit for the day, except for this many deliveries. */
async function leave(deliveries: number): Promise<void> {
  await sql.query(
    `INSERT INTO "RateLimit" SELECT ${KEY}, now() + interval '24 hours' * (1 - $2::float8)
     ON CONFLICT (key) DO UPDATE SET "arrivesAt" = excluded."arrivesAt"`,
    [project.id, deliveries / PER_DAY],
  );
}

/** How many deliveries were counted so far, relative to a fixed time. */
async function counted(): Promise<number> {
  const { rows } = await sql.query(
    `SELECT extract(epoch FROM "arrivesAt" - '2026-01-01')::float8 / 86400 * $2 AS deliveries FROM "RateLimit" WHERE key = ${KEY}`,
    [project.id, PER_DAY],
  );
  return rows[0].deliveries;
}

async function countedBy(change: () => Promise<{ status: number }>, status: number): Promise<number> {
  await leave(50_000);
  const before = await counted();
  expect(await change()).toMatchObject({ status });
  return Math.round((await counted()) - before);
}

async function storedDeliveries(): Promise<number> {
  const { rows } = await sql.query('SELECT count(*)::int FROM "Delivery" WHERE "projectId" = $1', [project.id]);
  return rows[0].count;
}

async function addWebhooks(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await createWebhook(alice, project.base);
}

const post = (fields: object) => alice.rest('POST', `${project.base}/endpoints`, { ...GOOD.endpoint, ...fields });
const patch = (id: string, fields: object) => alice.rest('PATCH', `${project.base}/endpoints/${id}`, fields);

test('changes with many deliveries are rejected if too little of the daily limit is left', async () => {
  await addWebhooks(5);
  const { id } = await createEndpoint(alice, project.base);
  const before = await storedDeliveries();
  await leave(NOTHING);
  const rejected = await patch(id, { priceUsd: '0.02' });
  expect(rejected).toMatchObject(LIMIT_REACHED);
  expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await post({ path: '/another' })).toMatchObject(LIMIT_REACHED);
  expect(await storedDeliveries()).toBe(before);
  expect(await patch(id, { description: 'New', priceUsd: '0.01' })).toMatchObject({ status: 200 });
});

test('each delivery of a change counts, and changes that fail or have few deliveries don’t', async () => {
  await addWebhooks(3);
  const { id } = await createEndpoint(alice, project.base, { path: '/taken' });
  expect(await countedBy(() => patch(id, { priceUsd: '0.02' }), 200)).toBe(0);
  await addWebhooks(2);
  expect(await countedBy(() => patch(id, { priceUsd: '0.03' }), 200)).toBe(5);
  expect(await countedBy(() => post({ path: '/new' }), 201)).toBe(5);
  expect(await countedBy(() => patch(id, { priceUsd: '0.03' }), 200)).toBe(0);
  expect(await countedBy(() => post({ path: '/taken' }), 409)).toBe(0);
  expect(await countedBy(() => patch(id, { path: '/new', priceUsd: '0.04' }), 409)).toBe(0);
});
