import { getEventListeners, once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { Agent } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { meterBody } from '../../../src/gateway/upstream/request-body.ts';
import { streamUpstream } from '../../../src/gateway/upstream/stream-upstream.ts';
import { callUpstream } from '../../../src/gateway/upstream/upstream.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

let upstream: Receiver;
let dispatcher: Agent;

beforeAll(async () => {
  upstream = await startReceiver();
});
afterAll(() => upstream?.close());
beforeEach(() => {
  upstream.requests.length = 0;
  dispatcher = new Agent({ connections: 1 });
});
afterEach(() => dispatcher.destroy());

const never = () => new AbortController().signal;

const request = () => ({
  origin: upstream.url,
  path: '/',
  method: 'POST',
  headersFor: () => ({}),
  lost: never(),
  gone: never(),
  publicHost: 'pay.example',
  publicLocation: () => undefined,
  mayUseOtherSlash: async () => true,
  withhold: async () => {},
  redirectTarget: async ({ href }: URL) => href,
});

const KINDS = {
  'a call': async (body: Readable | null) =>
    callUpstream(dispatcher, {
      ...request(),
      body,
      timeoutMilliseconds: 60_000,
      memory: { take: () => true, mayDrop: () => {} },
    }),
  'a streamed call': async (body: Readable | null) => {
    const metered = body && meterBody(body);
    const stream = await streamUpstream(dispatcher, { ...request(), body: metered, idleMilliseconds: 60_000 });
    stream.body.resume();
    await stream.ended;
    return stream;
  },
};

describe.each(Object.entries(KINDS))('the request body of %s', (_kind, call) => {
  test('takes no connection to the upstream until it is complete, if it is small', async () => {
    const body = new PassThrough();
    body.write('a');
    const slow = call(body);
    expect(await call(null)).toMatchObject({ statusCode: 200 });
    body.end('b');
    expect(await slow).toMatchObject({ statusCode: 200 });
    const [, last] = upstream.requests;
    expect([last!.body.toString(), last!.headers['content-length']]).toEqual(['ab', '2']);
  });

  test('streams if it is larger than 64 KB', async () => {
    const body = new PassThrough();
    const calling = call(body);
    const connections = upstream.connectionCount();
    body.write(Buffer.alloc(64 * 1024));
    await expect.poll(upstream.connectionCount).toBe(connections + 1);
    // More than what fits into the buffers.
    const rest = body.write(Buffer.alloc(400 * 1024)) || once(body, 'drain');
    await rest;
    body.end();
    expect(await calling).toMatchObject({ statusCode: 200 });
    expect(upstream.requests[0]!.body).toHaveLength(464 * 1024);
  });

  test('is rejected if the rest of it arrives too slowly', async () => {
    const body = new PassThrough();
    body.write(Buffer.alloc(64 * 1024));
    await expect(call(body)).rejects.toMatchObject({ reason: 'buyer_slow', isTimeout: true });
    expect(await call(null)).toMatchObject({ statusCode: 200 });
  });

  test('ends the call if the buyer disconnects before the body is complete', async () => {
    const body = new PassThrough();
    const calling = call(body);
    calling.catch(() => {});
    body.destroy();
    await expect(calling).rejects.toMatchObject({ reason: 'buyer_gone' });
    expect(upstream.requests).toEqual([]);
  });
});

test('a streamed call leaves no listeners behind', async () => {
  const signals = { lost: never(), gone: never() };
  const listeners = () => Object.values(signals).flatMap((signal) => getEventListeners(signal, 'abort'));
  const calling = streamUpstream(dispatcher, { ...request(), ...signals, body: null, idleMilliseconds: 60_000 });
  expect(listeners()).toHaveLength(2);
  const { body, ended } = await calling;
  body.resume();
  await ended;
  expect(listeners()).toEqual([]);
});
