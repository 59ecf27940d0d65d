import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../../../src/bus/bus.ts';
import { openRouteTable } from '../../../src/gateway/routing/route-table.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertEndpoints, insertProjects } from '../../support/fill.ts';
import { WALLET } from '../../support/resources.ts';
import { NETWORK } from '../support.ts';

const MAX_BYTES = 16 * 1024 * 1024;
/** They have more endpoints than there is room for. */
const PROJECTS = 50;
const ENDPOINTS = 200;
const UPSTREAM = 'https://api.example.com/';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const silent: Bus = { publish() {}, publishHereFirst() {}, subscribe: () => () => {}, close: async () => {} };

/** As many headers as an endpoint or a project can have. */
const headers = Array.from({ length: 20 }, (_, index) => ({
  name: `X-${index}-`.padEnd(100, 'A'),
  value: `Bearer ${'s'.repeat(290)}`,
  urlPrefix: 'https://api.example.com',
}));
const shortHeaders = headers.map((_, index) => ({ name: `X${index}`, value: `${index}` }));
/** What the encrypted columns below contain. */
const CONTENTS: Record<string, unknown> = {
  project: headers,
  endpoint: { upstreamUrl: UPSTREAM, headers },
  short: { upstreamUrl: UPSTREAM, headers: shortHeaders },
};
const secretBox = { open: (sealed: string) => JSON.stringify(CONTENTS[sealed.split(' ')[0]!]) };

let database: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.url });
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

type Filling = { path: string; project?: string; endpoint?: string; prices?: number };

/** Adds projects with endpoints. `path` is an SQL expression, and the others are assignments. */
async function insertShops({ path, project = '"name" = \'P\'', endpoint, prices = 0 }: Filling): Promise<string[]> {
  const [userId, first] = [newId('User'), newId('Project')];
  await pool.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ($1, 'https://id.example', $1)`, [userId]);
  await pool.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, 'P', $3)`, [
    ...[first, userId, WALLET],
  ]);
  const ids = [first, ...(await insertProjects(pool, first, PROJECTS - 1))];
  await pool.query(`UPDATE "Project" SET ${project} WHERE "id" = ANY ($1)`, [ids]);
  for (const id of ids) {
    await insertEndpoints(pool, id, ENDPOINTS);
    await pool.query(
      `UPDATE "Endpoint" e SET "path" = ${path}, "upstreamUrl" = $2 ${endpoint ? `, ${endpoint}` : ''}
         FROM (SELECT "id", row_number() OVER (ORDER BY "id") AS "index" FROM "Endpoint" WHERE "projectId" = $1) n
        WHERE e."id" = n."id"`,
      [id, UPSTREAM],
    );
    await pool.query(
      `INSERT INTO "PreviousPrice" ("endpointId", "priceAtomic", "validUntil")
       SELECT "id", price, now() + interval '1 hour' FROM "Endpoint", generate_series(1, $2) AS price WHERE "projectId" = $1`,
      [id, prices],
    );
  }
  return ids;
}

const SHORT = `'/' || n."index"`;

test.each<[string, Filling]>([
  ['short paths', { path: SHORT }],
  ['long paths', { path: `'/' || n."index" || repeat('/' || repeat('A', 62), 31)` }],
  ['one long segment', { path: `'/' || n."index" || repeat('A', 2000)` }],
  [
    'paths in two spellings',
    {
      path: `'/' || n."index" / 2 || repeat(CASE n."index" % 2 WHEN 0 THEN 'A' ELSE 'a' END, 2000)`,
      endpoint: `"priceAtomic" = 10000 + n."index" % 2`,
    },
  ],
  [
    'a profile',
    { path: SHORT, project: `"name" = repeat('€', 200), "iconUrl" = 'https://a.co/' || repeat('i', 2035)` },
  ],
  [
    'lists',
    {
      path: SHORT,
      endpoint: `"methods" = '{GET,HEAD,POST,PUT,PATCH,DELETE}',
        "tags" = ARRAY(SELECT rpad(t::text, 32, 't') FROM generate_series(1, 10) AS t), "mimeType" = 'text/' || repeat('x', 90),
        "forwardedHeaders" = ARRAY(SELECT rpad('x-' || h, 64, 'h') FROM generate_series(10, 41) AS h)`,
    },
  ],
  ['descriptions', { path: SHORT, endpoint: `"description" = repeat('€', 1000)` }],
  ['earlier prices', { path: SHORT, prices: 10 }],
  ['short headers', { path: SHORT, endpoint: `"secretUpstreamHeaders" = rpad('short ', 800, 'x')` }],
  ['headers', { path: SHORT, endpoint: `"secretUpstreamHeaders" = rpad('endpoint ', 11000, 'x')` }],
  ["a project's headers", { path: SHORT, project: `"secretUpstreamHeaders" = rpad('project ', 11000, 'x')` }],
])('all routes together take no more memory than they may, with %s', async (_, filling) => {
  const projectIds = await insertShops(filling);
  const { rows } = await pool.query<{ projectId: string; path: string }>(
    'SELECT "projectId", "path" FROM "Endpoint" WHERE "projectId" = ANY ($1) ORDER BY "projectId", "id"',
    [projectIds],
  );
  const table = await openRouteTable({
    db: { pool },
    bus: silent,
    log: pino({ level: 'silent' }),
    networks: [NETWORK],
    ownHosts: undefined,
    secretBox,
    maxBytes: MAX_BYTES,
    maxAgeMilliseconds: 3_600_000,
  });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (const { projectId, path } of rows) {
    const found = await table.find(projectId, path.slice(1).split('/'), 'GET');
    found!.route!.credentials();
  }
  collectGarbage();
  const keptBytes = process.memoryUsage().heapUsed - before;
  const isLastKept = table.version(rows.at(-1)!.projectId) !== undefined;
  table.close();
  expect(keptBytes).toBeLessThan(1.1 * MAX_BYTES);
  expect(isLastKept).toBe(true);
});
