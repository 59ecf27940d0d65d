import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepPartitions } from '../../../src/database/partitions.ts';
import { firstIdAt } from '../../../src/ids.ts';
import { connectSocket } from '../../graphql/socket-client.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import { metricValue, readMetrics } from '../../support/metrics.ts';
import { operatorsEnv, userIdOf } from '../../support/operator.ts';
import { createKey, createProject } from '../../support/resources.ts';
import { waitingStatements } from '../../support/waiting-statements.ts';
import { download, insertEvents, linesOf, openDownload, readRest } from './download.ts';

/** 9 MB of events. Connections can buffer at most 6 MB of them. */
const COUNT = 3_000;
const DAY = 24 * 60 * 60_000;
const WAIT = { interval: 20 };

let app: TestApp;
let sql: pg.Pool;
let alice: TestUser;
let base: string;
let projectId: string;

async function start(options: Parameters<typeof startTestApp>[0] = {}): Promise<void> {
  app = await startTestApp({ env: { ROLES: 'api' }, ...options });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
  // One test closes all connections.
  sql.on('error', () => {});
  alice = await app.user('alice', 'ENTERPRISE');
  ({ base, id: projectId } = await createProject(alice));
}
beforeEach(() => start());
afterEach(async () => {
  await sql?.end();
  await app?.stop();
});

const idsOf = (rows: Record<string, unknown>[]) => rows.map(({ id }) => id);
const EXPORT = '/events/export?format=jsonl';
const waitingBytes = async () => metricValue(await readMetrics(app.url), 'tollgate_live_backlog_bytes');

/** Waits until the service can't send any more data, because nobody reads it. */
async function waitUntilStuck(): Promise<void> {
  let before = 0;
  let times = 0;
  const isStuck = async () => {
    const bytes = await waitingBytes();
    times = bytes > 0 && bytes === before ? times + 1 : 0;
    before = bytes;
    return times > 5;
  };
  await expect.poll(isStuck, WAIT).toBe(true);
}

/** Opens an export that stops in the middle because nobody reads it. */
async function openHalf() {
  const response = await openDownload(app, alice, base + EXPORT);
  expect(response.statusCode).toBe(200);
  response.pause();
  await waitUntilStuck();
  return response;
}

test('rows that are added or deleted during an export don’t affect the other rows in it', async () => {
  const ids = await insertEvents(sql, { projectId, count: COUNT });
  const response = await openHalf();
  const added = await insertEvents(sql, { projectId, count: 10, at: Date.now() + 1_000 });
  const deleted = ids.slice(-500, -400);
  await sql.query('DELETE FROM "Event" WHERE id = ANY ($1)', [deleted]);
  const found = idsOf(await readRest(response));
  expect(found).toEqual(ids.filter((id) => !deleted.includes(id)));
  expect(found).not.toContain(added[0]);
});

test('rows are missing if their partition is dropped during an export, and the other rows are complete', async () => {
  const old = await insertEvents(sql, { projectId, count: COUNT });
  const recent = await insertEvents(sql, { projectId, count: 500, at: Date.now() + 17 * DAY });
  const log = pino({ level: 'silent' });
  const response = await openHalf();
  // Drops expired partitions as if everything up to ten days from now had expired.
  const { dropped } = await keepPartitions({ pool: sql, log, retentionDays: -10 });
  expect(dropped.length).toBeGreaterThan(0);
  const found = idsOf(await readRest(response));
  expect(found.slice(-500)).toEqual(recent);
  const shown = found.slice(0, -500);
  expect(shown.length).toBeLessThan(COUNT);
  expect(shown).toEqual(old.slice(0, shown.length));
});

test('an export holds no transaction and no connection to the database while its client doesn’t read', async () => {
  await insertEvents(sql, { projectId, count: COUNT });
  const response = await openHalf();
  const busy = async () => {
    const { rows } = await sql.query(
      `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND (state <> 'idle' OR xact_start IS NOT NULL)
          AND query NOT LIKE 'LISTEN%'`,
    );
    return rows[0].count as number;
  };
  await expect.poll(busy, WAIT).toBe(0);
  response.destroy();
});

test('an export stops when its client leaves', async () => {
  await insertEvents(sql, { projectId, count: COUNT });
  const response = await openHalf();
  response.destroy();
  await expect.poll(waitingBytes, WAIT).toBe(0);
  // The account can run the maximum number of exports again.
  for (let count = 0; count < 5; count++) expect((await download(app, alice, base + EXPORT)).status).toBe(200);
});

