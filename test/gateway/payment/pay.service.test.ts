import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v1Headers, v2Headers } from '../sign.ts';
import {
  createShop,
  decodeHeader,
  NETWORK,
  payingFetch,
  payingFetchV1,
  type Rails,
  SELLER,
  startRails,
} from '../support.ts';

type PaymentResponse = { success: boolean; transaction: string; network: string; payer?: string; errorReason?: string };

let rails: Rails;
let app: TestApp;
/** Trusts the proxies at 127.0.0.1. */
let proxied: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env });
  const { databaseUrl, dataDir } = app;
  proxied = await startTestApp({
    databaseUrl,
    dataDir,
    env: { ...rails.env, TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' },
  });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  shop = await createShop(app, await app.user('alice'), {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
    '/other': { upstreamUrl: `${upstream.url}/other` },
    '/dear': { upstreamUrl: `${upstream.url}/dear`, priceUsd: '0.999999' },
  });
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ headers: { 'content-type': 'application/json' }, body: '{"sunny":true}' }));
});

afterAll(async () => {
  await database?.end();
  await proxied?.stop();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

/** Sends a request through a trusted proxy, or through one that isn't trusted. */
const throughProxy = (to: TestApp, headers: Record<string, string>) =>
  fetch(`${to.url}/gateway/${shop.projectId}/weather`, { headers });

const receiptOf = (answer: Response, name = 'payment-response') =>
  decodeHeader<PaymentResponse>(answer.headers.get(name));

async function paymentRow(answer: Response) {
  const id = answer.headers.get('tollgate-payment-id');
  const { rows } = await database.query('SELECT * FROM "Payment" WHERE id = $1', [id]);
  return rows[0];
}

describe('a paid request', () => {
  test('reaches the upstream from the stock client, and the exact amount is paid', async () => {
    const buyer = await rails.wallet(1_000_000n);
    const before = await rails.chain.balanceOf(SELLER);

    const answer = await payingFetch(buyer)(`${shop.url}/dear?city=Bern`);

    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ sunny: true });
    const receipt = receiptOf(answer);
    expect(receipt).toMatchObject({ success: true, network: NETWORK.id, payer: buyer.address.toLowerCase() });
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/dear?city=Bern']);

    expect((await rails.chain.balanceOf(SELLER)) - before).toBe(999_999n);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(1n);
    expect(await paymentRow(answer)).toMatchObject({
      status: 'SETTLED',
      amountAtomic: '999999',
      transactionHash: receipt.transaction,
      payer: buyer.address.toLowerCase(),
      endpointPath: '/dear',
      upstreamStatusCode: 200,
    });
    const transaction = await rails.chain.client.getTransactionReceipt({ hash: receipt.transaction as `0x${string}` });
    expect(transaction.status).toBe('success');
  });

  test('reaches the upstream from a version 1 client', async () => {
    const buyer = await rails.wallet(10_000n);
    const answer = await payingFetchV1(buyer)(`${shop.url}/weather`);

    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ sunny: true });
    expect(receiptOf(answer, 'x-payment-response')).toMatchObject({ success: true, network: 'base-sepolia' });
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
    expect(await paymentRow(answer)).toMatchObject({ status: 'SETTLED', x402Version: 1, network: NETWORK.id });
  });

  test('is still accepted if its terms had a longer description', async () => {
    const payload = await sign(await rails.wallet());
    const resource = { url: `${shop.url}/weather`, description: 'a'.repeat(1000), mimeType: '' };
    const answer = await fetch(`${shop.url}/weather`, { headers: v2Headers(payload, { resource }) });
    expect(answer.status).toBe(200);
  });

  test("gets a response that isn't stored in shared caches", async () => {
    upstream.handle(() => ({ headers: { 'cache-control': 'public, max-age=60, s-maxage=600' }, body: 'x' }));
    const answer = await payingFetch(await rails.wallet())(`${shop.url}/weather`);
    expect(answer.headers.get('cache-control')).toBe('max-age=60, private');
  });

  test.each([
    ['private="set-cookie, set-cookie2", max-age=60', 'max-age=60, private'],
    ['max-age=60, extension="nobody ends this', 'max-age=60, extension, private'],
  ])("gets a response that isn't stored in shared caches, even with quoted directives: %s", async (said, passed) => {
    upstream.handle(() => ({ headers: { 'cache-control': said }, body: 'x' }));
    const answer = await payingFetch(await rails.wallet())(`${shop.url}/weather`);
    expect(answer.headers.get('cache-control')).toBe(passed);
  });

  test("gets a response no matter what bytes the upstream's headers contain", async () => {
    const utf8 = Buffer.from('Zürich ☀').toString('latin1');
    upstream.handle((_request, response) => {
      response.socket!.end(
        `HTTP/1.1 200 OK\r\nX-City: ${utf8}\r\nX-Raw: \xe9\xff\r\nContent-Length: 2\r\n\r\nok`,
        'latin1',
      );
      return undefined;
    });
    const headers = v2Headers(await sign(await rails.wallet()));
    for (let time = 0; time < 2; time++) {
      const answer = await fetch(`${shop.url}/weather`, { headers });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-city')).toBe(utf8);
    }
  });

  test('streams its body to the upstream', async () => {
    const body = randomBytes(3_000_000);
    const answer = await payingFetch(await rails.wallet())(`${shop.url}/weather`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body,
    });
    expect(answer.status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
    expect(upstream.requests[0]!.body.equals(body)).toBe(true);
  });
});

