import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const IDLE_MILLISECONDS = 1_000;

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  const responsePacing = { idleMilliseconds: IDLE_MILLISECONDS, minBytesPerSecond: 1024 };
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
  test('continues after the upstream has been silent for longer than a buyer is allowed to be', async () => {
    upstream.handle((_request, response) => {
      response.writeHead(200).write('first');
      setTimeout(() => response.end('last'), 2.5 * IDLE_MILLISECONDS);
      return undefined;
    });
    let text = '';
    for await (const part of await open()) text += part;
    expect(text).toBe('firstlast');
  });

  test("is cut off if a buyer doesn't read, and the upstream call ends with it", async () => {
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
  });
});
