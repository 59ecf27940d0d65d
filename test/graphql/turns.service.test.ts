import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createProject } from '../support/resources.ts';
import { waitingStatements } from '../support/waiting-statements.ts';

/** A search is expensive, and this one reads no audit log entries. */
const EXPENSIVE = `{ viewer { auditLog(first: 1) { nodes { id } } } search(query: "${newId('Endpoint')}") { itemId } }`;
const CHEAP = '{ viewer { auditLog(first: 1) { nodes { id } } } }';
/** Reads no audit log entries. */
const CHEAP_ELSEWHERE = '{ viewer { projects(first: 1) { nodes { id } } } }';
const LOG = `a: auditLog(first: 100) { nodes { changes previous } } b: auditLog(first: 100) { nodes { changes previous } }`;

let app: TestApp;
let sql: pg.Pool;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' }, turns: { turnMilliseconds: 600_000 } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});

/** Makes all requests wait at their first row of the table. Returns the function that lets them continue. */
async function hold(table: string): Promise<() => Promise<void>> {
  const lock = await sql.connect();
  await lock.query(`BEGIN; LOCK TABLE "${table}" IN ACCESS EXCLUSIVE MODE`);
  return async () => {
    await lock.query('COMMIT');
    lock.release();
  };
}

const usersOf = async (...names: string[]): Promise<TestUser[]> => {
  const users = await Promise.all(names.map((name) => app.user(name, 'ENTERPRISE')));
  for (const user of users) await user.graphql(CHEAP);
  return users;
};

test('at most two expensive queries run at the same time, one of each account, and cheap ones don’t wait for them', async () => {
  const [alice, bob, carol, dora, emil] = await usersOf('alice', 'bob', 'carol', 'dora', 'emil');
  const letGo = await hold('AuditEntry');
  const expensive = [alice, alice, bob, carol].map((user) => user!.graphql(EXPENSIVE));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2);
  const cheap = [dora, emil].map((user) => user!.graphql(CHEAP));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2 + cheap.length);
  const waiting = await waitingStatements(sql);
  await letGo();
  expect(waiting).toBe(2 + cheap.length);
  for (const { errors } of await Promise.all([...expensive, ...cheap])) expect(errors).toBeUndefined();
});

test('expensive mutations also take turns', async () => {
  const users = await usersOf('fred', 'gina', 'hugo', 'ivan');
  const projects = await Promise.all(users.map((user) => createProject(user)));
  const rename = (index: number, selection: string) =>
    users[index]!.graphql(
      `mutation { updateProject(input: { id: "${projects[index]!.id}", name: "New" }) { project { ${selection} } } }`,
    );
  const letGo = await hold('AuditEntry');
  const expensive = [0, 1, 2].map((index) => rename(index, LOG));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2);
  // Time for the third one to get as far.
  for (let round = 0; round < 10; round++) await users[3]!.graphql(CHEAP_ELSEWHERE);
  const waiting = await waitingStatements(sql);
  await letGo();
  expect(waiting).toBe(2);
  for (const { errors } of await Promise.all(expensive)) expect(errors).toBeUndefined();
});

test('large pages of lists in the REST API also take turns, and small pages don’t wait for them', async () => {
  const users = await usersOf('jane', 'karl', 'lena', 'mona', 'nils');
  const projects = await Promise.all(users.map((user) => createProject(user)));
  const list = (index: number, limit: number) =>
    users[index]!.rest('GET', `/api/projects/${projects[index]!.id}/endpoints?limit=${limit}`);
  const letGo = await hold('Endpoint');
  const large = [0, 0, 1, 2].map((index) => list(index, 100));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2);
  const small = [3, 4].map((index) => list(index, 1));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2 + small.length);
  // Time for the others to get as far.
  for (let round = 0; round < 10; round++) await users[4]!.graphql(CHEAP_ELSEWHERE);
  const waiting = await waitingStatements(sql);
  await letGo();
  expect(waiting).toBe(2 + small.length);
  for (const { status } of await Promise.all([...large, ...small])) expect(status).toBe(200);
});

test('statistics with many intervals take turns, even after others with few intervals', async () => {
  const users = await usersOf('olga', 'paul', 'quin', 'rosa', 'saul', 'tina');
  const projects = await Promise.all(users.map((user) => createProject(user)));
  const read = (index: number, from: string) =>
    users[index]!.rest(
      'GET',
      `/api/projects/${projects[index]!.id}/revenue?interval=HOUR&from=${from}&to=2026-02-01T00:00:00Z`,
    );
  const [long, short] = ['2026-01-01T00:00:00Z', '2026-01-31T23:00:00Z'];
  expect((await read(0, short)).status).toBe(200);
  const letGo = await hold('RevenueHour');
  const expensive = [0, 1, 2, 3].map((index) => read(index, long));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2);
  const cheap = [4, 5].map((index) => read(index, short));
  await expect.poll(() => waitingStatements(sql)).toBeGreaterThanOrEqual(2 + cheap.length);
  // Time for the others to get as far.
  for (let round = 0; round < 10; round++) await users[5]!.graphql(CHEAP_ELSEWHERE);
  const waiting = await waitingStatements(sql);
  await letGo();
  expect(waiting).toBe(2 + cheap.length);
  for (const { status } of await Promise.all([...expensive, ...cheap])) expect(status).toBe(200);
});

test('a query that is still waiting for its turn at its deadline gets an error that says so', async () => {
  const impatient = await startTestApp({
    env: { ROLES: 'api' },
    databaseUrl: app.databaseUrl,
    dataDir: app.dataDir,
    operationMilliseconds: 500,
    turns: { turnMilliseconds: 600_000 },
  });
  try {
    const [alice] = await usersOf('alice');
    const { graphql } = impatient.caller(alice!.token);
    const letGo = await hold('AuditEntry');
    const results = await Promise.all([graphql(EXPENSIVE), graphql(EXPENSIVE)]);
    await letGo();
    const codes = results.map(({ errors }) => new Set(errors?.map(({ extensions }) => extensions.code)));
    expect(codes).toEqual([new Set(['UNAVAILABLE']), new Set(['UNAVAILABLE'])]);
    await expect.poll(async () => (await graphql(EXPENSIVE)).errors).toBeUndefined();
  } finally {
    await impatient.stop();
  }
});
