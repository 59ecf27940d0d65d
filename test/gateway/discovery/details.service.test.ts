import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDetails } from '../../../src/gateway/discovery/details.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertEndpoints } from '../../support/fill.ts';
import { WALLET } from '../../support/resources.ts';
import { routeAt } from './support.ts';

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

test('8 MB of examples and schemas are kept in memory, and all others are read again', async () => {
  const example = JSON.stringify('x'.repeat(65_534));
  const ids = await projectWith(130, example);
  let queries = 0;
  const query = (...args: [never]) => {
    queries++;
    return pool.query(...args);
  };
  const detailsOf = createDetails({ query } as never);
  const read = async (id: string) => detailsOf({ ...routeAt('/', { detailsVersion: '1' }), endpointId: id });
  for (const id of ids) expect(JSON.stringify((await read(id)).exampleResponse)).toBe(example);
  expect(queries).toBe(130);
  // Of the 130, there was room for 128.
  for (const id of ids.slice(2)) await read(id);
  expect(queries).toBe(130);
  for (const id of ids.slice(0, 2)) await read(id);
  expect(queries).toBe(132);
});
