import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FACILITATOR_TIMEOUTS } from '../../../src/gateway/chain/facilitator-http.ts';
import {
  MAX_TIMEOUT_SECONDS,
  SETTLEMENT_SECONDS,
  UPSTREAM_TIMEOUT_SECONDS,
} from '../../../src/gateway/payment/terms.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver, type TestResponse } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
/**
 * The time of the gateway's clock, which only tests move. It is ahead of the chain's, where authorizations stay valid
 * however long a test takes.
 */
let time = Date.now() + 300_000;
const inSeconds = (seconds: number) => String(Math.floor(time / 1000) + seconds);

/** Responses of the upstream by path, for those that it sends. */
const answers = new Map<string, Promise<TestResponse>>();
/** Callbacks by path, each called when the connection of that upstream request closes. */
const onEnds = new Map<string, () => void>();

const unread: Socket[] = [];
/** An upstream that accepts connections and reads nothing. */
const deaf = createServer({ pauseOnConnect: true }, (socket) => void unread.push(socket));

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(({ path }, response) => {
    response.on('close', () => onEnds.get(path)?.());
    if (path.endsWith('headers')) response.socket!.write('HTTP/1.1 200 OK\r\nX-A: ');
    if (path.endsWith('response')) {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 200);
      response.on('close', () => clearInterval(timer));
    }
    return answers.get(path);
  });
  app = await startTestApp({ env: rails.env, now: () => new Date(time) });
  alice = await app.user('alice');
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  shop = await createShop(app, alice, {
    '/slow/*': { upstreamUrl: `${upstream.url}/slow`, timeoutSeconds: 2 },
    '/unlimited/*': { upstreamUrl: `${upstream.url}/unlimited` },
    '/body': { upstreamUrl: `${upstream.url}/body`, timeoutSeconds: 2, methods: ['POST'] },
    '/deaf': {
      upstreamUrl: `http://127.0.0.1:${(deaf.address() as AddressInfo).port}`,
      timeoutSeconds: 2,
      methods: ['POST'],
    },
  });
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  for (const socket of unread) socket.destroy();
  deaf.close();
  await rails?.close();
});

test("an upstream's time limit leaves enough of the authorization's requested lifetime to settle", () => {
  const { verifyMilliseconds, settleMilliseconds } = FACILITATOR_TIMEOUTS;
  const seconds =
    UPSTREAM_TIMEOUT_SECONDS + Math.max(SETTLEMENT_SECONDS, (verifyMilliseconds + settleMilliseconds) / 1000);
  expect(seconds).toBeLessThan(MAX_TIMEOUT_SECONDS);
});

describe('an upstream call is aborted before the authorization expires, and nothing is charged', () => {
  test.each(['says nothing', 'stops in its headers', 'sends a slow response'])('when the upstream %s', async (how) => {
    const path = `/slow/${how.replaceAll(' ', '-')}`;
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    onEnds.set(path, onClosed);
    const payer = await rails.wallet(10_000n);
    // Two seconds for the upstream, and 15 for everything else.
    const headers = v2Headers(await sign(payer, { validBefore: inSeconds(17) }));

    const answer = await fetch(shop.url + path, { headers });

    expect([answer.status, (await answer.json()).code]).toEqual([504, 'UPSTREAM_TIMEOUT']);
    await closed;
    expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
    const id = answer.headers.get('tollgate-payment-id');
    const payment = await alice.rest('GET', `${shop.base}/payments/${id}`);
    expect(payment.body).toMatchObject({
      status: 'FAILED',
      failureStage: 'UPSTREAM',
      failureReason: 'upstream_timeout',
    });
  });

  test('even if the verification has used up almost all of the time', async () => {
    const validSeconds = 5 + UPSTREAM_TIMEOUT_SECONDS + SETTLEMENT_SECONDS;
    const { promise: response, resolve: respond } = Promise.withResolvers<TestResponse>();
    answers.set('/unlimited/patient', response);
    const ask = async (path: string, validBefore: string) =>
      fetch(shop.url + path, { headers: v2Headers(await sign(await rails.wallet(10_000n), { validBefore })) });
    const patient = ask('/unlimited/patient', inSeconds(120));
    await upstream.waitFor(({ path }) => path === '/unlimited/patient');
    rails.facilitator.misbehave('verify', async (response, real) => {
      const verified = await real();
      time += (validSeconds - SETTLEMENT_SECONDS - 1) * 1000;
      response.end(JSON.stringify(verified));
    });

    const hurried = await ask('/unlimited/hurried', inSeconds(validSeconds));

    rails.facilitator.misbehave('verify', undefined);
    expect([hurried.status, (await hurried.json()).code]).toEqual([504, 'UPSTREAM_TIMEOUT']);
    // The earlier call still has time, so the endpoint's own limit hasn't ended the later one.
    respond({ body: 'served' });
    expect((await patient).status).toBe(200);
  });
});

describe.concurrent('a call whose request body takes too long fails', () => {
  async function failureOf(path: string, body: Buffer<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>) {
    const headers = v2Headers(await sign(await rails.wallet(10_000n), { validBefore: inSeconds(120) }));
    const answer = await fetch(shop.url + path, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    const id = answer.headers.get('tollgate-payment-id');
    const payment = await alice.rest<{ failureReason: string }>('GET', `${shop.base}/payments/${id}`);
    return [answer.status, payment.body.failureReason];
  }

  test("because of the upstream if it doesn't read what the buyer has sent", async () => {
    expect(await failureOf('/deaf', Buffer.alloc(9_000_000))).toEqual([504, 'upstream_timeout']);
  });

  test('because of the buyer if the upstream has read everything that has arrived', async () => {
    let timer: NodeJS.Timeout | undefined;
    const drip = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        timer = setInterval(() => controller.enqueue(Buffer.alloc(20_000)), 100);
      },
      cancel: () => clearInterval(timer),
    });
    try {
      expect(await failureOf('/body', drip)).toEqual([504, 'buyer_slow']);
    } finally {
      clearInterval(timer);
    }
  });
});
