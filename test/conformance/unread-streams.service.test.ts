import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'graphql-sse';
import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { firstIdAt, newId } from '../../src/ids.ts';
import { BACKLOG_LIMITS } from '../../src/limits/backlog.ts';
import { encodeCursor } from '../../src/live/cursor.ts';
import { connectSocket, type SocketClient } from '../graphql/socket-client.ts';
import { caller, type TestUser } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { metricValue, readMetrics } from '../support/metrics.ts';
import { createEndpoint, createProject } from '../support/resources.ts';
import { type ServiceNode, startServiceNode } from '../support/service-node.ts';

// One process with a small heap, an account that doesn't read its streams, and another that does.

// Each test waits several times for the same account, and an account's reads take turns.
vi.setConfig({ testTimeout: 600_000 });
const WAIT = { timeout: 150_000, interval: 100 };
const HEAP_MEGABYTES = 256;
const SOCKETS = 50;
const SUBSCRIPTIONS = 20;

let database: TestDatabase;
let dataDir: string;
let sql: pg.Pool;
let node: ServiceNode;
let mallory: TestUser;
let bob: TestUser;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-unread-'));
  database = await createTestDatabase();
  sql = new pg.Pool({ connectionString: database.url, max: 2 });
  const where = { databaseUrl: database.url, dataDir };
  node = await startServiceNode({ role: 'api', ...where, maxHeapMegabytes: HEAP_MEGABYTES });
  const issuer = await openDevIssuer({ dataDir });
  const user = async (subject: string) => caller(node.url, subject, await issuer.sign({ subject, tier: 'ENTERPRISE' }));
  mallory = await user('mallory');
  bob = await user('bob');
});

