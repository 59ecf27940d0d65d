import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { TIERS } from '../../../src/limits/tiers.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { dayLimitOf } from '../../support/day-limit.ts';
import { createEndpoint, createProject, GOOD, type Resource, WALLET } from '../../support/resources.ts';
import { apiWith } from '../imports/documents.ts';

const KB = 1024;
const LIMIT = { name: 'stored-schemas', perDay: TIERS.STARTER.maxSchemaBytesPerDay / KB };
const LARGE = { exampleResponse: 'x'.repeat(10 * KB - 2) };
const SMALL = { inputSchema: { query: { type: 'object' } }, exampleResponse: 'x'.repeat(KB - 2) };
const LIMIT_REACHED = { status: 403, body: { code: 'SCHEMA_LIMIT_REACHED' } };

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

const post = (fields: object) =>
  alice.rest<Resource>('POST', `${project.base}/endpoints`, { ...GOOD.endpoint, ...fields });
const patch = (id: string, fields: object) => alice.rest('PATCH', `${project.base}/endpoints/${id}`, fields);
const copy = () => alice.rest('POST', `${project.base}/copy`, { name: 'Copy', walletAddress: WALLET, mode: 'TEST' });

test('a new or changed endpoint with a large example is rejected if too little of the daily limit is left', async () => {
  const { id } = await createEndpoint(alice, project.base, { path: '/small' });
  await limit.leaveNothing();
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
  expect(await limit.used()).toBeUndefined();
  const created = await post({ path: '/a', ...SMALL });
  expect(await limit.usedBy(() => post({ path: '/large', ...LARGE }), 201)).toBe(10);
  expect(await limit.usedBy(() => patch(created.body.id, LARGE), 200)).toBe(10);
  expect(await limit.usedBy(() => patch(created.body.id, SMALL), 200)).toBe(0);
  expect(await limit.usedBy(() => post({ path: '/large', ...LARGE }), 409)).toBe(0);
  expect(await limit.usedBy(() => patch(created.body.id, { path: '/large', ...LARGE }), 409)).toBe(0);
  expect(await limit.usedBy(() => patch('ep_01jc9x2v5qe3w8k4m6n7p9r0st', LARGE), 404)).toBe(0);
});

test('an import reports the daily limit for each item that exceeds it', async () => {
  const example = { content: { 'application/json': { example: LARGE.exampleResponse } } };
  const document = apiWith({ '/large': { get: { responses: { 200: example } } }, '/small': { get: {} } });
  await limit.leaveNothing();
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
  expect(await limit.usedBy(copy, 200)).toBe(26);
  await limit.leaveNothing();
  expect(await copy()).toMatchObject(LIMIT_REACHED);
});
