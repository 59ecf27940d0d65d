import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createClient } from 'graphql-ws';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import type { Viewer } from '../../src/auth/viewer.ts';
import { AppError } from '../../src/errors.ts';
import { createConsoleReads } from '../../src/graphql/console-reads.ts';
import { createSendBuffer } from '../../src/graphql/send-buffer.ts';
import { createStreams } from '../../src/graphql/streams.ts';
import { serveWebSocket } from '../../src/graphql/websocket.ts';
import { createGraphQLServer } from '../../src/graphql/yoga.ts';
import type { Authentication } from '../../src/http/authentication.ts';
import { newId } from '../../src/ids.ts';
import { createBacklogs, type DropReason } from '../../src/limits/backlog.ts';
import type { GraphQLContext } from '../../src/schema/context.ts';
import { connectSocket, openDeafSocket, openSocket } from './socket-client.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const SUBSCRIPTION = `subscription { eventRecorded(projectId: "${newId('Project')}") { cursor } }`;
const viewer: Viewer = {
  kind: 'user',
  userId: newId('User'),
  tier: 'ENTERPRISE',
  requestsPerMinute: null,
  expiresAt: new Date(Date.now() + 3_600_000),
};

const PING_MILLISECONDS = 20_000;

type Item = { cursor: string };
type Feed = () => AsyncIterableIterator<Item> | Promise<AsyncIterableIterator<Item>>;
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Serves the real protocol and schema with the test's feed. */
async function serve(
  feed: Feed,
  options: { authentication?: Partial<Authentication>; initMilliseconds?: number } = {},
) {
  const logged: { msg: string; err?: { message: string } }[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(JSON.parse(line)) });
  const authentication: Authentication = {
    identify: async () => viewer,
    count: async () => ({}),
    countMore: async () => ({}),
    countConsoleRead: async () => ({}),
    watch: () => () => {},
    ...options.authentication,
  };
  const dropped: DropReason[] = [];
  const streams = createStreams(authentication, createBacklogs({ onDrop: (reason) => dropped.push(reason) }));
  const httpServer: Server = createServer().listen(0, '127.0.0.1');
  await once(httpServer, 'listening');
  const sockets = serveWebSocket(httpServer, {
    server: createGraphQLServer({ log, ownDocuments: new Set(), publicUrl: undefined, poolSize: 20 }),
    authentication,
    streams,
    consoleReads: createConsoleReads([]),
    log,
    addressOf: () => '127.0.0.1',
    contextOf: (who, requestId) =>
      ({ viewer: who, requestId, services: { feed: { events: feed } } }) as unknown as GraphQLContext,
    pingMilliseconds: PING_MILLISECONDS,
    ...(options.initMilliseconds !== undefined && { initMilliseconds: options.initMilliseconds }),
  });
  closers.push(async () => {
    await sockets.close();
    httpServer.close();
  });
  const url = `http://127.0.0.1:${(httpServer.address() as AddressInfo).port}`;
  return { url, httpServer, streams, sockets, logged, dropped };
}

/** A feed without items that records when it was ended. */
function silentFeed() {
  const ended = Promise.withResolvers<void>();
  const feed = {
    next: () => ended.promise.then(() => ({ done: true as const, value: undefined })),
    async return() {
      ended.resolve();
      return { done: true as const, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return feed;
    },
  };
  return { feed, ended: ended.promise };
}

test('completing a subscription ends its feed', async () => {
  const { feed, ended } = silentFeed();
  const { url } = await serve(() => feed);
  const client = await connectSocket(url, 'token');
  client.send({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION } });
  client.send({ type: 'ping' });
  await client.next(({ type }) => type === 'pong');
  client.send({ id: '1', type: 'complete' });
  await ended;
  await client.close();
});

test('a broken connection ends the feeds of its subscriptions', async () => {
  const { feed, ended } = silentFeed();
  const { url, streams } = await serve(() => feed);
  const client = await connectSocket(url, 'token');
  client.send({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION } });
  client.send({ type: 'ping' });
  await client.next(({ type }) => type === 'pong');
  expect(streams.count()).toBe(1);
  client.socket.terminate();
  await ended;
  await expect.poll(() => streams.count()).toBe(0);
});

