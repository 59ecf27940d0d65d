import { PaymentRequiredV1Schema, PaymentRequiredV2Schema } from '@x402/core/schemas';
import pg from 'pg';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PAYMENT_IDENTIFIER } from '../../src/gateway/payment/payment-identifier.ts';
import { accepted, encode, type Signed, sign, v1Headers, v2Headers } from '../gateway/sign.ts';
import {
  createShop,
  decodeHeader,
  NETWORK,
  payingFetch,
  payingFetchV1,
  type Rails,
  startRails,
} from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

type Required = { x402Version: number; error: string; accepts: Record<string, unknown>[] };

const STRANGER = '0x000000000000000000000000000000000000dEaD';
const MAINNET_USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let buyer: PrivateKeyAccount;
let database: pg.Client;
let rateLimitNow = () => performance.now();

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env, rateLimitNow: () => rateLimitNow() });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  shop = await createShop(app, await app.user('alice'), {
    '/weather': { upstreamUrl: `${upstream.url}/now`, description: 'Weather <now> & "then"' },
    '/dear': { upstreamUrl: `${upstream.url}/dear`, priceUsd: '0.02' },
  });
  buyer = await rails.wallet(1_000_000n);
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const seconds = (offset: number) => String(Math.floor(Date.now() / 1000) + offset);
const ask = (headers: Record<string, string>, path = '/weather') => fetch(shop.url + path, { headers });
const requiredOf = (response: Response) => decodeHeader<Required>(response.headers.get('payment-required'));

/** The failure in `PAYMENT-RESPONSE` or `X-PAYMENT-RESPONSE`. https://github.com/coinbase/x402/blob/main/specs/transports-v2/http.md */
function failureIn(response: Response, sent: Record<string, string>) {
  const [name, other] = ['payment-response', 'x-payment-response'];
  const [used, unused] = 'x-payment' in sent ? [other, name] : [name, other];
  expect(response.headers.has(unused!)).toBe(false);
  return decodeHeader<Record<string, unknown>>(response.headers.get(used!));
}

/** The network and the payer that a payment header names. */
function namedIn(sent: Record<string, string>) {
  const {
    accepted: terms,
    network,
    payload,
  } = decodeHeader<{
    accepted?: { network: string };
    network?: string;
    payload: { authorization?: { from: string } };
  }>(Object.values(sent)[0]!);
  return { network: network ?? terms?.network, from: payload.authorization?.from.toLowerCase() };
}

/** The headers about the payment or about caching. */
function toldHeaders(response: Response): Record<string, string> {
  const told = ([name]: [string, string]) =>
    /^(?:(?:x-)?payment-|tollgate-|cache-control$|content-type$|retry-after$|www-authenticate$|location$)/.test(name);
  return Object.fromEntries([...response.headers].filter(told));
}

async function countPayments(): Promise<number> {
  const { rows } = await database.query('SELECT count(*)::int AS count FROM "Payment"');
  return rows[0].count;
}

