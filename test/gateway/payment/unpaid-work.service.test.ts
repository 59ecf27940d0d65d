import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import pg from 'pg';
import { Agent, fetch, type RequestInit } from 'undici';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway-processes.ts';
import { type Signed, sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const CENT = 10_000n;
const TIMEOUT_MILLISECONDS = 90_000;

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let gateways: GatewayProcess[];
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;
let localAddress: string;
let addressCount = 1;
let client: Agent;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: { ...rails.env, ROLES: 'api,worker' } });
  gateways = await Promise.all([1, 2].map(() => startGatewayProcess(app, rails)));
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
  shop = await createShop(app, alice, {
    '/orders': { upstreamUrl: `${upstream.url}/orders` },
  });
});

beforeEach(async () => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ statusCode: 201, body: 'ordered' }));
  rails.facilitator.calls.length = 0;
  rails.facilitator.misbehave('verify', undefined);
  rails.facilitator.misbehave('settle', undefined);
  // Every test has its own address, so that bad payments are counted separately.
  addressCount += 1;
  localAddress = `127.0.0.${addressCount}`;
  client = new Agent({ localAddress });
});

afterEach(() => client.destroy());

afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.end('SIGKILL')));
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const call = (url: string, init: RequestInit) => fetch(url, { dispatcher: client, ...init });

const urls = () => gateways.map(({ url }) => `${url}/gateway/${shop.projectId}/orders`);

/** The status of each of a wallet's payments. */
async function paymentsOf({ address }: PrivateKeyAccount): Promise<{ status: string; reason: string | null }[]> {
  const { rows } = await database.query(
    `SELECT "status", "failureReason" AS reason FROM "Payment" WHERE "payer" = $1 ORDER BY "id"`,
    [address.toLowerCase()],
  );
  return rows;
}

async function statusesOf(account: PrivateKeyAccount): Promise<string[]> {
  return (await paymentsOf(account)).map(({ status }) => status);
}

/** Sends a request without waiting for the response. */
function send(
  headers: Record<string, string>,
  { path = '/orders', body }: { path?: string; body?: string | undefined },
) {
  const port = Number(new URL(gateways[0]!.url).port);
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${body === undefined ? 'GET' : 'POST'} /gateway/${shop.projectId}${path} HTTP/1.1\r\nHost: a\r\n`;
  const length = body === undefined ? '' : `Content-Length: ${body.length}\r\n`;
  socket.write(`${head}${lines.join('')}${length}\r\n${body ?? ''}`);
  return socket;
}

/** Sends a request and disconnects as soon as the upstream has it. */
async function hangUp(headers: Record<string, string>, body?: string): Promise<void> {
  const before = upstream.requests.length;
  const socket = send(headers, { body });
  await upstream.waitFor(before + 1);
  socket.destroy();
}

describe('a buyer who disconnects', () => {
  test.each([
    ['a request without a body', undefined],
    ['an order', '{"order":1}'],
  ])('is charged after the upstream got %s, and gets the response by retrying the request', async (_what, body) => {
    const { promise: isGone, resolve: gone } = Promise.withResolvers<void>();
    upstream.handle(async () => {
      await isGone;
      return { statusCode: 201, body: 'ordered' };
    });
    const buyer = await rails.wallet(CENT);
    const headers = v2Headers(await sign(buyer));

    await hangUp(headers, body);
    gone();
    await expect.poll(() => statusesOf(buyer)).toEqual(['SETTLED']);

    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
    const request = { headers, ...(body !== undefined && { method: 'POST', body }) };
    const repeated = await call(urls()[1]!, request);
    expect([repeated.status, await repeated.text()]).toEqual([201, 'ordered']);
    expect(upstream.requests).toHaveLength(1);
  });

  test("aborts the request to the upstream and pays nothing if the request body isn't complete", async () => {
    const aborted = Promise.withResolvers<void>();
    const half = createServer((request) =>
      request.once('data', () => socket.destroy()).once('error', () => aborted.resolve()),
    );
    await new Promise<void>((resolve) => half.listen(0, '127.0.0.1', resolve));
    const { port } = half.address() as AddressInfo;
    await alice.rest('POST', `${shop.base}/endpoints`, {
      path: '/uploads',
      upstreamUrl: `http://127.0.0.1:${port}/`,
      priceUsd: '0.01',
    });
    const buyer = await rails.wallet(CENT);
    const headers = { ...v2Headers(await sign(buyer)), 'transfer-encoding': 'chunked' };
    const socket = send(headers, { path: '/uploads' });
    socket.write(`10000\r\n${'a'.repeat(0x10000)}\r\n`);
    await aborted.promise;
    half.close();
    await expect.poll(() => paymentsOf(buyer)).toEqual([{ status: 'FAILED', reason: 'buyer_gone' }]);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(CENT);
  });

  test('a hundred times with money for five requests causes at most five upstream calls, all of them paid', {
    timeout: TIMEOUT_MILLISECONDS,
  }, async () => {
    const buyer = await rails.wallet(5n * CENT);
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const gone = new AbortController();
        const headers = v2Headers(await sign(buyer));
        const asked = call(urls()[index % 2]!, { headers, signal: gone.signal });
        // Some buyers disconnect as soon as the upstream has a request, and others get a response first.
        upstream.waitFor(1).then(() => gone.abort());
        await asked.catch(() => {});
      }),
    );
    const isOpen = async () => (await statusesOf(buyer)).some((status) => status !== 'SETTLED' && status !== 'FAILED');
    await expect.poll(isOpen).toBe(false);

    const paid = (await statusesOf(buyer)).filter((status) => status === 'SETTLED').length;
    expect(upstream.requests).toHaveLength(paid);
    expect(paid).toBeGreaterThanOrEqual(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(5n * CENT - BigInt(paid) * CENT);
  });
});