test('reusing the ID of an operation that is still starting cannot exceed the limit of 20 operations', async () => {
  let identified = 0;
  const isConnecting = () => identified++ === 0;
  const busy = Promise.withResolvers<Viewer>();
  const identify = async () => (isConnecting() ? viewer : busy.promise);
  const { url } = await serve(() => silentFeed().feed, { authentication: { identify } });
  const client = await connectSocket(url, 'token');
  for (let index = 0; index < 50; index++) {
    client.send({ id: 'same', type: 'subscribe', payload: { query: SUBSCRIPTION } });
    client.send({ id: 'same', type: 'complete' });
  }
  client.send({ type: 'ping' });
  await client.next(({ type }) => type === 'pong');
  expect(identified).toBe(1 + 20);
  busy.resolve(viewer);
  await client.close();
});

test('a client that keeps exceeding the limit of 20 operations is disconnected', async () => {
  let identified = 0;
  const identify = async () => {
    identified += 1;
    return viewer;
  };
  const { url } = await serve(() => silentFeed().feed, { authentication: { identify } });
  const client = await connectSocket(url, 'token');
  for (let index = 0; index < 1_000; index++) {
    client.send({ id: `${index}`, type: 'subscribe', payload: { query: SUBSCRIPTION } });
  }
  client.send({ type: 'ping' });
  const end = await Promise.race([client.closed, client.next(({ type }) => type === 'pong')]);
  expect(end).toEqual({ code: 1013, reason: 'Too many operations; connect again' });
  expect(identified).toBe(1 + 20);
});

test('a broken connection ends the feeds of all subscriptions that had the same ID', async () => {
  const feeds = Array.from({ length: 3 }, silentFeed);
  const opened = [...feeds];
  const { url } = await serve(() => opened.shift()!.feed);
  const client = await connectSocket(url, 'token');
  for (const index of feeds.keys()) {
    if (index > 0) client.send({ id: 'same', type: 'complete' });
    client.send({ id: 'same', type: 'subscribe', payload: { query: SUBSCRIPTION } });
  }
  await expect.poll(() => opened.length).toBe(0);
  client.send({ type: 'ping' });
  await client.next(({ type }) => type === 'pong');
  client.socket.terminate();
  await Promise.all(feeds.map(({ ended }) => ended));
});

test.each([
  ['completed', '{ __typename }', undefined],
  ['invalid', '{ nonsense }', undefined],
  ['unknown', 'query Known { __typename }', 'Unknown'],
])('operations that have ended do not count toward the limit of 20: %s', async (_what, query, operationName) => {
  const { url } = await serve(() => silentFeed().feed);
  const client = await connectSocket(url, 'token');
  for (let index = 0; index < 25; index++) {
    client.send({ id: `${index}`, type: 'subscribe', payload: { query, operationName } });
    await client.next(({ id, type }) => id === `${index}` && (type === 'complete' || type === 'error'));
  }
  expect(JSON.stringify(client.received)).not.toContain('RATE_LIMITED');
  client.send({ id: 'last', type: 'subscribe', payload: { query: '{ __typename }' } });
  expect(await client.next(({ id }) => id === 'last')).toMatchObject({ payload: { data: { __typename: 'Query' } } });
  await client.close();
});

test('an ID that is used twice closes the socket, no matter how long it is', async () => {
  const { url, logged } = await serve(() => silentFeed().feed);
  const client = await connectSocket(url, 'token');
  const message = { id: 'é'.repeat(1_000), type: 'subscribe', payload: { query: SUBSCRIPTION } };
  client.send(message);
  client.send(message);
  expect(await client.closed).toMatchObject({ code: 4409, reason: expect.stringMatching(/^Subscriber for é+$/) });
  expect(logged).toEqual([]);
});

test('a feed that ends on its own completes the subscription', async () => {
  const { url } = await serve(async function* () {
    yield { cursor: 'a' };
    yield { cursor: 'b' };
  });
  const client = await connectSocket(url, 'token');
  client.send({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION } });
  expect(await client.next()).toMatchObject({ payload: { data: { eventRecorded: { cursor: 'a' } } } });
  expect(await client.next()).toMatchObject({ payload: { data: { eventRecorded: { cursor: 'b' } } } });
  expect(await client.next()).toEqual({ id: '1', type: 'complete' });
  await client.close();
});

