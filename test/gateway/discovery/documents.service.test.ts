import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDocuments } from '../../../src/gateway/discovery/documents.ts';
import { newId } from '../../../src/ids.ts';
import { startTestApp } from '../../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertEndpoints, insertProjects } from '../../support/fill.ts';
import { WALLET } from '../../support/resources.ts';
import { createShop, startRails } from '../support.ts';

const LARGE = 8;
const SMALL = 40;
const MEGABYTE = 1_048_576;
const BASE = 'https://pay.example';

let database: TestDatabase;
let pool: pg.Pool;
let projectIds: string[];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  const [userId, projectId] = [newId('User'), newId('Project')];
  await pool.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ($1, 'https://id.example', $1)`, [userId]);
  await pool.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, 'P', $3)`, [
    ...[projectId, userId, WALLET],
  ]);
  projectIds = await insertProjects(pool, projectId, SMALL + LARGE);
  for (const id of projectIds) await insertEndpoints(pool, id, 1);
  for (const id of projectIds.slice(SMALL)) await insertEndpoints(pool, id, 499);
  await pool.query(`UPDATE "Endpoint" SET description = repeat('é', 1000) WHERE "projectId" = ANY($1)`, [
    projectIds.slice(SMALL),
  ]);
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** Opens documents that are never notified of changes, and counts how often a project is read. */
function openCounted(maxBytes?: number) {
  const reads = { count: 0 };
  const query = (...args: [never]) => {
    reads.count++;
    return pool.query(...args);
  };
  const bus = { subscribe: () => () => {} };
  const documents = openDocuments({
    db: { query } as never,
    bus: bus as never,
    now: () => 0,
    ...(maxBytes && { maxBytes }),
  });
  const find = (id: string, path = '/openapi.json', address = '192.0.2.1', base = BASE) =>
    documents.find(id, path, { baseOf: () => base, address });
  return { reads, find, cachedBytes: documents.cachedBytes };
}

test('the documents of many small projects are kept, and each project is read only once', async () => {
  const { reads, find } = openCounted();
  const small = projectIds.slice(0, SMALL);
  for (const id of [...small, ...small]) expect(await find(id)).toBeDefined();
  await Promise.all(small.map((id) => find(id, '/llms.txt')));
  expect(reads.count).toBe(SMALL);
});

test('a project keeps the nine documents that were used last', async () => {
  const { find } = openCounted();
  const at = (host: number) => find(projectIds[0]!, '/openapi.json', '192.0.2.1', `https://${host}.example`);
  const written: unknown[] = [];
  for (let host = 0; host <= 9; host++) written.push(await at(host));
  for (let host = 9; host >= 1; host--) expect(await at(host), `host ${host}`).toBe(written[host]);
  expect(await at(0)).not.toBe(written[0]);
});

test('large documents are kept only up to a total size, and those that were used last stay', async () => {
  const { reads, find, cachedBytes } = openCounted(8 * MEGABYTE);
  const large = projectIds.slice(SMALL);
  const [small] = projectIds;
  for (const id of large) {
    await find(small!);
    expect((await find(id))!.body.length).toBeGreaterThan(MEGABYTE / 4);
    expect(cachedBytes()).toBeLessThanOrEqual(8 * MEGABYTE);
  }
  expect(reads.count).toBe(1 + LARGE);
  await find(small!);
  await find(large.at(-1)!);
  expect(reads.count).toBe(1 + LARGE);
  await find(large[0]!);
  expect(reads.count).toBe(2 + LARGE);
});

test('documents that are requested at the same time are written one by one, with other work in between', async () => {
  const { find } = openCounted();
  const large = projectIds.at(-1)!;
  await find(large);
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const writtenIn = await Promise.all(
    Array.from({ length: 5 }, async (_, host) => {
      await find(large, '/openapi.json', '192.0.2.1', `https://${host}.example`);
      return turns;
    }),
  );
  isDone = true;
  expect(new Set(writtenIn).size).toBe(5);
});

test('an address that keeps requesting large documents that are no longer kept is rejected before they are read', async () => {
  const { reads, find } = openCounted(6 * MEGABYTE);
  const large = projectIds.slice(SMALL);
  const served: string[] = [];
  let rejected: unknown;
  while (rejected === undefined && served.length < 100) {
    const id = large[served.length % LARGE]!;
    await find(id).then(
      () => served.push(id),
      (error) => {
        rejected = error;
      },
    );
  }
  expect(rejected).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) });
  expect(served.length).toBeGreaterThan(LARGE);

  const before = reads.count;
  const dropped = served.at(-LARGE)!;
  for (let count = 0; count < 20; count++) {
    await expect(find(dropped)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await find(served.at(-1)!)).toBeDefined();
  }
  expect(reads.count).toBe(before);
  expect(await find(dropped, '/openapi.json', '192.0.2.2')).toBeDefined();
});

test('a document of many long descriptions is read from only as many endpoints as it has room for', async () => {
  const { find } = openCounted();
  const { body } = (await find(projectIds.at(-1)!, '/llms.txt'))!;
  expect(body.toString().match(/^- \[GET/gm)!.length).toBeLessThan(500);
  expect(body.toString()).toMatch(/^- and \d+ more$/m);
});

test('a document is sent only if the response memory has room for it, and a response without a body needs none', async () => {
  const rails = await startRails();
  const responseMemory = { maxBytes: 500, maxAddressBytes: 500, maxPaymentBytes: 500 };
  const app = await startTestApp({ env: rails.env, responseMemory });
  try {
    const { url } = await createShop(app, await app.user('alice'), { '/a': { upstreamUrl: 'http://127.0.0.1:9' } });
    const get = (options: RequestInit = {}, path = '/openapi.json') => fetch(url + path, options);
    const full = await get();
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await full.json()).toMatchObject({ code: 'UNAVAILABLE' });
    const head = await get({ method: 'HEAD' });
    expect(head.status).toBe(200);
    expect((await get({ headers: { 'if-none-match': head.headers.get('etag')! } })).status).toBe(304);
    for (let count = 0; count < 20; count++) {
      const response = await get({}, '/.well-known/x402');
      expect([response.status, (await response.text()).length > 50]).toEqual([200, true]);
    }
  } finally {
    await app.stop();
    await rails.close();
  }
});
