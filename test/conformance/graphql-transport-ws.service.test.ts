import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { topics } from '../../src/bus/bus.ts';
import { countStreams } from '../graphql/numbers.ts';
import { connectSocket, openDeafSocket, openSocket, type SocketClient } from '../graphql/socket-client.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';

const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const WAIT = { timeout: 60_000 };
const SUBSCRIPTION = 'subscription ($id: ID!) { eventRecorded(projectId: $id) { event { type } } }';

let app: TestApp;
let alice: TestUser;
let projectId: string;
const open = new Set<SocketClient>();

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', TRUSTED_PROXIES: '127.0.0.1' } });
  alice = await app.user('alice', 'ENTERPRISE');
  projectId = await createProject(alice);
});

afterEach(async () => {
  await Promise.all([...open].map((client) => client.close()));
  open.clear();
  await expect.poll(() => countStreams(app), WAIT).toBe(0);
});

afterAll(() => app?.stop());

async function createProject(user: TestUser): Promise<string> {
  const { body } = await user.rest<{ id: string }>('POST', '/api/projects', { name: 'Shop', walletAddress: WALLET });
  return body.id;
}

let paths = 0;
async function createEndpoint(user = alice, project = projectId): Promise<void> {
  const body = { path: `/path-${++paths}`, upstreamUrl: 'https://api.example.com', priceUsd: '0.01' };
  expect((await user.rest('POST', `/api/projects/${project}/endpoints`, body)).status).toBe(201);
}

async function raw(options?: Parameters<typeof openSocket>[1]): Promise<SocketClient> {
  const client = await openSocket(app.url, options);
  open.add(client);
  return client;
}

async function connected(token = alice.token, url = app.url): Promise<SocketClient> {
  const client = await connectSocket(url, token);
  open.add(client);
  return client;
}

function subscribe(client: SocketClient, id: string, variables: Record<string, unknown> = { id: projectId }): void {
  client.send({ id, type: 'subscribe', payload: { query: SUBSCRIPTION, variables } });
}

/**
 * Triggers events until each of these subscriptions has received one. The protocol doesn't acknowledge subscriptions,
 * so the first events can come too early.
 */
async function hears(client: SocketClient, ids: string[], project = projectId): Promise<void> {
  const heard = () => new Set(client.received.filter(({ type }) => type === 'next').map(({ id }) => id));
  await expect
    .poll(async () => {
      await createEndpoint(alice, project);
      return [...heard()].filter((id) => id !== 'settled').sort();
    }, WAIT)
    .toEqual([...ids].sort());
}

/** Returns once the server has processed all earlier messages. */
async function settled(client: SocketClient): Promise<void> {
  const query = '{ __typename }';
  client.send({ id: 'settled', type: 'subscribe', payload: { query } });
  await client.next(({ id, type }) => id === 'settled' && type === 'complete');
}

describe('opening', () => {
  test('the subprotocol graphql-transport-ws is chosen if the client offers several', async () => {
    const client = await raw({ protocols: ['something-else', 'graphql-transport-ws'] });
    expect(client.socket.protocol).toBe('graphql-transport-ws');
  });

  test.each([['graphql-ws'], ['something-else']])("the subprotocol %s isn't accepted", async (protocol) => {
    const socket = new WebSocket(`${app.url.replace('http', 'ws')}/graphql`, [protocol]);
    await expect(once(socket, 'open')).rejects.toThrow(/subprotocol/);
  });

  test('a socket without a subprotocol is closed with 4406', async () => {
    const client = await raw({ protocols: [] });
    expect(await client.closed).toMatchObject({ code: 4406 });
  });

  test('no other path accepts sockets', async () => {
    await expect(openSocket(app.url, { path: '/api/projects' })).rejects.toThrow(/401/);
    await expect(openSocket(app.url, { path: '/graphql/more' })).rejects.toThrow(/404/);
  });

  test('connection_init gets connection_ack', async () => {
    const client = await raw();
    client.send({ type: 'connection_init', payload: { Authorization: `Bearer ${alice.token}` } });
    expect(await client.next()).toEqual({ type: 'connection_ack' });
  });

  test("the credential's name is case-insensitive", async () => {
    const client = await raw();
    client.send({ type: 'connection_init', payload: { authorization: `bearer ${alice.token}` } });
    expect(await client.next()).toEqual({ type: 'connection_ack' });
  });

  test('an API key is also accepted', async () => {
    const { body } = await alice.rest<{ key: string }>('POST', `/api/projects/${projectId}/keys`, { name: 'Key' });
    const client = await connected(body.key);
    client.send({ id: '1', type: 'subscribe', payload: { query: '{ projects { nodes { id } } }' } });
    expect(await client.next()).toMatchObject({ payload: { data: { projects: { nodes: [{ id: projectId }] } } } });
  });
});

