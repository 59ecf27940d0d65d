import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDetails } from '../../../src/gateway/discovery/details.ts';
import type { PaidRoute } from '../../../src/gateway/routing/load-routes.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertEndpoints } from '../../support/fill.ts';
import { WALLET } from '../../support/resources.ts';
import { routeAt } from './support.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

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

async function projectWith(count: number, example: string): Promise<string[]> {
  const [userId, projectId] = [newId('User'), newId('Project')];
  await pool.query(`INSERT INTO "User" ("id", "issuer", "subject") VALUES ($1, 'https://id.example', $1)`, [userId]);
  await pool.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, 'P', $3)`, [
    ...[projectId, userId, WALLET],
  ]);
  const ids = await insertEndpoints(pool, projectId, count);
  await pool.query(`UPDATE "Endpoint" SET "exampleResponse" = $2 WHERE "projectId" = $1`, [projectId, example]);
  return ids;
}

test('4 MB of examples and schemas are kept in memory, and all others are read again', async () => {
  const example = JSON.stringify('x'.repeat(65_534));
  const ids = await projectWith(66, example);
  let queries = 0;
  const query = (...args: [never]) => {
    queries++;
    return pool.query(...args);
  };
  const details = createDetails({ query } as never);
  const read = async (id: string) => details.of({ ...routeAt('/', { detailsVersion: '1' }), endpointId: id });
  for (const id of ids) expect(JSON.stringify((await read(id)).exampleResponse)).toBe(example);
  expect(queries).toBe(66);
  // Of the 66, there was room for 64.
  for (const id of ids.slice(2)) await read(id);
  expect(queries).toBe(66);
  for (const id of ids.slice(0, 2)) await read(id);
  expect(queries).toBe(68);
});

test('the examples that are kept take at most 128 MB of memory, no matter what they contain', async () => {
  const ids = await projectWith(800, JSON.stringify(Array.from({ length: 990 }, () => ({ 33: 1 }))));
  const details = createDetails(pool);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (const id of ids) await details.of({ ...routeAt('/', { detailsVersion: '1' }), endpointId: id });
  collectGarbage();
  const keptBytes = process.memoryUsage().heapUsed - before;
  expect(keptBytes).toBeLessThan(1.1 * 128 * 1024 * 1024);
  // They are still kept.
  expect(details.of({ ...routeAt('/', { detailsVersion: '1' }), endpointId: ids.at(-1)! })).not.toBeInstanceOf(Promise);
});

test('declarations count toward the 4 MB as long as the schemas and examples that they were made from are kept', async () => {
  const ids = await projectWith(3, JSON.stringify('x'.repeat(1_000)));
  let queries = 0;
  const query = (...args: [never]) => {
    queries++;
    return pool.query(...args);
  };
  const details = createDetails({ query } as never);
  const routeOf = (id: string) => ({ ...routeAt('/', { detailsVersion: '1' }), endpointId: id });
  const [first, second, third] = ids.map(routeOf) as [PaidRoute, PaidRoute, PaidRoute];
  for (const route of [first, second])
    details.countDeclared(route, await details.of(route), 8 * (2 * 1024 * 1024 - 1_124));
  expect(queries).toBe(2);
  await details.of(third);
  await details.of(second);
  expect(queries).toBe(3);
  // There was no room for all three.
  await details.of(first);
  expect(queries).toBe(4);
  // What was made from details that are no longer kept doesn't count.
  details.countDeclared(third, { inputSchema: null, exampleResponse: null }, 1_000_000_000);
  await details.of(third);
  expect(queries).toBe(4);
});
