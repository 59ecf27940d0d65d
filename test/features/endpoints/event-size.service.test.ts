import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { createEndpoint, createProject } from '../../support/resources.ts';

let app: TestApp;
let pool: pg.Pool;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

/** The longest path, a URL whose mask is several times as long as the URL, and the description with the most bytes. */
const LONGEST = {
  path: `/${'p'.repeat(2_047)}`,
  upstreamUrl: `https://api.example.com${'/1'.repeat(1_000)}`,
  description: '漢'.repeat(1_000),
};

test('the event of an endpoint has its whole path, and the beginning of its URL and description', async () => {
  const alice = await app.user('alice');
  const { base, id } = await createProject(alice);
  const endpoint = await createEndpoint(alice, base, LONGEST);
  expect(endpoint).toMatchObject(LONGEST);
  const { rows } = await pool.query(
    'SELECT "data", octet_length("data"::text) AS bytes FROM "Event" WHERE "projectId" = $1',
    [id],
  );
  expect(rows).toHaveLength(1);
  const { path, upstreamUrl, description } = rows[0].data;
  expect(path).toBe(LONGEST.path);
  expect(upstreamUrl).toMatch(/^https:\/\/api\.example\.com(\/••••)+.{0,5}…$/);
  expect(description).toBe(`${'漢'.repeat(299)}…`);
  expect(rows[0].bytes).toBeLessThan(4_096);
});

test('a shortened text never ends with half a character', async () => {
  const alice = await app.user('alice');
  const { base, id } = await createProject(alice);
  await createEndpoint(alice, base, { description: `a${'🙂'.repeat(400)}` });
  const { rows } = await pool.query('SELECT "data"->>\'description\' AS text FROM "Event" WHERE "projectId" = $1', [
    id,
  ]);
  expect(rows[0].text).toBe(`a${'🙂'.repeat(149)}…`);
});