describe('an unpaid request', () => {
  test('gets the terms in the version 2 header and the version 1 body', async () => {
    const response = await ask({});
    expect(response.status).toBe(402);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const required = requiredOf(response);
    const body = await response.json();
    expect(PaymentRequiredV2Schema.safeParse(required).error).toBeUndefined();
    expect(PaymentRequiredV1Schema.safeParse(body).error).toBeUndefined();
    const url = `${shop.url}/weather`;
    expect(required).toEqual({
      x402Version: 2,
      error: 'Payment is required.',
      resource: { url, description: 'Weather <now> & "then"', mimeType: '', serviceName: 'Shop' },
      accepts: [accepted()],
      extensions: {
        ...PAYMENT_IDENTIFIER,
        bazaar: expect.objectContaining({ info: { input: { type: 'http', method: 'GET', queryParams: {} } } }),
      },
    });
    const { amount, ...common } = accepted();
    expect(body).toEqual({
      x402Version: 1,
      error: 'Payment is required.',
      accepts: [
        {
          ...common,
          network: 'base-sepolia',
          maxAmountRequired: amount,
          resource: url,
          description: 'Weather <now> & "then"',
          mimeType: '',
          outputSchema: { input: { type: 'http', method: 'GET', discoverable: true }, output: {} },
        },
      ],
    });
  });

  test('gets a page with the price in a browser', async () => {
    const response = await ask({
      accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    });
    expect(response.status).toBe(402);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    const page = await response.text();
    expect(page).toContain('0.01 USDC');
    expect(page).toContain('Weather &lt;now&gt; &amp; &quot;then&quot;');
    expect(page).not.toContain('<now>');
    expect(requiredOf(response).accepts).toEqual([accepted()]);
  });

  test('gets terms that a web page on another origin can read', async () => {
    const preflight = await fetch(`${shop.url}/weather`, {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    const response = await ask({ origin: 'https://page.example' });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-expose-headers')).toContain('payment-required');
  });
});

test.each([
  ['an empty payment', { 'payment-signature': '' }],
  ['several empty ones', { 'payment-signature': ' ', 'x-payment': '' }],
])('%s counts as none', async (_what, headers) => {
  const response = await ask(headers);
  expect([response.status, response.headers.has('payment-response')]).toEqual([402, false]);
});

test.each([
  [
    'the same header twice',
    (v2: string) => [
      ['payment-signature', v2],
      ['payment-signature', v2],
    ],
  ],
  [
    'both headers',
    (v2: string, v1: string) => [
      ['payment-signature', v2],
      ['x-payment', v1],
    ],
  ],
  [
    'both headers with version 2',
    (v2: string) => [
      ['payment-signature', v2],
      ['x-payment', v2],
    ],
  ],
  ['the header of version 1', (v2: string) => [['x-payment', v2]]],
] as [string, (v2: string, v1: string) => [string, string][]][])(
  'a payment is accepted and charged once in %s',
  async (_what, linesOf) => {
    const payer = await rails.wallet(20_000n);
    const signed = await sign(payer);
    const headers = linesOf(v2Headers(signed)['payment-signature']!, v1Headers(signed)['x-payment']!);
    const response = await ask(headers as never);
    expect(response.status).toBe(200);
    expect(response.headers.has('payment-response')).toBe(true);
    expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
  },
);

test('a payment of version 1 is accepted in the header of version 2', async () => {
  const response = await ask({ 'payment-signature': v1Headers(await sign(buyer))['x-payment']! });
  expect([response.status, response.headers.has('x-payment-response')]).toEqual([200, true]);
});

describe('400 is returned for a payment header', () => {
  const body = () => ({ x402Version: 2, accepted: accepted(), payload: {} });
  const withAuthorization = async (changes: object) => {
    const { signature, authorization } = await sign(buyer);
    return v2Headers({ signature, authorization: { ...authorization, ...changes } });
  };
  const cases: [string, () => Record<string, string> | Promise<Record<string, string>>][] = [
    ['that is not base64', () => ({ 'payment-signature': '{"x402Version":2}' })],
    ['that is not JSON', () => ({ 'payment-signature': Buffer.from('x402').toString('base64') })],
    ['that is not UTF-8', () => ({ 'payment-signature': Buffer.from([0x22, 0xff, 0x22]).toString('base64') })],
    ["that isn't an object", () => ({ 'payment-signature': encode('paid') })],
    ['that is an array', () => ({ 'payment-signature': encode([]) })],
    ['of an unknown version', () => ({ 'payment-signature': encode({ ...body(), x402Version: 3 }) })],
    ['without the accepted terms', () => ({ 'payment-signature': encode({ x402Version: 2, payload: {} }) })],
    ['without a payload', () => ({ 'payment-signature': encode({ x402Version: 2, accepted: accepted() }) })],
    ['without a signature', async () => v2Headers({ authorization: (await sign(buyer)).authorization })],
    ['without an authorization', async () => v2Headers({ signature: (await sign(buyer)).signature })],
    [
      'with a permit instead',
      async () => v2Headers({ signature: (await sign(buyer)).signature, permit2Authorization: {} }),
    ],
    ['with a signature that is too short', async () => v2Headers({ ...(await sign(buyer)), signature: '0x1234' })],
    ['with a value in hex', () => withAuthorization({ value: '0x2710' })],
    ['with a value in exponential notation', () => withAuthorization({ value: '1e4' })],
    ['with a value that is a number', () => withAuthorization({ value: 10_000 })],
    ['with a negative value', () => withAuthorization({ value: '-10000' })],
    ['with a leading zero', () => withAuthorization({ value: '010000' })],
    ["with a payer that isn't an address", () => withAuthorization({ from: 'vitalik.eth' })],
    ['with a short nonce', () => withAuthorization({ nonce: '0x01' })],
    ['with a fractional time', () => withAuthorization({ validBefore: '1.5' })],
    ['that is too long', () => ({ 'payment-signature': 'A'.repeat(12_004) })],
    ['with two different payments', async () => ({ ...v2Headers(await sign(buyer)), ...v1Headers(await sign(buyer)) })],
  ];
  test.each(cases)('%s', async (_what, headersOf) => {
    const before = await countPayments();
    const response = await ask(await headersOf());
    expect(response.status).toBe(400);
    expect(toldHeaders(response)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/problem+json; charset=utf-8',
    });
    expect(await response.json()).toMatchObject({ code: 'PAYMENT_MALFORMED', status: 400 });
    expect(await countPayments()).toBe(before);
  });
});

describe("a payment that doesn't meet the terms gets 402 and isn't recorded", () => {
  const cases: [string, () => Promise<Record<string, string>>, string][] = [
    [
      'another scheme',
      async () => v2Headers({}, { accepted: { ...accepted(), scheme: 'upto' } }),
      'unsupported_scheme',
    ],
    ['another scheme, version 1', async () => v1Headers({}, { scheme: 'upto' }), 'unsupported_scheme'],
    [
      'another network',
      async () => v2Headers(await sign(buyer), { accepted: { ...accepted(), network: 'eip155:8453' } }),
      'invalid_network',
    ],
    ['another network, version 1', async () => v1Headers(await sign(buyer), { network: 'base' }), 'invalid_network'],
    [
      'the version 1 name of the network',
      async () => v2Headers(await sign(buyer), { accepted: { ...accepted(), network: 'base-sepolia' } }),
      'invalid_network',
    ],
    [
      'another asset',
      async () => v2Headers(await sign(buyer), { accepted: { ...accepted(), asset: MAINNET_USDC } }),
      'invalid_asset',
    ],
    [
      'another recipient',
      async () => v2Headers(await sign(buyer, { to: STRANGER })),
      'invalid_exact_evm_payload_recipient_mismatch',
    ],
    [
      'another recipient, version 1',
      async () => v1Headers(await sign(buyer, { to: STRANGER })),
      'invalid_exact_evm_payload_recipient_mismatch',
    ],
    [
      'another recipient in the accepted terms',
      async () => v2Headers(await sign(buyer), { accepted: { ...accepted(), payTo: STRANGER } }),
      'invalid_exact_evm_payload_recipient_mismatch',
    ],
    [
      'less than the price',
      async () => v2Headers(await sign(buyer, { value: '9999' })),
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'more than the price',
      async () => v2Headers(await sign(buyer, { value: '10001' })),
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'a value of zero, version 1',
      async () => v1Headers(await sign(buyer, { value: '0' })),
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'an amount that differs from the accepted terms',
      async () => v2Headers(await sign(buyer), { accepted: accepted('1') }),
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'an expired authorization',
      async () => v2Headers(await sign(buyer, { validBefore: seconds(-1) })),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      'an authorization that could expire before the upstream responds',
      async () => v2Headers(await sign(buyer, { validBefore: seconds(70) })),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      "an authorization that isn't valid yet",
      async () => v2Headers(await sign(buyer, { validAfter: seconds(60) })),
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    [
      'an authorization that lasts far longer than requested',
      async () => v2Headers(await sign(buyer, { validBefore: seconds(3_600) })),
      'authorization_lives_too_long',
    ],
    [
      'an authorization that never expires',
      async () => v2Headers(await sign(buyer, { validBefore: (2n ** 256n - 1n).toString() })),
      'authorization_lives_too_long',
    ],
  ];
  test.each(cases)('%s', async (_what, headersOf, error) => {
    const before = await countPayments();
    const sent = await headersOf();
    const response = await ask(sent);
    expect(response.status).toBe(402);
    expect(requiredOf(response)).toMatchObject({ error, accepts: [accepted()] });
    expect(toldHeaders(response)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'payment-required': expect.any(String),
      ['x-payment' in sent ? 'x-payment-response' : 'payment-response']: expect.any(String),
    });
    const { network, from } = namedIn(sent);
    expect(failureIn(response, sent)).toEqual({
      success: false,
      errorReason: error,
      transaction: '',
      network,
      ...(error !== 'unsupported_scheme' && { payer: from }),
    });
    expect(await response.json()).toMatchObject({ x402Version: 1, error });
    expect(await countPayments()).toBe(before);
  });
});

describe('a payment that the facilitator rejects', () => {
  const otherSigner = async () => (await sign(await rails.wallet(0n))).signature;
  const cases: [string, () => Promise<Signed>, string][] = [
    [
      'signed by someone else',
      async () => ({ ...(await sign(buyer)), signature: await otherSigner() }),
      'invalid_exact_evm_signature',
    ],
    [
      'signed for another chain',
      async () => sign(buyer, {}, { ...NETWORK, chainId: 8453 }),
      'invalid_exact_evm_signature',
    ],
    [
      'signed for another token',
      async () => sign(buyer, {}, { ...NETWORK, asset: { ...NETWORK.asset, address: MAINNET_USDC } }),
      'invalid_exact_evm_signature',
    ],
    [
      'with a field that was changed after signing',
      async () => {
        const { signature, authorization } = await sign(buyer);
        return {
          signature,
          authorization: { ...authorization, validBefore: String(Number(authorization.validBefore) + 1) },
        };
      },
      'invalid_exact_evm_signature',
    ],
    ['from a wallet without money', async () => sign(await rails.wallet(0n)), 'invalid_exact_evm_insufficient_balance'],
    [
      'from a wallet with too little money',
      async () => sign(await rails.wallet(9_999n)),
      'invalid_exact_evm_insufficient_balance',
    ],
  ];
  for (const [version, headersOf] of [
    [2, v2Headers],
    [1, v1Headers],
  ] as const) {
    test.each(cases)(`(%s, version ${version}) gets 402 and is recorded as failed`, async (_what, signedOf, error) => {
      const sent = headersOf(await signedOf());
      const response = await ask(sent);
      expect(response.status).toBe(402);
      expect(requiredOf(response)).toMatchObject({ error, accepts: [accepted()] });
      const { network, from } = namedIn(sent);
      expect(failureIn(response, sent)).toEqual({
        success: false,
        errorReason: error,
        transaction: '',
        network,
        payer: from,
      });
      const { rows } = await database.query('SELECT * FROM "Payment" WHERE id = $1', [
        response.headers.get('tollgate-payment-id'),
      ]);
      expect(rows[0]).toMatchObject({ status: 'FAILED', failureStage: 'VERIFY', failureReason: error });
    });
  }

  test('gets 402 if it was already used on the chain', async () => {
    const signed = await sign(buyer);
    const { from, to, value, validAfter, validBefore, nonce } = signed.authorization;
    await rails.chain.giveGas(buyer.address);
    const hash = await rails.chain.client.writeContract({
      account: buyer,
      address: NETWORK.asset.address,
      abi: [
        {
          type: 'function',
          name: 'transferWithAuthorization',
          stateMutability: 'nonpayable',
          inputs: ['address', 'address', 'uint256', 'uint256', 'uint256', 'bytes32', 'bytes'].map((type) => ({ type })),
          outputs: [],
        },
      ],
      functionName: 'transferWithAuthorization',
      args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, signed.signature],
    });
    await rails.chain.client.waitForTransactionReceipt({ hash });
    const response = await ask(v2Headers(signed));
    expect(response.status).toBe(402);
    expect(requiredOf(response).error).toBe('invalid_exact_evm_nonce_already_used');
  });

  test('can be retried once it is valid', async () => {
    const poor = await rails.wallet(0n);
    const headers = v2Headers(await sign(poor));
    expect((await ask(headers)).status).toBe(402);
    await rails.chain.giveDollars(poor.address, 10_000n);
    expect((await ask(headers)).status).toBe(200);
    expect(await rails.chain.balanceOf(poor.address)).toBe(0n);
  });
});