describe('protocol violations', () => {
  test.each<[string, unknown]>([
    ['no payload', undefined],
    ['no credential', {}],
    ['an invalid credential', { Authorization: 'Bearer nonsense' }],
    ['another scheme', { Authorization: 'Basic YTpi' }],
    ['a number', { Authorization: 5 }],
    ['an object', { Authorization: { Bearer: 'x' } }],
    ['null', { Authorization: null }],
    ['an unknown API key', { Authorization: `Bearer tg_test_${'a'.repeat(43)}` }],
  ])('connection_init with %s closes the socket with 4403', async (_name, payload) => {
    const client = await raw();
    client.send({ type: 'connection_init', ...(payload !== undefined && { payload }) });
    expect(await client.closed).toMatchObject({ code: 4403 });
    expect(client.received).toEqual([]);
  });

  test("the Authorization header of the upgrade request isn't used", async () => {
    const client = await raw({ headers: { authorization: `Bearer ${alice.token}` } });
    client.send({ type: 'connection_init' });
    expect(await client.closed).toMatchObject({ code: 4403 });
  });

  test('subscribing before the acknowledgment closes the socket with 4401', async () => {
    const client = await raw();
    subscribe(client, '1');
    expect(await client.closed).toMatchObject({ code: 4401 });
  });

  test("subscribing right after connection_init closes the socket with 4401, because it isn't acknowledged yet", async () => {
    const client = await raw();
    // Nobody can be identified until the lock is released.
    const lock = new pg.Client({ connectionString: app.databaseUrl });
    await lock.connect();
    await lock.query('BEGIN');
    await lock.query('LOCK TABLE "User" IN ACCESS EXCLUSIVE MODE');
    client.send({ type: 'connection_init', payload: { Authorization: `Bearer ${alice.token}` } });
    subscribe(client, '1');
    expect(await client.closed).toMatchObject({ code: 4401 });
    await lock.end();
  });

  test('a second connection_init closes the socket with 4429', async () => {
    const client = await connected();
    client.send({ type: 'connection_init', payload: { Authorization: `Bearer ${alice.token}` } });
    expect(await client.closed).toMatchObject({ code: 4429 });
  });

  test('a second operation with the ID of a running one closes the socket with 4409', async () => {
    const client = await connected();
    subscribe(client, 'same');
    subscribe(client, 'same');
    expect(await client.closed).toMatchObject({ code: 4409 });
  });

  test.each<[string, unknown]>([
    ['a message that is not JSON', 'nonsense'],
    ['an array', []],
    ['null', 'null'],
    ['a message without a type', { payload: {} }],
    ['an unknown type', { type: 'start', id: '1', payload: { query: '{ __typename }' } }],
    ['a subscribe without an id', { type: 'subscribe', payload: { query: '{ __typename }' } }],
    ['a subscribe without a payload', { type: 'subscribe', id: '1' }],
    ['a subscribe without a query', { type: 'subscribe', id: '1', payload: {} }],
    ['a query that is not a string', { type: 'subscribe', id: '1', payload: { query: 5 } }],
    ['variables that are not an object', { type: 'subscribe', id: '1', payload: { query: '{ a }', variables: 'x' } }],
    ['an empty id', { type: 'subscribe', id: '', payload: { query: '{ __typename }' } }],
    ['a complete without an id', { type: 'complete' }],
    ['a connection_init payload that is not an object', { type: 'connection_init', payload: 'x' }],
    ['a misspelled type', { type: 'connection_ack_', payload: {} }],
  ])('%s closes the socket with 4400', async (_name, message) => {
    const client = await connected();
    client.send(message);
    expect(await client.closed).toMatchObject({ code: 4400 });
  });

  test('a message of more than 256 KB closes the socket with 1009', async () => {
    const client = await connected();
    client.send({ type: 'ping', payload: { filler: 'x'.repeat(256 * 1024) } });
    expect(await client.closed).toMatchObject({ code: 1009 });
  });

  test("text that isn't UTF-8 closes the socket with 1007", async () => {
    const client = await connected();
    client.socket.send(Buffer.from([0xff, 0xfe, 0xfd]), { binary: false });
    expect(await client.closed).toMatchObject({ code: 1007 });
  });
});

