import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { TIERS } from '../../../src/limits/tiers.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject, GOOD, type Resource, WALLET } from '../../support/resources.ts';
import { apiWith } from '../imports/documents.ts';

const KB = 1024;
const PER_DAY = TIERS.STARTER.maxSchemaBytesPerDay;
const LARGE = { exampleResponse: 'x'.repeat(10 * KB - 2) };
const SMALL = { inputSchema: { query: { type: 'object' } }, exampleResponse: 'x'.repeat(KB - 2) };
/** The limit refills while a test runs, so this is less than nothing. */
const NOTHING = -10_000;
const LIMIT_REACHED = { status: 403, body: { code: 'SCHEMA_LIMIT_REACHED' } };

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

const KEY = `(SELECT 'stored-schemas ' || "userId" FROM "Project" WHERE "id" = $1)`;

/** Uses up the account's limit for the day, except for this many kilobytes. */
async function leave(kilobytes: number): Promise<void> {
  await sql.query(
    `INSERT INTO "RateLimit" SELECT ${KEY}, now() + interval '24 hours' * (1 - $2::float8)
     ON CONFLICT (key) DO UPDATE SET "arrivesAt" = excluded."arrivesAt"`,
    [project.id, ((kilobytes + 0.5) * KB) / PER_DAY],
  );
}

/** How many kilobytes were counted so far, relative to a fixed time. Undefined if nothing was counted yet. */
async function counted(): Promise<number | undefined> {
  const { rows } = await sql.query(
    `SELECT extract(epoch FROM "arrivesAt" - '2026-01-01')::float8 / 86400 * $2 AS kilobytes FROM "RateLimit" WHERE key = ${KEY}`,
    [project.id, PER_DAY / KB],
  );
  return rows[0]?.kilobytes;
}

async function countedBy(change: () => Promise<{ status: number }>, status: number): Promise<number> {
  await leave(100_000);
  const before = (await counted())!;
  expect(await change()).toMatchObject({ status });
  return Math.round((await counted())! - before);
}

const post = (fields: object) =>
  alice.rest<Resource>('POST', `${project.base}/endpoints`, { ...GOOD.endpoint, ...fields });
const patch = (id: string, fields: object) => alice.rest('PATCH', `${project.base}/endpoints/${id}`, fields);
const copy = () => alice.rest('POST', `${project.base}/copy`, { name: 'Copy', walletAddress: WALLET, mode: 'TEST' });

test('a new or changed endpoint with a large example is rejected if too little of the daily limit is left', async () => {
  const { id } = await createEndpoint(alice, project.base, { path: '/small' });
  await leave(NOTHING);
  const rejected = await post({ path: '/large', ...LARGE });
  expect(rejected).toMatchObject(LIMIT_REACHED);
  expect(rejected.body.detail).toMatch(
    /includes 256 MB of .* 0 KB is left, and this change needs 10 KB\. Wait 1 minute: the limit refills evenly over 24 hours\.$/,
  );
  expect(await patch(id, LARGE)).toMatchObject(LIMIT_REACHED);
  expect(await patch(id, { priceUsd: '0.02', ...SMALL })).toMatchObject({ status: 200 });
  expect(await post({ path: '/another', ...SMALL })).toMatchObject({ status: 201 });
});

test('each stored value over 1 KB counts, and changes that fail don’t', async () => {
  expect(await post({ path: '/small', ...SMALL })).toMatchObject({ status: 201 });
  expect(await counted()).toBeUndefined();
  const created = await post({ path: '/a', ...SMALL });
  expect(await countedBy(() => post({ path: '/large', ...LARGE }), 201)).toBe(10);
  expect(await countedBy(() => patch(created.body.id, LARGE), 200)).toBe(10);
  expect(await countedBy(() => patch(created.body.id, SMALL), 200)).toBe(0);
  expect(await countedBy(() => post({ path: '/large', ...LARGE }), 409)).toBe(0);
  expect(await countedBy(() => patch(created.body.id, { path: '/large', ...LARGE }), 409)).toBe(0);
  expect(await countedBy(() => patch('ep_01jc9x2v5qe3w8k4m6n7p9r0st', LARGE), 404)).toBe(0);
});

test('an import reports the daily limit for each item that exceeds it', async () => {
  const example = { content: { 'application/json': { example: LARGE.exampleResponse } } };
  const document = apiWith({ '/large': { get: { responses: { 200: example } } }, '/small': { get: {} } });
  await leave(NOTHING);
  const items = [{ path: '/large' }, { path: '/small' }];
  const { body } = await alice.rest('POST', `${project.base}/endpoints/import`, { document, priceUsd: '1', items });
  expect(body).toMatchObject({
    results: [{ status: 'FAILED', error: { code: 'SCHEMA_LIMIT_REACHED' } }, { status: 'CREATED' }],
  });
});

test('a copy of a project counts the large schemas and examples of all its endpoints', async () => {
  const inputSchema = { query: { type: 'object', description: 'x'.repeat(5 * KB) } };
  for (const path of ['/a', '/b']) await createEndpoint(alice, project.base, { path, ...LARGE });
  await createEndpoint(alice, project.base, { path: '/c', ...SMALL, inputSchema });
  expect(await countedBy(copy, 200)).toBe(26);
  await leave(NOTHING);
  expect(await copy()).toMatchObject(LIMIT_REACHED);
});
