import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { dayLimitOf } from '../../support/day-limit.ts';
import { createEndpoint, createProject, createWebhook, GOOD, type Resource } from '../../support/resources.ts';

const LIMIT = { name: 'change-deliveries', perDay: 100_000 };
const LIMIT_REACHED = { status: 429, body: { code: 'RATE_LIMITED' } };

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let project: Resource & { base: string };
let limit: ReturnType<typeof dayLimitOf>;
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
  limit = dayLimitOf(sql, project.id, LIMIT);
});

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
  await limit.leaveNothing();
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
  expect(await limit.usedBy(() => patch(id, { priceUsd: '0.02' }), 200)).toBe(0);
  await addWebhooks(2);
  expect(await limit.usedBy(() => patch(id, { priceUsd: '0.03' }), 200)).toBe(5);
  expect(await limit.usedBy(() => post({ path: '/new' }), 201)).toBe(5);
  expect(await limit.usedBy(() => patch(id, { priceUsd: '0.03' }), 200)).toBe(0);
  expect(await limit.usedBy(() => post({ path: '/taken' }), 409)).toBe(0);
  expect(await limit.usedBy(() => patch(id, { path: '/new', priceUsd: '0.04' }), 409)).toBe(0);
});