test('a payment is rejected for a more expensive route and, once it is settled, for any other request', async () => {
  const cheap = v2Headers(await sign(buyer));
  expect((await ask(cheap, '/dear')).status).toBe(402);
  expect((await ask(cheap)).status).toBe(200);
  expect((await ask(cheap, '/weather?again')).status).toBe(409);
});

test("another project's payment is rejected with 409", async () => {
  const neighbour = await createShop(app, await app.user('bob'), {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
  });
  const headers = v2Headers(await sign(buyer));
  expect((await ask(headers)).status).toBe(200);
  const response = await fetch(`${neighbour.url}/weather`, { headers });
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({ code: 'PAYMENT_REUSED' });
});

test('a payment from the receiving wallet itself works like any other', async () => {
  const own = await createShop(app, await app.user('carol'), { '/weather': { upstreamUrl: `${upstream.url}/now` } });
  const owner = await app.user('carol');
  const { address } = buyer;
  await owner.rest('PATCH', own.base, { walletAddress: address });
  const terms = async () => requiredOf(await fetch(`${own.url}/weather`)).accepts[0];
  await expect.poll(terms).toMatchObject({ payTo: address });
  const before = await rails.chain.balanceOf(address);
  const headers = v2Headers(await sign(buyer, { to: address }), { accepted: { ...accepted(), payTo: address } });
  const response = await fetch(`${own.url}/weather`, { headers });
  expect(response.status).toBe(200);
  expect(decodeHeader(response.headers.get('payment-response'))).toMatchObject({ success: true });
  expect(await rails.chain.balanceOf(address)).toBe(before);
});

