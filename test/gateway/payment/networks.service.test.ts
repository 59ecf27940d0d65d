import pg from 'pg';
import type { Hex, PrivateKeyAccount } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findNetwork, type Network } from '../../../src/gateway/chain/networks.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { accepted, sign, v2Headers } from '../sign.ts';
import {
  createShop,
  decodeHeader,
  networksEnv,
  payingFetch,
  payingFetchV1,
  type Rails,
  SELLER,
  startRails,
} from '../support.ts';

type Terms = { accepts: { network: string; asset: string; extra: { name: string } }[] };

// Live networks' IDs and assets, on local chains, because in version 1, the stock client pays on only one test network,
// Base Sepolia.
const BASE: Network = findNetwork('base')!;
const POLYGON: Network = findNetwork('polygon')!;
const PRICE_ATOMIC = 10_000n;

/** A local chain for each network. */
let rails: Record<string, Rails>;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

beforeAll(async () => {
  const [first, second] = await Promise.all([startRails(BASE), startRails(POLYGON)]);
  rails = { [BASE.id]: first, [POLYGON.id]: second };
  upstream = await startReceiver();
  upstream.handle(() => ({ body: '{"sunny":true}' }));
  app = await startTestApp({ env: envOf(BASE, POLYGON) });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  for (const rail of Object.values(rails ?? {})) await rail.close();
});

const envOf = (...networks: Network[]) => networksEnv(networks.map(({ id }) => rails[id]!));

async function paymentOf(response: Response) {
  const { rows } = await database.query('SELECT * FROM "Payment" WHERE id = $1', [
    response.headers.get('tollgate-payment-id'),
  ]);
  return rows[0];
}

const balances = async (address: Hex = SELLER) =>
  Promise.all([BASE, POLYGON].map(({ id }) => rails[id]!.chain.balanceOf(address)));

test('a 402 response offers every network, with the preferred one first, in both versions of x402', async () => {
  const response = await fetch(`${shop.url}/weather`);
  expect(response.status).toBe(402);
  const terms = decodeHeader<Terms>(response.headers.get('payment-required'));
  expect(terms.accepts.map(({ network, asset, extra }) => [network, asset, extra.name])).toEqual([
    [BASE.id, BASE.asset.address, BASE.asset.name],
    [POLYGON.id, POLYGON.asset.address, POLYGON.asset.name],
  ]);
  expect(((await response.json()) as Terms).accepts.map(({ network }) => network)).toEqual(['base', 'polygon']);
  const page = await fetch(`${shop.url}/weather`, { headers: { accept: 'text/html', 'user-agent': 'Mozilla/5.0' } });
  expect(await page.text()).toContain('<dt>Networks</dt><dd>Base, Polygon</dd>');
});

test.each([
  ['2 pays on Base', BASE, payingFetch, 'payment-response', BASE.id],
  ['2 pays on Polygon', POLYGON, payingFetch, 'payment-response', POLYGON.id],
  ['1 pays on Base', BASE, payingFetchV1, 'x-payment-response', 'base'],
  ['1 pays on Polygon', POLYGON, payingFetchV1, 'x-payment-response', 'polygon'],
] as const)(
  "the stock client of version %s, and the money moves only on that network's chain",
  async (_title, network, clientOf, header, name) => {
    const buyer = await rails[network.id]!.wallet(PRICE_ATOMIC);
    const before = await balances();

    const response = await clientOf(buyer as PrivateKeyAccount, network)(`${shop.url}/weather`);

    expect(response.status).toBe(200);
    const receipt = decodeHeader(response.headers.get(header));
    expect(receipt).toMatchObject({ success: true, network: name });
    const after = await balances();
    expect(after.map((balance, index) => balance - before[index]!)).toEqual(
      [BASE, POLYGON].map(({ id }) => (id === network.id ? PRICE_ATOMIC : 0n)),
    );
    expect(await paymentOf(response)).toMatchObject({
      status: 'SETTLED',
      network: network.id,
      assetAddress: network.asset.address.toLowerCase(),
      transactionHash: receipt.transaction,
    });
  },
);

