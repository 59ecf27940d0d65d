import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  const responsePacing = { idleMilliseconds: 1_000, minBytesPerSecond: 1024 };
  app = await startTestApp({ env: rails.env, responsePacing });
  shop = await createShop(app, await app.user('alice'), {
    '/tokens': { upstreamUrl: `${upstream.url}/tokens`, settlement: 'BEFORE_REQUEST' },
  });
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function open(): Promise<IncomingMessage> {
  const headers = v2Headers(await sign(await rails.wallet(10_000n)));
  return new Promise((resolve, reject) => {
    get(`${shop.url}/tokens`, { headers, agent: false }, resolve).on('error', reject);
  });
}

/** Writes to the response until the gateway stops reading. */
function flood(response: ServerResponse): void {
  while (response.write(Buffer.alloc(64 * 1024)));
  response.once('drain', () => flood(response));
}

describe('a streamed response', () => {
  /** Opens a stream that the buyer doesn't read, and waits until the upstream call has ended. */
  async function untilCutOff(): Promise<void> {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    upstream.handle((_request, response) => {
      response.writeHead(200);
      flood(response);
      response.once('close', () => resolve());
      return undefined;
    });
    const answer = await open();
    await closed;
    answer.destroy();
  }

  test("is cut off if a buyer doesn't read, and the upstream call ends with it", untilCutOff);

  test('continues after the upstream has been silent for longer than a buyer is allowed to be', async () => {
    const { promise: started, resolve: start } = Promise.withResolvers<ServerResponse>();
    upstream.handle((_request, response) => {
      response.writeHead(200).write('first');
      start(response);
      return undefined;
    });
    const answer = (await open()).setEncoding('utf8');
    const parts = answer[Symbol.asyncIterator]();
    expect((await parts.next()).value).toBe('first');
    // The silence began before this buyer stopped reading.
    await untilCutOff();
    (await started).end('last');
    expect((await parts.next()).value).toBe('last');
    expect((await parts.next()).done).toBe(true);
  });
});
