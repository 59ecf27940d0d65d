import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { streamUpstream } from '../../../src/gateway/upstream/stream-upstream.ts';
import { callUpstream } from '../../../src/gateway/upstream/upstream.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const STILL_SENDING = 'The upstream was still sending its response after 3 seconds.';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(({ path }, response) => {
    if (path === '/silent') return undefined;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    if (path === '/events') sendEvents(response);
    if (path === '/large') sendWithoutEnd(response);
    if (path === '/pausing') response.write('data: 1\n\n');
    if (path === '/broken') response.write('data: 1\n\n', () => response.destroy());
    return undefined;
  });
  app = await startTestApp({ env: rails.env });
  alice = await app.user('alice');
  const paths = ['silent', 'events', 'broken'].map((name) => [name, `${upstream.url}/${name}`] as const);
  shop = await createShop(app, alice, {
    ...Object.fromEntries(paths.map(([name, upstreamUrl]) => [`/${name}`, { upstreamUrl, timeoutSeconds: 3 }])),
    '/headed': { upstreamUrl: `${upstream.url}/headed`, timeoutSeconds: 3 },
    '/free': { upstreamUrl: `${upstream.url}/events`, timeoutSeconds: 3, priceUsd: '0' },
    '/streamed': { upstreamUrl: `${upstream.url}/pausing`, timeoutSeconds: 1, settlement: 'BEFORE_REQUEST' },
    '/streamed/broken': { upstreamUrl: `${upstream.url}/broken`, settlement: 'BEFORE_REQUEST' },
    '/streamed/silent': { upstreamUrl: `${upstream.url}/silent`, timeoutSeconds: 1, settlement: 'BEFORE_REQUEST' },
  });
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

/** Sends events until the connection closes. */
function sendEvents(response: ServerResponse): void {
  const timer = setInterval(() => response.write('data: 1\n\n'), 100);
  response.on('close', () => clearInterval(timer));
}

/** Sends as much as the reader takes. */
function sendWithoutEnd(response: ServerResponse): void {
  const fill = () => {
    while (response.write(Buffer.alloc(64 * 1024)));
  };
  response.on('drain', fill);
  fill();
}

/** Pays for a request. Returns the response's status and detail, and the payment as the seller sees it. */
async function payFor(path: string) {
  const payer = await rails.wallet(10_000n);
  const response = await fetch(shop.url + path, { headers: v2Headers(await sign(payer)) });
  const text = await response.text().catch(() => 'cut off');
  const payments = await alice.rest<{ data: Record<string, unknown>[] }>('GET', `${shop.base}/payments`);
  const [payment] = payments.body.data.filter((each) => each.payer === payer.address);
  const isCharged = (await rails.chain.balanceOf(payer.address)) === 0n;
  return { status: response.status, text, payment: payment!, isCharged };
}

describe('a response that is held', () => {
  test.each(['/events', '/headed'])('and isn’t complete in time is a timeout that says so: %s', async (path) => {
    const { status, text, payment, isCharged } = await payFor(path);
    expect([status, isCharged]).toEqual([504, false]);
    expect(JSON.parse(text)).toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      detail: `${STILL_SENDING} You weren't charged. Sign a new payment to try again.`,
    });
    expect(payment).toMatchObject({
      failureReason: 'upstream_timeout',
      failureMessage: `${STILL_SENDING} To stream responses, charge before the request.`,
    });
  });

  test('and doesn’t start in time is a timeout, too', async () => {
    const { status, payment } = await payFor('/silent');
    expect([status, payment.failureReason, payment.failureMessage]).toEqual([
      ...[504, 'upstream_timeout', "The upstream didn't respond in time."],
    ]);
  });

  test('and is cut off isn’t a timeout', async () => {
    const { status, payment } = await payFor('/broken');
    expect([status, payment.failureReason]).toEqual([502, 'upstream_unreachable']);
  });

  test('and is free has the same message', async () => {
    const response = await fetch(`${shop.url}/free`);
    expect([response.status, await response.json()]).toMatchObject([504, { detail: STILL_SENDING }]);
  });
});