test('the books agree with each chain to the atomic unit, and revenue is their sum', async () => {
  const { rows } = await database.query<{ network: string; sum: string }>(
    `SELECT "network", sum("amountAtomic")::text AS "sum" FROM "Payment" WHERE "status" = 'SETTLED' GROUP BY "network"`,
  );
  const booked = Object.fromEntries(rows.map(({ network, sum }) => [network, BigInt(sum)]));
  const [first, second] = await balances();
  expect(booked).toEqual({ [BASE.id]: first, [POLYGON.id]: second });
  const day = await database.query<{ sum: string }>(
    'SELECT sum("totalAtomic")::text AS "sum" FROM "RevenueDay" WHERE "projectId" = $1',
    [shop.projectId],
  );
  expect(BigInt(day.rows[0]!.sum)).toBe(first! + second!);
});

test("a payment signed for one network can't be passed off as a payment on another", async () => {
  const payload = await sign(await rails[BASE.id]!.wallet(), {}, BASE);
  const terms = accepted('10000', POLYGON);
  const before = await balances();
  const response = await fetch(`${shop.url}/weather`, { headers: v2Headers(payload, { accepted: terms }) });
  expect(response.status).toBe(402);
  expect(decodeHeader(response.headers.get('payment-required')).error).toMatch(/signature/);
  expect(await balances()).toEqual(before);
});

test("the asset of one network isn't accepted on another", async () => {
  const payload = await sign(await rails[BASE.id]!.wallet(), {}, BASE);
  const terms = { ...accepted('10000', BASE), asset: POLYGON.asset.address };
  const response = await fetch(`${shop.url}/weather`, { headers: v2Headers(payload, { accepted: terms }) });
  expect(response.status).toBe(402);
  expect(decodeHeader(response.headers.get('payment-required')).error).toBe('invalid_asset');
});

test('a request with the same payment identifier is charged once, even if it is signed for another network', async () => {
  const buyer = await rails[BASE.id]!.wallet(PRICE_ATOMIC);
  await rails[POLYGON.id]!.chain.giveDollars(buyer.address, PRICE_ATOMIC);
  const extensions = { 'payment-identifier': { info: { required: false, id: 'order_on_two_networks' } } };
  const paid = [];
  for (const network of [BASE, POLYGON]) {
    const headers = v2Headers(await sign(buyer, {}, network), { accepted: accepted('10000', network), extensions });
    const response = await fetch(`${shop.url}/weather`, { headers });
    expect([response.status, await response.text()]).toEqual([200, '{"sunny":true}']);
    expect(decodeHeader(response.headers.get('payment-response'))).toMatchObject({ success: true, network: BASE.id });
    paid.push(response.headers.get('tollgate-payment-id'));
  }
  expect(paid[1]).toBe(paid[0]);
  expect(await balances(buyer.address)).toEqual([0n, PRICE_ATOMIC]);
});

test("each network's facilitator gets only the payments on that network", () => {
  for (const [id, { facilitator }] of Object.entries(rails)) {
    const { v1Name } = findNetwork(id)!;
    const networks = facilitator.calls.map(({ request }) => request.paymentRequirements.network as string);
    expect(networks.length).toBeGreaterThan(0);
    expect(networks.filter((network) => network !== id && network !== v1Name)).toEqual([]);
  }
});

test('the credential of one facilitator is never sent to another', async () => {
  const own = rails[BASE.id]!.facilitator;
  const foreign = rails[POLYGON.id]!.facilitator;
  const env = {
    ...envOf(BASE, POLYGON),
    FACILITATOR_URL: own.url,
    FACILITATOR_URLS: envOf(POLYGON).FACILITATOR_URLS!,
    FACILITATOR_TOKEN: 'for-one-facilitator',
  };
  const guarded = await startTestApp({ env });
  try {
    const { url } = await createShop(guarded, await guarded.user('bob'), {
      '/weather': { upstreamUrl: `${upstream.url}/now` },
    });
    for (const network of [BASE, POLYGON]) {
      const buyer = await rails[network.id]!.wallet(PRICE_ATOMIC);
      expect((await payingFetch(buyer, network)(`${url}/weather`)).status).toBe(200);
    }
    expect(own.calls.at(-1)!.headers.authorization).toBe('Bearer for-one-facilitator');
    expect(foreign.calls.at(-1)!.headers.authorization).toBeUndefined();
  } finally {
    await guarded.stop();
  }
});