test('a failing feed ends the subscription with a masked error, and the socket stays open', async () => {
  const { url } = await serve(async function* () {
    yield { cursor: 'a' };
    throw new Error('password of the database is 1234');
  });
  const client = await connectSocket(url, 'token');
  client.send({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION } });
  await client.next(({ type }) => type === 'next');
  const { payload } = await client.next();
  expect(payload).toMatchObject([{ extensions: { code: 'INTERNAL', requestId: expect.stringMatching(/^req_/) } }]);
  expect(JSON.stringify(payload)).not.toContain('1234');
  client.send({ type: 'ping' });
  expect(await client.next(({ type }) => type === 'pong')).toBeTruthy();
  await client.close();
});

test('a feed that cannot be opened returns a masked error and is logged', async () => {
  const { url, logged } = await serve(async () => {
    throw new Error('password of the database is 1234');
  });
  const client = await connectSocket(url, 'token');
  client.send({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION } });
  const { payload } = await client.next();
  expect(payload).toMatchObject({ errors: [{ extensions: { code: 'INTERNAL', retryable: true } }] });
  expect(JSON.stringify(payload)).not.toContain('1234');
  expect(logged).toMatchObject([{ err: { message: 'password of the database is 1234' } }]);
  await client.close();
});

/** A feed that never ends and counts the bytes that it produces. */
function endlessFeed(filler: string) {
  const made = { bytes: 0 };
  async function* feed() {
    for (;;) {
      made.bytes += filler.length;
      yield { cursor: filler };
    }
  }
  return { feed, made };
}

async function subscribeWithoutReading(url: string, count: number) {
  const client = await connectSocket(url, 'token');
  client.socket.pause();
  for (let index = 0; index < count; index++) {
    client.send({ id: `${index}`, type: 'subscribe', payload: { query: SUBSCRIPTION } });
  }
  return client;
}

describe('with pings that the test decides on', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  test('a client that does not read pauses the feed and is disconnected, even if it keeps sending pongs', async () => {
    const { feed, made } = endlessFeed('x'.repeat(10_000));
    const { url, streams, dropped } = await serve(feed);
    const client = await subscribeWithoutReading(url, 20);
    let before = -1;
    const isPaused = () => {
      const isSame = made.bytes === before;
      before = made.bytes;
      return isSame && before > 0;
    };
    await expect.poll(isPaused, { interval: 500 }).toBe(true);
    // Only what fits into the buffers of two sockets is produced.
    expect(made.bytes).toBeLessThan(50_000_000);
    const drops = () => {
      vi.advanceTimersByTime(PING_MILLISECONDS);
      client.socket.pong();
      return dropped;
    };
    await expect.poll(drops, { interval: 200 }).toEqual(['stalled']);
    const madeInAll = made.bytes;
    client.socket.resume();
    expect(await client.closed).toEqual({
      code: 1013,
      reason: "You're reading too slowly; resume from your last cursor",
    });
    expect(made.bytes).toBe(madeInAll);
    await expect.poll(() => streams.count()).toBe(0);
    expect(streams.backlogs.bytes()).toBe(0);
  });

  test('a client that responds to pings stays connected', async () => {
    const { url, dropped } = await serve(() => silentFeed().feed);
    const client = await connectSocket(url, 'token');
    for (let pings = 0; pings < 3; pings++) {
      const pinged = once(client.socket, 'ping');
      vi.advanceTimersByTime(PING_MILLISECONDS);
      await pinged;
      // The server reads this after the answer to its ping.
      client.send({ type: 'ping' });
      await client.next(({ type }) => type === 'pong');
    }
    expect(dropped).toEqual([]);
    await client.close();
  });
});

describe('with time that the test decides on', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test('graphql-ws connects even if it takes almost 30 seconds to get a token', async () => {
    const { url, streams } = await serve(() => silentFeed().feed);
    const asked = Promise.withResolvers<void>();
    const parameters = Promise.withResolvers<Record<string, unknown>>();
    const connected = Promise.withResolvers<void>();
    const client = createClient({
      url: `${url.replace('http', 'ws')}/graphql`,
      lazy: false,
      retryAttempts: 0,
      connectionParams() {
        asked.resolve();
        return parameters.promise;
      },
      on: { connected: () => connected.resolve(), closed: (event) => connected.reject(event) },
    });
    await asked.promise;
    vi.advanceTimersByTime(29_999);
    parameters.resolve({ Authorization: 'Bearer token' });
    await connected.promise;
    expect(streams.count()).toBe(1);
    await client.dispose();
  });

  test('a socket without connection_init is closed with 4408 after 30 seconds', async () => {
    const { url } = await serve(() => silentFeed().feed);
    const client = await openSocket(url);
    vi.advanceTimersByTime(29_999);
    client.send({ type: 'ping' });
    await client.next(({ type }) => type === 'pong');
    vi.advanceTimersByTime(1);
    expect(await client.closed).toMatchObject({ code: 4408 });
  });

  test('a connected socket stays open after that', async () => {
    const { url } = await serve(() => silentFeed().feed);
    const client = await connectSocket(url, 'token');
    vi.advanceTimersByTime(60_000);
    client.send({ type: 'ping' });
    await client.next(({ type }) => type === 'pong');
    await client.close();
  });
});

