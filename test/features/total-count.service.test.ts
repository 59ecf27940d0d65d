import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COUNT_LIMIT } from '../../src/database/count-limit.ts';
import { newId } from '../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createEndpoint, createKey, createProject } from '../support/resources.ts';

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice');
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

async function totalOf(caller: TestUser, projectId: string, list: string) {
  const { data, errors } = await caller.graphql<{ project: Record<string, { totalCount: number | null }> | null }>(
    `query ($id: ID!) { project(id: $id) { ${list} { totalCount } } }`,
    { id: projectId },
  );
  expect(errors).toBeUndefined();
  return data!.project && Object.values(data!.project)[0]!.totalCount;
}

test('totalCount is the number of items in the whole list, regardless of the page', async () => {
  const { id, base } = await createProject(alice);
  expect(await totalOf(alice, id, 'endpoints')).toBe(0);
  for (const path of ['/a', '/b', '/c']) await createEndpoint(alice, base, { path });
  const { key } = await createKey(alice, base);
  for (const caller of [alice, app.caller(key)]) {
    for (const args of ['first: 1', 'last: 2', 'first: 1, orderBy: PRICE']) {
      expect(await totalOf(caller, id, `endpoints(${args})`)).toBe(3);
    }
  }
  expect(await totalOf(alice, id, 'apiKeys')).toBe(1);
  const bob = await app.user('bob');
  expect(await totalOf(bob, id, 'endpoints')).toBeNull();
  const { data } = await bob.graphql('{ projects { totalCount } }');
  expect(data).toEqual({ projects: { totalCount: 0 } });
});

test('revoked API keys and wallets that have not paid do not count', async () => {
  const { id, base } = await createProject(alice);
  const [kept, revoked] = [await createKey(alice, base), await createKey(alice, base)];
  await alice.rest('DELETE', `${base}/keys/${revoked.id}`);
  expect(kept.id).not.toBe(revoked.id);
  expect(await totalOf(alice, id, 'apiKeys')).toBe(1);
  const customers = [
    [newId('Customer'), '0x01', 1, new Date()],
    [newId('Customer'), '0x02', 0, null],
  ] as const;
  for (const [customerId, wallet, count, lastPaymentAt] of customers) {
    await sql.query(
      'INSERT INTO "Customer" ("id", "projectId", "walletAddress", "paymentCount", "firstPaymentAt", "lastPaymentAt") VALUES ($1, $2, $3, $4, $5, $5)',
      [customerId, id, wallet, count, lastPaymentAt],
    );
  }
  expect(await totalOf(alice, id, 'customers')).toBe(1);
});

test('lists are counted up to a limit, and have no total above it', async () => {
  const { id } = await createProject(alice);
  const insert = (count: number) =>
    sql.query(
      `INSERT INTO "Endpoint" ("id", "projectId", "path", "upstreamUrl", "priceAtomic")
       SELECT made, $2, '/' || made, 'https://x.test/', 1 FROM unnest($1::text[]) AS made`,
      [Array.from({ length: count }, () => newId('Endpoint')), id],
    );
  await insert(COUNT_LIMIT);
  expect(await totalOf(alice, id, 'endpoints(first: 1)')).toBe(COUNT_LIMIT);
  await insert(1);
  expect(await totalOf(alice, id, 'endpoints(first: 1)')).toBeNull();
});