describe('running', () => {
  test('a ping gets a pong, even before the acknowledgment, and a pong gets nothing', async () => {
    const client = await raw();
    client.send({ type: 'ping' });
    expect(await client.next()).toEqual({ type: 'pong' });
    client.send({ type: 'pong' });
    client.send({ type: 'ping', payload: { n: 1 } });
    expect(await client.next()).toEqual({ type: 'pong', payload: { n: 1 } });
  });

  test('a query gets a next message and then a complete message', async () => {
    const client = await connected();
    client.send({ id: 'q', type: 'subscribe', payload: { query: '{ viewer { tier } }' } });
    expect(await client.next()).toEqual({
      id: 'q',
      type: 'next',
      payload: { data: { viewer: { tier: 'ENTERPRISE' } }, extensions: { cost: expect.any(Object) } },
    });
    expect(await client.next()).toEqual({ id: 'q', type: 'complete' });
  });

  test('a mutation runs with variables and an operation name', async () => {
    const client = await connected();
    const query = `query Other { __typename }
      mutation Make($input: CreateProjectInput!) { createProject(input: $input) { project { id name } } }`;
    const variables = { input: { name: 'Over a socket', walletAddress: WALLET } };
    client.send({ id: 'm', type: 'subscribe', payload: { query, operationName: 'Make', variables } });
    expect(await client.next()).toMatchObject({
      payload: { data: { createProject: { project: { name: 'Over a socket' } } } },
    });
    expect(await client.next()).toEqual({ id: 'm', type: 'complete' });
  });

  test('an ID can be reused once its operation is complete', async () => {
    const client = await connected();
    for (let round = 0; round < 3; round++) {
      client.send({ id: 'again', type: 'subscribe', payload: { query: '{ __typename }' } });
      expect(await client.next()).toMatchObject({ type: 'next' });
      expect(await client.next()).toEqual({ id: 'again', type: 'complete' });
    }
  });

  test('operations on one socket run concurrently', async () => {
    const client = await connected();
    subscribe(client, 'stream');
    client.send({ id: 'query', type: 'subscribe', payload: { query: '{ __typename }' } });
    await client.next(({ id, type }) => id === 'query' && type === 'complete');
    await hears(client, ['query', 'stream']);
    expect(await client.next(({ id }) => id === 'stream')).toMatchObject({
      type: 'next',
      payload: { data: { eventRecorded: { event: { type: 'ENDPOINT_CREATED' } } } },
    });
  });

  test('completing a subscription ends it without a response, even if there are no events', async () => {
    // An event of an earlier test could still reach a subscription.
    const id = await createProject(alice);
    const client = await connected();
    for (let round = 0; round < 30; round++) {
      subscribe(client, `${round}`, { id });
      await settled(client);
      client.send({ id: `${round}`, type: 'complete' });
    }
    // Requests that trigger events can be faster than messages on the socket.
    await settled(client);
    // All slots are free again, because a completed subscription ends without waiting for an event.
    subscribe(client, 'last', { id });
    await hears(client, ['last'], id);
  });

  test("completing an operation that isn't running is allowed", async () => {
    const client = await connected();
    client.send({ id: 'unknown', type: 'complete' });
    client.send({ type: 'ping' });
    expect(await client.next()).toEqual({ type: 'pong' });
  });
});