const shopUrl = () => urls()[0]!;

/** Sends forty payments at the same time. `onResponse` is called with each status when its response starts. */
async function askForty(buyer: PrivateKeyAccount, onResponse: (status: number) => void = () => {}) {
  const signed = await Promise.all(Array.from({ length: 40 }, () => sign(buyer)));
  return Promise.all(
    signed.map(async (payment, index) => {
      const answer = await call(urls()[index % 2]!, { headers: v2Headers(payment) });
      onResponse(answer.status);
      return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
    }),
  );
}

test.each([
  ['after all others were rejected', true],
  ['immediately', false],
])(
  'forty concurrent requests through two processes, with money for only one, cause exactly one paid upstream call if the upstream responds %s',
  async (_when, isHeld) => {
    const { promise: othersRejected, resolve: release } = Promise.withResolvers<void>();
    upstream.handle(async () => {
      if (isHeld) await othersRejected;
      return { statusCode: 201, body: 'ordered' };
    });
    const buyer = await rails.wallet(CENT);
    let rejections = 0;
    const answers = await askForty(buyer, (status) => {
      if (status !== 201) rejections += 1;
      if (rejections === 39) release();
    });

    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
    expect((await statusesOf(buyer)).filter((status) => status === 'SETTLED')).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const refusals = [
      [429, 'FUNDS_IN_USE', '1'],
      // The facilitator may respond too late on a busy machine.
      [503, 'FACILITATOR_UNAVAILABLE', '5'],
    ];
    for (const { status, text, retryAfter } of answers.filter(({ status }) => status !== 201)) {
      // Once the money is spent, the facilitator rejects the payment.
      if (status === 402) expect(isHeld).toBe(false);
      else expect(refusals).toContainEqual([status, JSON.parse(text).code, retryAfter]);
    }
  },
);

