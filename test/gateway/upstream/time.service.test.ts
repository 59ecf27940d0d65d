import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FACILITATOR_TIMEOUTS } from '../../../src/gateway/chain/facilitator-http.ts';
import {
  MAX_TIMEOUT_SECONDS,
  SETTLEMENT_SECONDS,
  UPSTREAM_TIMEOUT_SECONDS,
} from '../../../src/gateway/payment/terms.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
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
    return undefined;
  });
  app = await startTestApp({ env: rails.env });
  alice = await app.user('alice');
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  shop = await createShop(app, alice, {
    '/slow/*': { upstreamUrl: `${upstream.url}/slow`, timeoutSeconds: 2 },
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

describe.concurrent('an upstream call is aborted before the authorization expires, and nothing is charged', () => {
  test.each(['says nothing', 'stops in its headers', 'sends a slow response'])('when the upstream %s', async (how) => {
    const path = `/slow/${how.replaceAll(' ', '-')}`;
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    onEnds.set(path, onClosed);
    const payer = await rails.wallet(10_000n);
    const endsAt = Math.floor(Date.now() / 1000) + 19;
    const headers = v2Headers(await sign(payer, { validBefore: String(endsAt) }));

    const answer = await fetch(shop.url + path, { headers });

    expect([answer.status, (await answer.json()).code]).toEqual([504, 'UPSTREAM_TIMEOUT']);
    expect(Date.now() / 1000).toBeLessThan(endsAt);
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
});

describe.concurrent('a call whose request body takes too long fails', () => {
  async function failureOf(path: string, body: Buffer<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>) {
    const headers = v2Headers(await sign(await rails.wallet(10_000n)));
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