describe('errors', () => {
  const codes: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['a syntax error', { query: '{' }, { code: 'GRAPHQL_INVALID' }],
    ['an unknown field', { query: '{ nothing }' }, { code: 'GRAPHQL_INVALID' }],
    ['a document without an operation', { query: 'fragment F on Query { __typename }' }, { code: 'GRAPHQL_INVALID' }],
    ['an invalid cursor', { query: SUBSCRIPTION.replace('$id)', '$id, after: "x")') }, { field: '/after' }],
    [
      'a document that is nested too deeply',
      { query: `{ ${'a { '.repeat(30)} b ${'}'.repeat(31)}` },
      { code: 'GRAPHQL_TOO_COMPLEX' },
    ],
  ];
  test.each(codes)('%s gets an error message with a code and without data', async (_name, payload, extensions) => {
    const client = await connected();
    client.send({ id: 'e', type: 'subscribe', payload: { variables: { id: projectId }, ...payload } });
    const message = await client.next(({ id }) => id === 'e');
    const errors = (message.type === 'error' ? message.payload : (message.payload as { errors: unknown }).errors) as {
      extensions: Record<string, unknown>;
    }[];
    expect(errors[0]!.extensions).toMatchObject({ requestId: expect.stringMatching(/^req_/), ...extensions });
    expect(errors[0]!.extensions).not.toHaveProperty('http');
    expect(message.payload).not.toHaveProperty('data');
  });

  test('a rejected operation frees its ID and its slot', async () => {
    const client = await connected();
    for (let round = 0; round < 30; round++) {
      client.send({ id: 'bad', type: 'subscribe', payload: { query: '{ nothing }' } });
      expect(await client.next()).toMatchObject({ id: 'bad', type: 'error' });
      const query = 'query A { __typename } query B { __typename }';
      client.send({ id: 'unnamed', type: 'subscribe', payload: { query } });
      expect(await client.next()).toMatchObject({ id: 'unnamed', type: 'error' });
    }
  });

  test("another user's project isn't found", async () => {
    const client = await connected((await app.user('mallory')).token);
    subscribe(client, 'x');
    const { payload } = await client.next();
    expect(payload).toMatchObject({ errors: [{ extensions: { code: 'NOT_FOUND' } }] });
    expect(await client.next()).toEqual({ id: 'x', type: 'complete' });
  });
});