describe('forty concurrent requests through two processes', () => {
  test('are all served if the money covers forty', { timeout: TIMEOUT_MILLISECONDS }, async () => {
    const buyer = await rails.wallet(40n * CENT);
    const signed = await Promise.all(Array.from({ length: 40 }, () => sign(buyer)));
    const buy = async (payment: Signed, index: number): Promise<number> => {
      const { status } = await call(urls()[index % 2]!, { headers: v2Headers(payment) });
      // The facilitator may respond too late on a busy machine. The same payment is still good.
      return status === 503 ? buy(payment, index) : status;
    };
    expect(await Promise.all(signed.map(buy))).toEqual(signed.map(() => 201));
    expect(upstream.requests).toHaveLength(40);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test('are all rejected, except for one, while the balance is unknown', {
    timeout: TIMEOUT_MILLISECONDS,
  }, async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    upstream.handle(async () => {
      await held;
      return { statusCode: 201, body: 'ordered' };
    });
    const blind = await startGatewayProcess(app, { env: { ...rails.env, RPC_URL: 'http://127.0.0.1:9' } });
    try {
      const url = `${blind.url}/gateway/${shop.projectId}/orders`;
      const buyer = await rails.wallet(10n * CENT);
      const first = call(url, { headers: v2Headers(await sign(buyer)) });
      await upstream.waitFor(1);
      const payment = v2Headers(await sign(buyer));
      expect((await call(url, { headers: payment })).status).toBe(429);
      release();
      expect((await first).status).toBe(201);
      // The payment that was rejected earlier is now valid.
      expect((await call(url, { headers: payment })).status).toBe(201);
    } finally {
      await blind.end('SIGKILL');
    }
  });
});

test('of forty concurrent requests through two processes, exactly as many are served and charged as the limit for the buyer allows', {
  timeout: TIMEOUT_MILLISECONDS,
}, async () => {
  const buyer = await rails.wallet(40n * CENT);
  const limited = await createShop(app, alice, { '/orders': { upstreamUrl: `${upstream.url}/orders` } });
  await alice.rest('PATCH', `${limited.base}/buyer-rules`, { maxRequests: 3 });
  const signed = await Promise.all(Array.from({ length: 40 }, () => sign(buyer)));
  const buy = (payment: Signed, index: number) =>
    call(`${gateways[index % 2]!.url}/gateway/${limited.projectId}/orders`, { headers: v2Headers(payment) });
  const answers = await Promise.all(signed.map(buy));

  const served = answers.filter(({ status }) => status === 201);
  expect(served).toHaveLength(3);
  expect(upstream.requests).toHaveLength(3);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(37n * CENT);
  const reasons = (await paymentsOf(buyer)).filter(({ status }) => status === 'FAILED').map(({ reason }) => reason);
  expect(new Set(reasons)).toEqual(new Set(['buyer_limit_reached']));
  // The same payment still gets its response.
  const kept = await buy(signed[answers.indexOf(served[0]!)]!, answers.indexOf(served[0]!) + 1);
  expect(kept.status).toBe(201);
  expect(upstream.requests).toHaveLength(3);

  await alice.rest('POST', `${limited.base}/buyer-rules/deny`, { walletAddress: buyer.address });
  for (const index of gateways.keys()) {
    const error = async () => ((await (await buy(await sign(buyer), index)).json()) as { error: string }).error;
    await expect.poll(error).toBe('buyer_denied');
  }
});

/** Repeats requests until one gets 429. Returns false if none does. */
async function untilStopped(round: () => Promise<(number | undefined)[]>): Promise<boolean> {
  for (let count = 0; count < 30; count++) {
    if ((await round()).includes(429)) return true;
  }
  return false;
}

test("a buyer who disconnects before the upstream has the request isn't charged, and is rate limited after doing so too often", {
  timeout: TIMEOUT_MILLISECONDS,
}, async () => {
  const buyer = await rails.wallet(1_000n * CENT);
  const leave = new Map<string, () => void>();
  rails.facilitator.misbehave('verify', async (response, real, { paymentPayload }) => {
    const verified = await real();
    leave.get((paymentPayload.payload as Signed).authorization.nonce)!();
    response.end(JSON.stringify(verified));
  });
  const isStopped = await untilStopped(async () => {
    const asked = Array.from({ length: 10 }, async () => {
      const signed = await sign(buyer);
      const gone = new AbortController();
      leave.set(signed.authorization.nonce, () => gone.abort());
      const answer = await call(shopUrl(), { headers: v2Headers(signed), signal: gone.signal }).catch(() => undefined);
      return answer?.status;
    });
    return Promise.all(asked);
  });
  expect(isStopped).toBe(true);
  const isOpen = async () => (await statusesOf(buyer)).some((status) => status !== 'FAILED');
  await expect.poll(isOpen).toBe(false);
  expect(new Set((await paymentsOf(buyer)).map(({ reason }) => reason))).toEqual(new Set(['buyer_gone']));
  expect(upstream.requests).toHaveLength(0);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(1_000n * CENT);
});

test.each([
  ['are rejected', 'insufficient_funds', 402, ''],
  [
    'are rejected for a reason that only the chain can confirm',
    'invalid_exact_evm_transaction_simulation_failed',
    503,
    '',
  ],
  ['are reverted', 'invalid_transaction_state', 503, `0x${'a'.repeat(64)}`],
])(
  'a buyer is rate limited if their settlements %s',
  { timeout: TIMEOUT_MILLISECONDS },
  async (_what, errorReason, status, transaction) => {
    rails.facilitator.misbehave('settle', (response) => {
      response.end(JSON.stringify({ success: false, errorReason, transaction }));
    });
    const buyer = await rails.wallet(1_000n * CENT);
    const seen = new Set<number | undefined>();
    const isStopped = await untilStopped(async () => {
      const asked = Array.from({ length: 10 }, async () =>
        call(urls()[1]!, { headers: v2Headers(await sign(buyer)) }).then(({ status }) => status),
      );
      const statuses = await Promise.all(asked);
      for (const status of statuses) seen.add(status);
      return statuses;
    });
    expect(isStopped).toBe(true);
    expect(seen).toEqual(new Set([status, 429]));
  },
);