describe('an upstream failure', () => {
  test.each([400, 404, 429, 500, 503])('is passed on and costs nothing if it has the status %i', async (statusCode) => {
    upstream.handle(() => ({ statusCode, headers: { 'x-why': 'because' }, body: 'no' }));
    const buyer = await rails.wallet(10_000n);

    const answer = await payingFetch(buyer)(`${shop.url}/weather`);

    expect(answer.status).toBe(statusCode);
    expect(await answer.text()).toBe('no');
    expect(answer.headers.get('x-why')).toBe('because');
    expect(receiptOf(answer)).toMatchObject({ success: false, errorReason: 'upstream_error', transaction: '' });
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
    expect(await paymentRow(answer)).toMatchObject({
      status: 'FAILED',
      failureStage: 'UPSTREAM',
      upstreamStatusCode: statusCode,
      upstreamDurationMs: expect.any(Number),
    });
  });

  test.each([
    ['with its own payment request', { statusCode: 402, headers: { 'payment-required': 'e30=' }, body: '{}' }],
    ['with a redirect', { statusCode: 302, headers: { location: 'http://169.254.169.254/' } }],
    ['with more than the limit', { body: Buffer.alloc(10 * 1024 * 1024 + 1) }],
  ])('returns 502 and costs nothing because of a response %s', async (_what, given) => {
    upstream.handle(() => given);
    const buyer = await rails.wallet(10_000n);

    const answer = await payingFetch(buyer)(`${shop.url}/weather`);

    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ code: 'UPSTREAM_FAILED' });
    expect(answer.headers.get('payment-required')).toBeNull();
    expect(answer.headers.get('location')).toBeNull();
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });

  test.each([
    ['with an invalid status', 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n'],
    ['with something other than HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['with two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['with too many headers', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`],
  ])('returns 502 and costs nothing because of a response %s', async (_what, bytes) => {
    upstream.handle((_request, response) => {
      response.socket!.end(bytes);
      return undefined;
    });
    const buyer = await rails.wallet(10_000n);
    const answer = await payingFetch(buyer)(`${shop.url}/weather`);
    expect(answer.status).toBe(502);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });

  test('returns 502 and costs nothing if it closes the connection', async () => {
    upstream.handle((_request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      response.destroy();
      return undefined;
    });
    const buyer = await rails.wallet(10_000n);
    const answer = await payingFetch(buyer)(`${shop.url}/weather`);
    expect(answer.status).toBe(502);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
    expect(upstream.requests).toHaveLength(1);
  });

  test('uses up the authorization, and the error on a retry says to sign a new payment', async () => {
    upstream.handle(() => ({ statusCode: 500 }));
    const headers = v2Headers(await sign(await rails.wallet(10_000n)));
    expect((await fetch(`${shop.url}/weather`, { headers })).status).toBe(500);
    const again = await fetch(`${shop.url}/weather`, { headers });
    expect(again.status).toBe(402);
    expect(decodeHeader(again.headers.get('payment-required')).error).toContain('upstream_error');
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('a payment that is sent again', () => {
  test('gets the same response for the same request, without another upstream call or charge', async () => {
    let count = 0;
    upstream.handle(() => ({ statusCode: 201, headers: { 'x-count': String(++count) }, body: `answer ${count}` }));
    const buyer = await rails.wallet(1_000_000n);
    const headers = v2Headers(await sign(buyer));

    const answers = [];
    for (let time = 0; time < 3; time++) answers.push(await fetch(`${shop.url}/weather?a=1`, { headers }));

    for (const answer of answers) {
      expect(answer.status).toBe(201);
      expect(await answer.text()).toBe('answer 1');
      expect(answer.headers.get('x-count')).toBe('1');
      expect(receiptOf(answer)).toEqual(receiptOf(answers[0]!));
    }
    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(990_000n);
  });

  test('gets the same response for the same body, and 409 for a different one', async () => {
    const headers = v2Headers(await sign(await rails.wallet()));
    const post = (body: string) => fetch(`${shop.url}/weather`, { method: 'POST', headers, body });
    expect((await post('one')).status).toBe(200);
    expect((await post('one')).status).toBe(200);
    const other = await post('two');
    expect(other.status).toBe(409);
    expect(await other.json()).toMatchObject({ code: 'PAYMENT_REUSED' });
    expect(upstream.requests).toHaveLength(1);
  });

  test.each([
    ['a different path', '/other', 'GET'],
    ['a different query', '/weather?b=2', 'GET'],
    ['a different method', '/weather', 'POST'],
  ])('is rejected with 409 for %s', async (_what, path, method) => {
    const headers = v2Headers(await sign(await rails.wallet()));
    expect((await fetch(`${shop.url}/weather`, { headers })).status).toBe(200);
    const answer = await fetch(shop.url + path, { method, headers });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({ code: 'PAYMENT_REUSED' });
    expect(upstream.requests).toHaveLength(1);
  });

  test('is the same payment even with different capitalization', async () => {
    const buyer = await rails.wallet(20_000n);
    const { signature, authorization } = await sign(buyer);
    const upper = (hex: string) => `0x${hex.slice(2).toUpperCase()}`;
    const shouted = {
      signature: upper(signature),
      authorization: {
        ...authorization,
        from: upper(authorization.from),
        nonce: upper(authorization.nonce),
        to: authorization.to.toLowerCase(),
      },
    };
    for (const headers of [v2Headers({ signature, authorization }), v2Headers(shouted), v1Headers(shouted)]) {
      expect((await fetch(`${shop.url}/weather`, { headers })).status).toBe(200);
    }
    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });

  test('is rejected from someone who knows the chain but not the Idempotency-Key', async () => {
    const headers = { ...v2Headers(await sign(await rails.wallet())), 'idempotency-key': 'known to the buyer alone' };
    expect((await fetch(`${shop.url}/weather`, { headers })).status).toBe(200);
    const { 'idempotency-key': _key, ...withoutKey } = headers;
    for (const guess of [withoutKey, { ...headers, 'idempotency-key': 'a guess' }]) {
      const answer = await fetch(`${shop.url}/weather`, { headers: guess });
      expect(answer.status).toBe(409);
      expect(await answer.text()).not.toContain('sunny');
    }
  });

  test('is bound to the client address if the Idempotency-Key is empty', async () => {
    const headers = v2Headers(await sign(await rails.wallet()));
    const empty = { ...headers, 'idempotency-key': '' };
    for (const same of [empty, headers])
      expect((await fetch(`${shop.url}/weather`, { headers: same })).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });

  test.each([
    ['addresses with ports', '203.0.113.7:5001', '203.0.113.7:5002', '198.51.100.9:5001'],
    ['IPv6 addresses in brackets', '[2001:db8:1::1]:5001', '[2001:db8:1::2]', '[2001:db8:2::1]:5001'],
    ['a claimed address before its own', '8.8.8.8, 203.0.113.7', '203.0.113.7', '203.0.113.7, 198.51.100.9'],
  ])('is bound to the client address behind a proxy that sends %s', async (_what, buyer, buyerAgain, stranger) => {
    const headers = v2Headers(await sign(await rails.wallet()));
    const from = (address: string) => throughProxy(proxied, { ...headers, 'x-forwarded-for': address });
    for (const address of [buyer, buyerAgain]) expect((await from(address)).status).toBe(200);
    const answer = await from(stranger);
    expect(answer.status).toBe(409);
    expect(await answer.text()).not.toContain('sunny');
  });

  test('is bound to its Idempotency-Key alone behind a proxy that hides the client address', async () => {
    const headers = v2Headers(await sign(await rails.wallet()));
    const send = (address: string, key = '') =>
      throughProxy(proxied, { ...headers, 'x-forwarded-for': address, 'idempotency-key': key });
    expect((await send('unknown')).status).toBe(200);
    for (const address of ['_hidden', 'unknown', '', '198.51.100.9, unknown', '127.0.0.1'])
      expect((await send(address)).status, address).toBe(409);
    Object.assign(headers, v2Headers(await sign(await rails.wallet())));
    for (const address of ['unknown', '_hidden']) expect((await send(address, 'a secret')).status).toBe(200);
  });

  test.each([
    ['that isn’t trusted', () => app, '203.0.113.7', '198.51.100.9'],
    ['that sends only the address of another trusted proxy', () => proxied, '10.0.3.7', '10.0.3.7'],
    ['that sends no address', () => proxied, undefined, undefined],
  ])('is bound to its Idempotency-Key alone behind a proxy %s', async (_what, to, buyer, stranger) => {
    const from = (address: string | undefined, headers: Record<string, string>) =>
      throughProxy(to(), { ...headers, ...(address && { 'x-forwarded-for': address }) });
    const headers = v2Headers(await sign(await rails.wallet()));
    expect((await from(buyer, headers)).status).toBe(200);
    for (const address of [stranger, buyer]) {
      const answer = await from(address, headers);
      expect(answer.status).toBe(409);
      expect(await answer.text()).not.toContain('sunny');
    }
    const keyed = { ...v2Headers(await sign(await rails.wallet())), 'idempotency-key': 'a secret' };
    for (const address of [buyer, stranger]) expect((await from(address, keyed)).status).toBe(200);
  });

  test("doesn't get the response with a forged signature", async () => {
    const { authorization, signature } = await sign(await rails.wallet());
    expect((await fetch(`${shop.url}/weather`, { headers: v2Headers({ authorization, signature }) })).status).toBe(200);
    const forged = { authorization, signature: `0x${'11'.repeat(65)}` };
    const answer = await fetch(`${shop.url}/weather`, { headers: v2Headers(forged) });
    expect(answer.status).toBe(409);
  });

  test("isn't charged twice in the other x402 version", async () => {
    const buyer = await rails.wallet(20_000n);
    const signed = await sign(buyer);
    expect((await fetch(`${shop.url}/weather`, { headers: v1Headers(signed) })).status).toBe(200);
    expect((await fetch(`${shop.url}/weather`, { headers: v2Headers(signed) })).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });
});