/** Reads everything that a server sends on a connection, and how the connection ends. */
async function readRaw(httpVersion: string, until: (text: string) => Promise<unknown>) {
  const { hostname, port } = new URL(app.url);
  const socket = connect(Number(port), hostname);
  let text = '';
  const problem = new Promise<string | undefined>((resolve) => {
    socket.on('error', (error) => resolve((error as NodeJS.ErrnoException).code));
    socket.on('close', () => resolve(undefined));
  });
  socket.write(
    `GET ${base}${EXPORT} HTTP/${httpVersion}\r\nHost: ${hostname}\r\nAuthorization: Bearer ${alice.token}\r\n\r\n`,
  );
  await once(socket, 'data').then(([data]) => (text += data));
  socket.pause();
  await until(text);
  socket.on('data', (data) => (text += data));
  socket.resume();
  return { text, problem: await problem };
}

test.each(['1.1', '1.0'])('a client with HTTP/%s notices an export that fails in the middle', async (version) => {
  await insertEvents(sql, { projectId, count: COUNT });
  const { text, problem } = await readRaw(version, async () => {
    await waitUntilStuck();
    await sql.query('DELETE FROM "Project" WHERE id = $1', [projectId]);
  });
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text).toContain('application/jsonl');
  expect(problem).toBe('ECONNRESET');
  // The last chunk would say that the response is complete.
  expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
});

test('a download that is cut off causes an error in common clients', async () => {
  await insertEvents(sql, { projectId, count: COUNT });
  const response = await fetch(app.url + base + EXPORT, { headers: { authorization: `Bearer ${alice.token}` } });
  await waitUntilStuck();
  await sql.query('DELETE FROM "Project" WHERE id = $1', [projectId]);
  await expect(response.text()).rejects.toThrow(/terminated/);
});

test('an export ends when its API key is revoked, or the service stops', async () => {
  await insertEvents(sql, { projectId, count: COUNT });
  const { key, id } = await createKey(alice, base);
  const withKey = await openDownload(app, { token: key }, base + EXPORT);
  withKey.pause();
  const failed = once(withKey, 'error');
  await waitUntilStuck();
  expect((await alice.rest('DELETE', `${base}/keys/${id}`)).status).toBe(204);
  withKey.resume();
  expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });

  const other = await openHalf();
  const cut = once(other, 'error');
  const stopped = app.stop();
  other.resume();
  expect((await cut)[0]).toMatchObject({ code: 'ECONNRESET' });
  await stopped;
  await sql.end();
  await start();
});

test('a member’s export ends when they are removed, and when the owner is blocked', async () => {
  await sql.end();
  await app.stop();
  await start({ env: { ROLES: 'api', ...operatorsEnv('olga') } });
  await insertEvents(sql, { projectId, count: COUNT });
  const [bob, carol, olga] = [await person(app, 'bob'), await person(app, 'carol'), await app.user('olga')];
  const member = await join(alice, base, bob, 'VIEWER');
  await join(alice, base, carol, 'VIEWER');
  const open = async (user: TestUser) => {
    const response = await openDownload(app, user, base + EXPORT);
    response.pause();
    const failed = once(response, 'error');
    await waitUntilStuck();
    return { response, failed };
  };
  const [bobs, carols] = [await open(bob), await open(carol)];
  expect((await alice.rest('DELETE', `${base}/members/${member.id}`)).status).toBe(204);
  bobs.response.resume();
  expect((await bobs.failed)[0]).toMatchObject({ code: 'ECONNRESET' });
  const blocked = await olga.rest('POST', `/api/operator/users/${await userIdOf(alice)}/block`, { reason: 'No.' });
  expect(blocked.status).toBe(200);
  carols.response.resume();
  expect((await carols.failed)[0]).toMatchObject({ code: 'ECONNRESET' });
});

test('a member who is removed gets no more rows, even if their export hasn’t been ended yet', async () => {
  await sql.end();
  await app.stop();
  // Without a hint, and before the next check of the credential.
  await start({ credentialRecheckMilliseconds: 60 * 60_000 });
  await insertEvents(sql, { projectId, count: COUNT });
  const bob = await person(app, 'bob');
  await join(alice, base, bob, 'VIEWER');
  const response = await openDownload(app, bob, base + EXPORT);
  response.pause();
  const failed = once(response, 'error');
  await waitUntilStuck();
  await sql.query('DELETE FROM "ProjectMember" WHERE "projectId" = $1', [projectId]);
  response.resume();
  const ended = once(response, 'end').then(() => ['complete']);
  expect((await Promise.race([failed, ended]))[0]).toMatchObject({ code: 'ECONNRESET' });
});

test('an export continues when the person’s role in another project changes', async () => {
  const bob = await person(app, 'bob');
  const owner = await person(app, 'alice', 'ENTERPRISE');
  const ids = await insertEvents(sql, { projectId, count: COUNT });
  const other = await createProject(bob);
  const member = await join(bob, other.base, owner, 'VIEWER');
  const response = await openDownload(app, owner, base + EXPORT);
  response.pause();
  await waitUntilStuck();
  const client = await connectSocket(app.url, owner.token);
  await bob.rest('PATCH', `${other.base}/members/${member.id}`, { role: 'ADMIN' });
  // By then, the credential has been checked again.
  expect((await client.closed).code).toBe(1012);
  expect(idsOf(await readRest(response)).slice(-COUNT)).toEqual(ids);
});