describe('a response that is streamed', () => {
  test.each([
    [
      '/streamed',
      200,
      'upstream_timeout',
      'The upstream stopped in the middle of its response, and sent nothing for 1 second.',
    ],
    ['/streamed/silent', 504, 'upstream_timeout', "The upstream didn't respond in time."],
    ['/streamed/broken', 200, 'upstream_unreachable', "The upstream couldn't be reached, or closed the connection."],
  ])('and fails has a message for the seller: %s', async (path, status, unservedReason, failureMessage) => {
    const failed = await payFor(path);
    expect([failed.status, failed.isCharged]).toEqual([status, true]);
    const payment = async () => (await alice.rest('GET', `${shop.base}/payments/${failed.payment.id}`)).body;
    await expect
      .poll(payment)
      .toMatchObject({ status: 'SETTLED', unservedReason, failureMessage, failureReason: null });
  });
});

const never = new AbortController().signal;

/** A GET request, without a service around it. */
const requestTo = (path: string) => ({
  origin: upstream.url,
  path,
  method: 'GET',
  headersFor: () => ({}),
  body: null,
  publicHost: 'pay.example',
  publicLocation: () => undefined,
  mayUseOtherSlash: async () => true,
  withhold: async () => {},
  redirectTarget: async ({ href }: URL) => href,
  lost: never,
  gone: never,
  idleMilliseconds: 1_000,
});

test.each([
  ['buffered', 'To allow longer pauses, charge before the request.'],
  ['streamed', undefined],
])('an upstream that stops in the middle of a response that is %s', async (kind, advice) => {
  const dispatcher = new Agent();
  const request = requestTo('/pausing');
  const memory = { take: () => true, mayDrop: () => {} };
  const streamed = async () => {
    const { body, ended } = await streamUpstream(dispatcher, request);
    body.resume();
    await ended;
  };
  const calling =
    kind === 'buffered' ? callUpstream(dispatcher, { ...request, memory, timeoutMilliseconds: 600_000 }) : streamed();
  const message = 'The upstream stopped in the middle of its response, and sent nothing for 1 second.';
  await expect(calling).rejects.toMatchObject({
    reason: 'upstream_timeout',
    isTimeout: true,
    message,
    sellerMessage: advice === undefined ? message : `${message} ${advice}`,
  });
  await dispatcher.destroy();
});

test('a streamed response that never ends is cut off after ten minutes, however steadily it arrives', async () => {
  const dispatcher = new Agent();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const request = { ...requestTo('/events'), idleMilliseconds: 900_000 };
    const { body, ended } = await streamUpstream(dispatcher, request);
    let isCutOff = false;
    body.resume().once('close', () => (isCutOff = true));
    await vi.advanceTimersByTimeAsync(599_999);
    await new Promise((resolve) => body.once('data', resolve));
    expect(isCutOff).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const message = 'The upstream was still sending its response after 600 seconds.';
    await expect(ended).rejects.toMatchObject({ reason: 'upstream_timeout', isTimeout: true, message });
  } finally {
    vi.useRealTimers();
    await dispatcher.destroy();
  }
});

test('a buyer who keeps the upstream waiting for most of the ten minutes is the slow one, even if not when they end', async () => {
  const dispatcher = new Agent();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    const request = { ...requestTo('/large'), idleMilliseconds: 900_000 };
    const { body, ended } = await streamUpstream(dispatcher, request);
    const read = async (bytes: number) => {
      for (let left = bytes; left > 0; ) left -= (await once(body, 'data'))[0].length;
    };
    await read(1);
    for (let seconds = 0; seconds < 320; seconds += 2) {
      body.pause();
      await vi.advanceTimersByTimeAsync(2_000);
      body.resume();
      await read(128 * 1024);
    }
    await vi.advanceTimersByTimeAsync(280_000);
    await expect(ended).rejects.toMatchObject({ reason: 'buyer_gone' });
  } finally {
    vi.useRealTimers();
    await dispatcher.destroy();
  }
});

test('a streamed response that arrives and is read quickly doesn’t keep everything else waiting', async () => {
  const dispatcher = new Agent();
  const { body, ended } = await streamUpstream(dispatcher, { ...requestTo('/large'), idleMilliseconds: 60_000 });
  ended.catch(() => {});
  const perTurn: number[] = [];
  let bytes = 0;
  body.on('data', (chunk: Buffer) => (bytes += chunk.length));
  for (let total = 0; total < 64 * 1024 * 1024; ) {
    await new Promise(setImmediate);
    perTurn.push(bytes);
    total += bytes;
    bytes = 0;
  }
  body.destroy();
  await dispatcher.destroy();
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(256 * 1024);
});