test('messages count toward the backlog until their operations end', async () => {
  const { url, dropped } = await serve(() => silentFeed().feed);
  const client = await connectSocket(url, 'token');
  const variables = { filler: 'x'.repeat(200_000) };
  for (let index = 0; index < 20; index++) {
    client.send({ id: `${index}`, type: 'subscribe', payload: { query: SUBSCRIPTION, variables } });
  }
  expect(await client.closed).toMatchObject({ code: 1013 });
  expect(dropped).toEqual(['stream']);
});

test.each([
  ['a message that only servers send', '{"type":"next","id":"1","payload":{}}'],
  ['a ping that is nested too deeply', `{"type":"ping","payload":{"deep":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`],
])('%s closes the socket with 4400, and isn’t logged as an error', async (_what, message) => {
  const { url, logged } = await serve(() => silentFeed().feed);
  const client = await openSocket(url);
  client.send(message);
  expect(await client.closed).toEqual({ code: 4400, reason: 'Invalid message received' });
  expect(logged).toEqual([]);
});

test('small messages also count for the memory that they take besides their text', () => {
  const dropped: DropReason[] = [];
  const backlog = createBacklogs({ onDrop: (reason) => dropped.push(reason) }).open('a', {
    drop: () => 0,
    cut: () => {},
  });
  const unread = { bufferedAmount: 65_536, readyState: 1, OPEN: 1 } as WebSocket;
  const buffer = createSendBuffer(unread, backlog);
  for (let count = 0; count < 3_000; count++) void buffer.send('{"type":"pong"}').catch(() => {});
  expect(dropped).toEqual(['stream']);
  buffer.discard();
});

test('a message can’t arrive in hundreds of frames, which would keep everything else that was read with them', async () => {
  const { url } = await serve(() => silentFeed().feed);
  const client = await connectSocket(url, 'token');
  for (let part = 0; part < 63; part++) client.socket.send(part === 0 ? '{"type":' : ' ', { fin: false });
  client.socket.send('"ping"}');
  await client.next(({ type }) => type === 'pong');
  for (let part = 0; part < 65; part++) client.socket.send(' ', { fin: false });
  expect((await client.closed).code).toBe(1008);
});

