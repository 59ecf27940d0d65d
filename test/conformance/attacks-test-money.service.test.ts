import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findNetwork, type Network } from '../../src/gateway/chain/networks.ts';
import { accepted, sign, v1Headers, v2Headers } from '../gateway/sign.ts';
import { createShop, decodeHeader, networksEnv, type Rails, SELLER, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

// A server with real money and test money. Everyone can get as much test money as they want.

const LIVE: Network = findNetwork('base')!;
const TEST: Network = findNetwork('base-sepolia')!;

let live: Rails;
let fake: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;

beforeAll(async () => {
  [live, fake] = await Promise.all([startRails(LIVE), startRails(TEST)]);
  upstream = await startReceiver(() => ({ body: 'served' }));
  app = await startTestApp({ env: networksEnv([live, fake]) });
  alice = await app.user('alice', 'ENTERPRISE');
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
});
afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await Promise.all([live?.close(), fake?.close()]);
});

/** Every way to present an authorization for test money. */
const PRESENTED: Record<string, (payload: object) => Record<string, string>> = {
  'as test money': (payload) => v2Headers(payload, { accepted: accepted('10000', TEST) }),
  'as test money, in version 1': (payload) => v1Headers(payload, { network: TEST.v1Name }),
  'as real money': (payload) => v2Headers(payload, { accepted: accepted('10000', LIVE) }),
  'as real money, in version 1': (payload) => v1Headers(payload, { network: LIVE.v1Name }),
  'as real money on the test network': (payload) =>
    v2Headers(payload, { accepted: { ...accepted('10000', TEST), asset: LIVE.asset.address } }),
  'as test money on the real network': (payload) =>
    v2Headers(payload, { accepted: { ...accepted('10000', LIVE), asset: TEST.asset.address } }),
};

describe('a live route serves nothing for test money, no matter how it is presented', () => {
  test.each(Object.entries(PRESENTED))('%s', async (_how, headersOf) => {
    upstream.requests.length = 0;
    const buyer = await fake.wallet();
    const response = await fetch(`${shop.url}/weather`, { headers: headersOf(await sign(buyer, {}, TEST)) });
    expect(response.status).toBe(402);
    expect(upstream.requests).toEqual([]);
    expect(await fake.chain.balanceOf(buyer.address)).toBe(1_000_000n);
  });
});

test('a live project offers no test network, and a test project no real one', async () => {
  const networksOf = async (url: string) => {
    const terms = decodeHeader<{ accepts: { network: string }[] }>(
      (await fetch(`${url}/weather`)).headers.get('payment-required'),
    );
    return terms.accepts.map(({ network }) => network);
  };
  expect(await networksOf(shop.url)).toEqual([LIVE.id]);
  const copy = await alice.rest<{ id: string }>('POST', `${shop.base}/copy`, {
    name: 'Test',
    walletAddress: SELLER,
    mode: 'TEST',
  });
  expect(await networksOf(`${app.url}/gateway/${copy.body.id}`)).toEqual([TEST.id]);

  // A payment that the test project has accepted is worthless in the live project.
  const payload = await sign(await fake.wallet(), {}, TEST);
  const headers = v2Headers(payload, { accepted: accepted('10000', TEST) });
  expect((await fetch(`${app.url}/gateway/${copy.body.id}/weather`, { headers })).status).toBe(200);
  upstream.requests.length = 0;
  const reused = await fetch(`${shop.url}/weather`, { headers });
  expect([reused.status, await reused.json()]).toMatchObject([409, { code: 'PAYMENT_REUSED' }]);
  expect(upstream.requests).toEqual([]);
});

test('a live project can’t accept a test network, and its mode can’t be changed', async () => {
  for (const change of [{ networks: [TEST.id] }, { networks: [LIVE.id, TEST.id] }, { mode: 'TEST' }]) {
    expect((await alice.rest('PATCH', shop.base, change)).status).toBe(422);
  }
});

test('a test project that went live serves nobody for test money once its seller accepts only their own wallets', async () => {
  const test = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } }, 'TEST');
  const copied = { name: 'Live', walletAddress: SELLER, mode: 'LIVE' };
  expect((await alice.rest('POST', `${test.base}/copy`, copied)).status).toBe(200);
  const [own, stranger] = [await fake.wallet(), await fake.wallet()];
  const statusFor = async (buyer: typeof own) => {
    const headers = v2Headers(await sign(buyer, {}, TEST), { accepted: accepted('10000', TEST) });
    return (await fetch(`${test.url}/weather`, { headers })).status;
  };
  expect(await statusFor(stranger)).toBe(200);
  await alice.rest('PATCH', `${test.base}/buyer-rules`, { allowedWallets: [own.address] });
  upstream.requests.length = 0;
  expect([await statusFor(stranger), await statusFor(own)]).toEqual([402, 200]);
  expect(upstream.requests).toHaveLength(1);
});