describe('limits', () => {
  test('a socket runs at most 20 operations, even if more arrive at the same time', async () => {
    const client = await connected();
    for (let index = 0; index < 25; index++) subscribe(client, `${index}`);
    for (let index = 0; index < 5; index++) {
      expect(await client.next()).toMatchObject({
        type: 'error',
        id: `${20 + index}`,
        payload: [{ extensions: { code: 'RATE_LIMITED', retryable: true } }],
      });
    }
    client.send({ id: '0', type: 'complete' });
    await hears(
      client,
      Array.from({ length: 19 }, (_, index) => `${index + 1}`),
    );
  });

  test('an account can have 50 streams, and closing one frees its slot', async () => {
    const clients = await Promise.all(Array.from({ length: 50 }, () => connected()));
    const refused = await raw();
    refused.send({ type: 'connection_init', payload: { Authorization: `Bearer ${alice.token}` } });
    expect(await refused.closed).toMatchObject({ code: 1013 });
    await connected((await app.user('somebody-else')).token);

    await clients[0]!.close();
    await expect.poll(() => countStreams(app), WAIT).toBe(50);
    await connected();
  });

  test("sockets that close while their credentials are checked don't keep a slot", async () => {
    for (let round = 0; round < 20; round++) {
      const client = await openSocket(app.url);
      client.send({ type: 'connection_init', payload: { Authorization: `Bearer ${alice.token}` } });
      client.socket.terminate();
      await client.closed;
    }
    await expect.poll(() => countStreams(app), WAIT).toBe(0);
  });

  test('a broken connection frees its slot and ends its subscriptions', async () => {
    const client = await connected();
    subscribe(client, '1');
    await settled(client);
    client.socket.terminate();
    await expect.poll(() => countStreams(app), WAIT).toBe(0);
  });

  test('clients connect, even with a slow token, while silent sockets from eleven addresses flood the server', async () => {
    const authenticate = async (client: SocketClient) => {
      client.send({ type: 'connection_init', payload: { Authorization: `Bearer ${alice.token}` } });
      expect(await client.next()).toEqual({ type: 'connection_ack' });
    };
    const flood: Awaited<ReturnType<typeof openDeafSocket>>[] = [];
    onTestFinished(() => flood.forEach(({ socket }) => void socket.destroy()));
    let ended = 0;
    const open = async (count: number, address: string) => {
      const opened = await Promise.all(Array.from({ length: count }, () => openDeafSocket(app.url, address)));
      for (const socket of opened) void socket.ended.then(() => ended++);
      flood.push(...opened);
    };
    const slow = await raw({ headers: { 'x-forwarded-for': '198.51.100.1' } });

    await open(110, '203.0.113.1');
    await expect.poll(() => ended, WAIT).toBe(10);
    await authenticate(await raw({ headers: { 'x-forwarded-for': '203.0.113.1' } }));
    for (let index = 0; index < 10; index++) await open(100, `192.0.${index}.1`);
    await expect.poll(() => ended, WAIT).toBeGreaterThan(100);
    await authenticate(slow);
    expect(new Set(flood.map(({ status }) => status))).toEqual(new Set(['HTTP/1.1 101 Switching Protocols']));
  });

  test("a request that isn't a WebSocket handshake is rejected", async () => {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.write('GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const [response] = await once(socket, 'data');
    expect(String(response)).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  });
});

describe('expired or revoked credentials', () => {
  /** Connects with a credential that expires soon. A slow machine gets more time, so that it can connect at all. */
  async function connectedBriefly(create: (seconds: number) => Promise<string>): Promise<SocketClient> {
    for (const seconds of [2, 8]) {
      const client = await connected(await create(seconds)).catch(() => undefined);
      if (client) return client;
    }
    return connected(await create(30));
  }

  test('a socket is closed with 4403 when its token expires', async () => {
    const client = await connectedBriefly((expiresInSeconds) =>
      app.issuer.sign({ subject: 'alice', tier: 'ENTERPRISE', expiresInSeconds }),
    );
    subscribe(client, '1');
    expect(await client.closed).toMatchObject({ code: 4403 });
  });

  test("an API key's sockets are closed with 4403 when it expires", async () => {
    const client = await connectedBriefly(async (seconds) => {
      const body = { name: 'Short-lived', expiresAt: new Date(Date.now() + seconds * 1_000).toISOString() };
      return (await alice.rest<{ key: string }>('POST', `/api/projects/${projectId}/keys`, body)).body.key;
    });
    subscribe(client, '1');
    expect(await client.closed).toMatchObject({ code: 4403 });
  });

  test("an API key's sockets are closed with 4403 when its project is deleted, in all processes", async () => {
    const id = await createProject(alice);
    const base = `/api/projects/${id}`;
    const hints: string[] = [];
    const bus = new pg.Client({ connectionString: app.databaseUrl });
    bus.on('notification', ({ payload }) => void hints.push(payload ?? ''));
    await bus.connect();
    onTestFinished(() => bus.end());
    await bus.query('LISTEN tollgate');
    const { body } = await alice.rest<{ id: string; key: string }>('POST', `${base}/keys`, { name: 'Short-lived' });
    const client = await connected(body.key);
    subscribe(client, '1', { id });
    expect((await alice.rest('DELETE', base)).status).toBe(204);
    expect(await client.closed).toMatchObject({ code: 4403 });
    await expect.poll(() => hints.join('\n')).toContain(topics.apiKeyRevoked(body.id));
  });

  test("an API key's sockets are closed with 4403 in every process when the key is revoked", async () => {
    const other = await startTestApp({
      databaseUrl: app.databaseUrl,
      dataDir: app.dataDir,
      env: { ROLES: 'api' },
    });
    try {
      const keys = `/api/projects/${projectId}/keys`;
      const { body } = await alice.rest<{ id: string; key: string }>('POST', keys, { name: 'Short-lived' });
      const here = await connected(body.key);
      const there = await connected(body.key, other.url);
      const unaffected = await connected();
      subscribe(here, '1');
      subscribe(there, '1');
      expect((await alice.rest('DELETE', `${keys}/${body.id}`)).status).toBe(204);
      expect(await here.closed).toMatchObject({ code: 4403 });
      expect(await there.closed).toMatchObject({ code: 4403 });
      expect(unaffected.socket.readyState).toBe(WebSocket.OPEN);
    } finally {
      await other.stop();
    }
  });
});