test('the frames of an incomplete message don’t keep what was read from the connection together with them', async () => {
  const { url } = await serve(() => silentFeed().feed);
  const frameOf = (firstByte: number, payload: Buffer) =>
    Buffer.concat([Buffer.from([firstByte, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
  const pongs = Buffer.concat(Array.from({ length: 480 }, () => frameOf(0x8a, Buffer.alloc(125))));
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const sockets = await Promise.all(Array.from({ length: 10 }, () => openDeafSocket(url)));
  for (let part = 0; part < 40; part++) {
    const frame = frameOf(part === 0 ? 0x01 : 0x00, Buffer.from(' '));
    const sent = sockets.map(
      ({ socket }) => new Promise((resolve) => socket.write(Buffer.concat([frame, pongs]), resolve)),
    );
    await Promise.all(sent);
  }
  // The response to the ping shows that everything before it has been read.
  await Promise.all(
    sockets.map(async ({ socket }) => {
      socket.write(frameOf(0x89, Buffer.from('read')));
      for await (const data of socket.iterator({ destroyOnReturn: false })) if (String(data).includes('read')) break;
    }),
  );
  collectGarbage();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
  for (const { socket } of sockets) socket.destroy();
});

test('thousands of messages on one socket don’t delay the others', async () => {
  const { url } = await serve(() => silentFeed().feed);
  const [busy, other] = [await connectSocket(url, 'token'), await connectSocket(url, 'token')];
  for (let count = 0; count < 3_000; count++) busy.send({ type: 'ping' });
  await busy.next(({ type }) => type === 'pong');
  other.send({ type: 'ping' });
  await other.next(({ type }) => type === 'pong');
  expect(busy.received.length).toBeLessThan(1_000);
  await busy.close();
  await other.close();
});

test('an operation with variables that are nested thousands of levels deep is rejected, as over HTTP', async () => {
  const { url, logged } = await serve(() => silentFeed().feed);
  const client = await connectSocket(url, 'token');
  const payload = `{"query":"{ __type(name: \\"Event\\") { name } }","variables":{"deep":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`;
  client.send(`{"id":"deep","type":"subscribe","payload":${payload}}`);
  const { payload: errors } = await client.next(({ type }) => type === 'error');
  expect(errors).toMatchObject([
    { message: 'The operation is nested more than 64 levels deep.', extensions: { code: 'MALFORMED_JSON' } },
  ]);
  expect(logged).toEqual([]);
  await client.close();
});

test('once the credential is no longer valid, the next operation is rejected and the socket is closed', async () => {
  let isGood = true;
  const identify = async () => {
    if (!isGood) throw new AppError('UNAUTHENTICATED');
    return viewer;
  };
  const { url } = await serve(() => silentFeed().feed, { authentication: { identify } });
  const client = await connectSocket(url, 'token');
  isGood = false;
  client.send({ id: '1', type: 'subscribe', payload: { query: '{ __typename }' } });
  expect(await client.closed).toMatchObject({ code: 4403 });
  expect(client.received.filter(({ type }) => type === 'next')).toEqual([]);
});

test('a server that cannot check credentials closes the socket with code 1013', async () => {
  const identify = async () => {
    throw new AppError('UNAVAILABLE');
  };
  const { url } = await serve(() => silentFeed().feed, { authentication: { identify } });
  const client = await openSocket(url);
  client.send({ type: 'connection_init', payload: { Authorization: 'Bearer x' } });
  expect(await client.closed).toMatchObject({ code: 1013 });
});

test('an unexpected error during authentication is logged and not revealed', async () => {
  const identify = async () => {
    throw new Error('password of the database is 1234');
  };
  const { url, logged } = await serve(() => silentFeed().feed, { authentication: { identify } });
  const client = await openSocket(url);
  client.send({ type: 'connection_init', payload: { Authorization: 'Bearer x' } });
  expect(await client.closed).toEqual({ code: 1013, reason: 'Try again later' });
  expect(logged).toMatchObject([{ err: { message: 'password of the database is 1234' } }]);
});

async function deaf(url: string) {
  const client = await openDeafSocket(url);
  closers.push(async () => void client.socket.destroy());
  return client;
}

test('an address can have a hundred unauthenticated sockets; more replace the oldest ones, and authenticated ones do not count', async () => {
  const { url, httpServer } = await serve(() => silentFeed().feed);
  for (let index = 0; index < 3; index++) await connectSocket(url, 'token');
  const oldest = await openSocket(url);
  const statuses: string[] = [];
  for (let index = 0; index < 109; index++) statuses.push((await deaf(url)).status);
  expect(new Set(statuses)).toEqual(new Set(['HTTP/1.1 101 Switching Protocols']));
  expect(await oldest.closed).toEqual({
    code: 1013,
    reason: 'Too many sockets are waiting for a credential; connect again',
  });
  const count = () => promisify(httpServer.getConnections.bind(httpServer))();
  await expect.poll(count).toBe(103);
});

test('unauthenticated sockets that ignore the close frame are terminated long before authenticated ones', async () => {
  const { url } = await serve(() => silentFeed().feed, { initMilliseconds: 3_000 });
  const authenticated = await connectSocket(url, 'token');
  authenticated.socket.pause();
  authenticated.send('not a message');
  const strangers: Promise<unknown>[] = [];
  for (let index = 0; index < 100; index++) strangers.push((await deaf(url)).ended);
  const ended = [
    once(authenticated.socket, 'close').then(() => 'authenticated'),
    Promise.all(strangers).then(() => 'strangers'),
  ];
  expect(await Promise.race(ended)).toBe('strangers');
  await (await connectSocket(url, 'token')).close();
  authenticated.socket.terminate();
});

test('closing sends code 1001 to every client, and does not wait for clients that do not respond', async () => {
  const { url, sockets } = await serve(() => silentFeed().feed);
  const polite = await connectSocket(url, 'token');
  const deaf = await connectSocket(url, 'token');
  deaf.socket.pause();
  await sockets.close();
  expect(await polite.closed).toMatchObject({ code: 1001 });
  deaf.socket.resume();
  await deaf.closed;
});