test('a client that doesn’t read is dropped after a while', async () => {
  await sql.end();
  await app.stop();
  await start({ exports: { stallMilliseconds: 300 } });
  await insertEvents(sql, { projectId, count: COUNT });
  const response = await openDownload(app, alice, base + EXPORT);
  response.pause();
  const failed = once(response, 'error');
  const dropped = async () =>
    metricValue(await readMetrics(app.url), 'tollgate_live_streams_dropped_total', { reason: 'stalled' });
  await expect.poll(dropped, WAIT).toBe(1);
  response.resume();
  expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });
});

test('an account can’t run more concurrent exports than allowed, and running exports continue', async () => {
  await insertEvents(sql, { projectId, count: COUNT });
  const open = [await openHalf(), await openHalf(), await openHalf()];
  const refused = await download(app, alice, base + EXPORT);
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('10');
  expect(JSON.parse(refused.text)).toMatchObject({
    code: 'RATE_LIMITED',
    detail: expect.stringContaining('3 exports'),
  });
  const bob = await app.user('bob', 'ENTERPRISE');
  const { base: other } = await createProject(bob);
  expect((await download(app, bob, other + EXPORT)).status).toBe(200);
  for (const response of open) expect((await readRest(response)).length).toBe(COUNT);
  expect((await download(app, alice, base + EXPORT)).status).toBe(200);
});

test('slow exports of a few accounts leave half of the slots to accounts that have none', async () => {
  await sql.end();
  await app.stop();
  await start({ exports: { limits: { perAccount: 3, perProcess: 4 } } });
  await insertEvents(sql, { projectId, count: COUNT });
  const open = [await openHalf(), await openHalf()];
  const refused = await download(app, alice, base + EXPORT);
  expect([refused.status, JSON.parse(refused.text).code]).toEqual([503, 'UNAVAILABLE']);
  const bob = await app.user('bob', 'ENTERPRISE');
  const { base: other } = await createProject(bob);
  expect((await download(app, bob, other + EXPORT)).status).toBe(200);
  for (const response of open) response.destroy();
});

test('at most two pages are read at the same time, no matter how many accounts export', async () => {
  await sql.end();
  await app.stop();
  await start({ exports: { turns: { turnMilliseconds: 600_000 } } });
  const people = [alice, await app.user('bob', 'ENTERPRISE'), await app.user('carol', 'ENTERPRISE')];
  const others = [await app.user('dora', 'ENTERPRISE'), await app.user('emil', 'ENTERPRISE')];
  const projects = new Map<TestUser, string>();
  for (const user of [...people, ...others]) projects.set(user, (await createProject(user)).base);

  const lock = await sql.connect();
  await lock.query('BEGIN; LOCK TABLE "Event" IN ACCESS EXCLUSIVE MODE');
  const exports = people.map((user) => download(app, user, projects.get(user) + EXPORT));
  await expect.poll(() => waitingStatements(sql), WAIT).toBeGreaterThanOrEqual(2);
  // These are not exports, so they don't wait for them. They are sent after them.
  const lists = others.map((user) => user.rest('GET', `${projects.get(user)}/events`));
  await expect.poll(() => waitingStatements(sql), WAIT).toBeGreaterThanOrEqual(2 + lists.length);
  const waiting = await waitingStatements(sql);
  await lock.query('COMMIT');
  lock.release();
  expect(waiting).toBe(2 + lists.length);
  for (const { status } of [...(await Promise.all(exports)), ...(await Promise.all(lists))]) expect(status).toBe(200);
});

test('an export continues after the database was unavailable for a moment', async () => {
  const ids = await insertEvents(sql, { projectId, count: COUNT });
  const response = await openHalf();
  await sql.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND query NOT LIKE 'LISTEN%'`,
  );
  expect(idsOf(await readRest(response))).toEqual(ids);
});

test('a page of hundreds of kilobytes is exported completely', async () => {
  await sql.query(
    `INSERT INTO "Event" ("id", "projectId", "type", "data")
     SELECT $2 || lpad(step::text, 16, '0'), $1, 'endpoint.created', json_build_object('description', repeat('ü', 30000))
     FROM generate_series(1, 30) AS step`,
    [projectId, firstIdAt('Event', Date.now() - 1_000).slice(0, 14)],
  );
  const lines = linesOf(await download(app, alice, base + EXPORT));
  expect(lines.map(({ data }) => (data as { description: string }).description.length)).toEqual(Array(30).fill(30000));
});