afterEach(async () => {
  await node?.end('SIGKILL');
  await sql?.end();
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Creates a project with `count` events of 3 KB each. */
async function createHistory(user: TestUser, count: number): Promise<string> {
  const { id: projectId } = await createProject(user);
  const upstreamUrl = `https://api.example.com/${'u'.repeat(2000)}`;
  const data = { endpointId: newId('Endpoint'), path: '/a', upstreamUrl, priceUsd: '1', description: 'd'.repeat(1000) };
  await sql.query(
    `INSERT INTO "Event" ("id", "projectId", "type", "data")
     SELECT id, $1, 'endpoint.created', $2 FROM unnest($3::text[]) AS id`,
    [projectId, JSON.stringify(data), Array.from({ length: count }, () => newId('Event'))],
  );
  return projectId;
}

/** A fake cursor that comes before all events. */
const CURSOR_OF_THE_BEGINNING = encodeCursor({
  position: { milliseconds: 1, id: firstIdAt('Event', 1) },
  readAtMilliseconds: 1,
  horizon: 1n,
  shown: new Map(),
});
/** A fake cursor that comes after all events, so every event that arrives counts as late. */
const cursorOfTheEnd = () => {
  const inAnHour = Date.now() + 3_600_000;
  return encodeCursor({
    position: { milliseconds: inAnHour, id: firstIdAt('Event', inAnHour) },
    readAtMilliseconds: 1,
    horizon: 1n,
    shown: new Map(),
  });
};

const QUERY = `subscription ($projectId: ID!, $after: String) {
  eventRecorded(projectId: $projectId, after: $after) { cursor event { id data } }
}`;

/** Subscribes with a client that reads. Returns the list to which it adds endpoint IDs. */
function follow(user: TestUser, projectId: string): { seen: string[]; stop: () => void } {
  const seen: string[] = [];
  const client = createClient({
    url: `${node.url}/graphql`,
    headers: { authorization: `Bearer ${user.token}` },
    retryAttempts: 0,
  });
  client.subscribe<{ eventRecorded: { event: { data: { endpointId: string } } } }>(
    { query: QUERY, variables: { projectId } },
    {
      next: ({ data }) => void seen.push(data!.eventRecorded.event.data.endpointId),
      error: () => {},
      complete: () => {},
    },
  );
  return { seen, stop: () => client.dispose() };
}

const metric = async (name: string, labels = {}) => metricValue(await readMetrics(node.url), name, labels);

/** Causes an event and expects the user's subscription to receive it. */
async function expectToFollow(user: TestUser, base: string, seen: string[]): Promise<void> {
  const { id } = await createEndpoint(user, base);
  await expect.poll(() => seen, WAIT).toContain(id);
}

/** A stream of server-sent events that exceeds the buffers of two sockets and isn't read at first. */
async function openUnreadStream(projectId: string) {
  const data = Array.from({ length: 20 }, (_, index) => `data${index}: data`).join(' ');
  const query = QUERY.replace('data', data);
  const headers = {
    accept: 'text/event-stream',
    authorization: `Bearer ${mallory.token}`,
    'content-type': 'application/json',
  };
  const sent = request(`${node.url}/graphql`, { method: 'POST', headers });
  sent.end(JSON.stringify({ query, variables: { projectId, after: CURSOR_OF_THE_BEGINNING } }));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return {
    /** Reads until the service aborts the stream. */
    async cursorsUntilEnd(): Promise<string[]> {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      await expect(once(response, 'end')).rejects.toThrow('aborted');
      return Array.from(text.matchAll(/"cursor":"([^"]+)"/g), ([, cursor]) => cursor!);
    },
  };
}

/** Opens a socket with the maximum number of subscriptions, stops reading, and keeps the socket alive with pongs. */
async function attack(projectId: string, after: string): Promise<SocketClient & { release: () => void }> {
  const client = await connectSocket(node.url, mallory.token);
  client.socket.pause();
  const payload = { query: QUERY, variables: { projectId, after } };
  for (let id = 0; id < SUBSCRIPTIONS; id++) client.send({ id: String(id), type: 'subscribe', payload });
  const pongs = setInterval(() => client.socket.readyState === client.socket.OPEN && client.socket.pong(), 500);
  return Object.assign(client, { release: () => clearInterval(pongs) });
}

test("fifty sockets that don't read are closed with 1013, and other accounts aren't affected", async () => {
  const historyId = await createHistory(mallory, 220);
  const { id: projectId, base } = await createProject(bob);
  const { seen, stop } = follow(bob, projectId);
  await expect.poll(() => metric('tollgate_live_subscriptions'), WAIT).toBe(1);

  const cursors = [CURSOR_OF_THE_BEGINNING, cursorOfTheEnd()];
  const sockets = await Promise.all(
    Array.from({ length: SOCKETS }, (_, index) => attack(historyId, cursors[index % 2]!)),
  );
  await expectToFollow(bob, base, seen);
  await expect
    .poll(async () => {
      await expectToFollow(bob, base, seen);
      expect(await metric('tollgate_live_backlog_bytes')).toBeLessThan(BACKLOG_LIMITS.accountBytes + 1_000_000);
      return metric('tollgate_live_streams_dropped_total');
    }, WAIT)
    .toBe(SOCKETS);
  expect(node.isRunning()).toBe(true);

  for (const { release, socket } of sockets) {
    release();
    socket.resume();
  }
  const codes = await Promise.all(sockets.map(({ closed }) => closed));
  expect(new Set(codes.map(({ code }) => code))).toEqual(new Set([1013]));
  await expect.poll(() => metric('tollgate_live_streams'), WAIT).toBe(1);
  await expectToFollow(bob, base, seen);
  stop();
});

test("a client that was disconnected because it didn't read continues from its cursors and sees every event", async () => {
  const projectId = await createHistory(mallory, 600);
  const { rows } = await sql.query<{ id: string }>('SELECT "id" FROM "Event" ORDER BY "id"');
  const progress = Array.from({ length: 12 }, () => ({
    after: CURSOR_OF_THE_BEGINNING,
    ids: [] as string[],
  }));

  async function subscribe(): Promise<SocketClient> {
    const client = await connectSocket(node.url, mallory.token);
    client.socket.on('message', (data) => {
      const { type, id, payload } = JSON.parse(String(data));
      if (type !== 'next') return;
      const { cursor, event } = payload.data.eventRecorded;
      progress[id]!.after = cursor;
      progress[id]!.ids.push(event.id);
    });
    for (const [id, { after }] of progress.entries()) {
      client.send({ id: String(id), type: 'subscribe', payload: { query: QUERY, variables: { projectId, after } } });
    }
    return client;
  }

  const slow = await subscribe();
  slow.socket.pause();
  const stream = await openUnreadStream(projectId);
  await expect.poll(() => metric('tollgate_live_streams_dropped_total'), WAIT).toBe(2);
  slow.socket.resume();
  expect(await slow.closed).toMatchObject({ code: 1013 });
  expect(await stream.cursorsUntilEnd()).not.toHaveLength(0);
  expect(Math.min(...progress.map(({ ids }) => ids.length))).toBeLessThan(rows.length);

  const again = await subscribe();
  await expect.poll(() => Math.min(...progress.map(({ ids }) => ids.length)), WAIT).toBe(rows.length);
  for (const { ids } of progress) expect(ids).toEqual(rows.map(({ id }) => id));
  await again.close();
});