describe("the seller's rules for buyers", () => {
  type Told = { error: string; extensions: Record<string, { info: object } | undefined> };
  const toldIn = (response: Response) => decodeHeader<Told>(response.headers.get('payment-required'));
  const infoOf = ({ extensions }: Told) => extensions['tollgate-buyer-rules']?.info;
  let seller: TestUser;

  beforeAll(async () => {
    seller = await app.user('dora');
  });

  async function stall(rules: object) {
    const made = await createShop(app, seller, {
      '/weather': { upstreamUrl: `${upstream.url}/now` },
      '/free': { upstreamUrl: `${upstream.url}/free`, priceUsd: '0' },
    });
    const change = async (changed: object) => {
      const { status, body } = await seller.rest('PATCH', `${made.base}/buyer-rules`, changed);
      expect(status, JSON.stringify(body)).toBe(200);
    };
    await change(rules);
    return { ...made, change, weather: `${made.url}/weather` };
  }

  test('are in the terms for a request without a payment, without naming wallets', async () => {
    const { weather } = await stall({
      allowedWallets: [buyer.address],
      deniedWallets: [STRANGER],
      period: 'HOUR',
      maxRequests: 1,
      maxSpendUsd: '0.5',
    });
    const response = await fetch(weather);
    const [told, body] = [toldIn(response), await response.json()];
    expect(PaymentRequiredV2Schema.safeParse(told).error).toBeUndefined();
    expect(PaymentRequiredV1Schema.safeParse(body).error).toBeUndefined();
    const error =
      'Payment is required. Only wallets that the seller has allowed can pay. Each wallet can make 1 request and spend 0.5 USD per hour (UTC).';
    expect([told.error, body.error]).toEqual([error, error]);
    const limits = { period: 'HOUR', maxRequests: 1, maxSpendUsd: '0.5' };
    expect(infoOf(told)).toEqual({ hasAllowedWallets: true, hasDeniedWallets: true, ...limits });
    for (const { address } of [buyer, { address: STRANGER }]) {
      expect(JSON.stringify([told, body]).toLowerCase()).not.toContain(address.toLowerCase());
    }
  });

  test("don't change the terms if there are none", async () => {
    const { weather, change } = await stall({ deniedWallets: [STRANGER], maxRequests: 1 });
    await change({ deniedWallets: [], maxRequests: null });
    const told = toldIn(await fetch(weather));
    expect([told.error, infoOf(told)]).toEqual(['Payment is required.', undefined]);
  });

  test.each([
    ['version 2', 'buyer_denied', payingFetch, 'payment-response'],
    ['version 1', 'buyer_denied', payingFetchV1, 'x-payment-response'],
    ['version 2', 'buyer_not_allowed', payingFetch, 'payment-response'],
    ['version 1', 'buyer_not_allowed', payingFetchV1, 'x-payment-response'],
  ] as const)('refuse the stock %s client before anything is done: %s', async (_version, error, clientOf, header) => {
    const other = await rails.wallet(10_000n);
    const lists = {
      buyer_denied: { allowedWallets: [other.address], deniedWallets: [other.address.toLowerCase()] },
      buyer_not_allowed: { allowedWallets: [STRANGER] },
    };
    const { weather } = await stall(lists[error]);
    const [payments, verifications] = [await countPayments(), rails.facilitator.calls.length];
    const served = upstream.requests.length;
    const sent = vi.spyOn(globalThis, 'fetch');
    const response = await clientOf(other)(weather);
    expect(sent).toHaveBeenCalledTimes(2);
    sent.mockRestore();
    expect(response.status).toBe(402);
    const result = decodeHeader(response.headers.get(header));
    expect(result).toMatchObject({ success: false, errorReason: error, payer: other.address.toLowerCase() });
    expect(await response.json()).toMatchObject({ error });
    expect([await countPayments(), rails.facilitator.calls.length]).toEqual([payments, verifications]);
    expect(upstream.requests).toHaveLength(served);
    expect(await rails.chain.balanceOf(other.address)).toBe(10_000n);
  });

  test('apply to the next request after a change, but not to free endpoints or to what was already paid for', async () => {
    const other = await rails.wallet(20_000n);
    const { base, url, weather } = await stall({});
    const paid = v2Headers(await sign(other));
    expect((await fetch(weather, { headers: paid })).status).toBe(200);
    const body = { walletAddress: other.address };
    for (const [action, status] of [
      ['deny', 402],
      ['allow', 200],
      ['deny', 402],
    ] as const) {
      expect((await seller.rest('POST', `${base}/buyer-rules/${action}`, body)).status).toBe(200);
      expect((await payingFetch(other)(weather)).status).toBe(status);
    }
    expect((await fetch(weather, { headers: paid })).status).toBe(200);
    expect((await fetch(`${url}/free`)).status).toBe(200);
    expect(await rails.chain.balanceOf(other.address)).toBe(0n);
  });

  test.each([
    ['version 2', payingFetch],
    ['version 1', payingFetchV1],
  ] as const)('limit what the stock %s client can buy, and say when the limit resets', async (_version, clientOf) => {
    const other = await rails.wallet(100_000n);
    const { weather } = await stall({ period: 'MONTH', maxRequests: 3, maxSpendUsd: '0.02' });
    upstream.handle(() => ({ statusCode: 500 }));
    expect((await clientOf(other)(weather)).status).toBe(500);
    upstream.handle(() => ({ body: 'sunny' }));
    expect((await clientOf(other)(weather)).status).toBe(200);
    expect((await clientOf(other)(weather)).status).toBe(200);
    const served = upstream.requests.length;

    const response = await clientOf(other)(weather);
    const body = await response.json();
    // This client has dropped the header that it doesn't read.
    const told = clientOf === payingFetchV1 ? body : toldIn(response);
    expect([response.status, told.error, body.error]).toEqual([402, 'buyer_limit_reached', 'buyer_limit_reached']);
    const now = new Date();
    const resetsAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
    const info = {
      hasAllowedWallets: false,
      hasDeniedWallets: false,
      period: 'MONTH',
      maxRequests: 3,
      maxSpendUsd: '0.02',
      requestCount: 2,
      spentUsd: '0.02',
      resetsAt: resetsAt.toISOString(),
    };
    expect(infoOf(told)).toEqual(info);
    expect(infoOf(body)).toEqual(info);
    expect(PaymentRequiredV1Schema.safeParse(body).error).toBeUndefined();
    const until = resetsAt.getTime() - Number(response.headers.get('retry-after')) * 1000;
    expect(Math.abs(until - now.getTime())).toBeLessThan(60_000);
    expect(upstream.requests).toHaveLength(served);
    expect(await rails.chain.balanceOf(other.address)).toBe(80_000n);
    const { rows } = await database.query(
      'SELECT "failureStage" AS stage, "failureReason" AS reason FROM "Payment" WHERE id = $1',
      [response.headers.get('tollgate-payment-id')],
    );
    expect(rows).toEqual([{ stage: 'VERIFY', reason: 'buyer_limit_reached' }]);
  });

  test("can't be used up by someone who forges the buyer's signature", async () => {
    const other = await rails.wallet(10_000n);
    const { weather } = await stall({ maxRequests: 1 });
    const { signature } = await sign(await rails.wallet(0n));
    const forged = v2Headers({ ...(await sign(other)), signature });
    expect(requiredOf(await fetch(weather, { headers: forged })).error).toBe('invalid_exact_evm_signature');
    expect((await payingFetch(other)(weather)).status).toBe(200);
  });
});

test('an address whose payments keep being rejected is rate limited', async () => {
  // The limit refills by one payment per second, which a slow machine may take for each.
  const frozenAt = performance.now();
  rateLimitNow = () => frozenAt;
  const responses = [];
  for (let time = 0; time < 70 && responses.at(-1) !== 429; time++) {
    responses.push((await ask(v2Headers(await sign(await rails.wallet(0n))))).status);
  }
  expect(responses.at(-1)).toBe(429);
  expect(new Set(responses.slice(0, -1))).toEqual(new Set([402]));
  // Unpaid requests still get the terms.
  expect((await ask({})).status).toBe(402);
});
