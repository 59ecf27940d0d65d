import pg from 'pg';
import { type Hex, serializeErc6492Signature } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { type Signed, sign, v2Headers } from '../sign.ts';
import { smartWallet } from '../smart-wallet.ts';
import { createShop, decodeHeader, payingFetch, payingFetchV1, type Rails, SELLER, startRails } from '../support.ts';

const STRANGER: Hex = '0x000000000000000000000000000000000000dEaD';

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: '{"sunny":true}' }));
  app = await startTestApp({ env: rails.env });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  shop = await createShop(app, await app.user('alice'), {
    '/weather': { upstreamUrl: `${upstream.url}/now` },
    '/first': { upstreamUrl: `${upstream.url}/first`, settlement: 'BEFORE_REQUEST' },
  });
});

afterAll(async () => {
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function paymentOf(response: Response) {
  const id = response.headers.get('tollgate-payment-id');
  return (await database.query('SELECT * FROM "Payment" WHERE id = $1', [id])).rows[0];
}

/** A signature of the wallet, like the one that a stock client sends. */
const signedBy = async (wallet: unknown, changes = {}): Promise<Signed> => sign(wallet as PrivateKeyAccount, changes);

const isDeployed = async (address: Hex) => (await rails.chain.client.getCode({ address })) !== undefined;

describe.each([
  ['2', payingFetch],
  ['1', payingFetchV1],
])('with the stock client of version %s', (version, clientOf) => {
  test.each([
    ['a deployed smart wallet pays', '/weather', true],
    ['a smart wallet that is not deployed yet pays, and is deployed by its first payment', '/weather', false],
    ['a deployed smart wallet is charged before the request', '/first', true],
    ['a smart wallet that is not deployed yet is charged before the request', '/first', false],
  ])('%s (%s)', async (_title, path, isReady) => {
    const wallet = await smartWallet(rails, { amountAtomic: 20_000n, isDeployed: isReady });
    expect(await isDeployed(wallet.address)).toBe(isReady);
    const before = await rails.chain.balanceOf(SELLER);
    for (const left of [10_000n, 0n]) {
      const response = await clientOf(wallet as unknown as PrivateKeyAccount)(shop.url + path);
      expect([response.status, await response.text()]).toEqual([200, '{"sunny":true}']);
      const receipt = decodeHeader(response.headers.get(version === '2' ? 'payment-response' : 'x-payment-response'));
      expect(receipt).toMatchObject({ success: true, payer: wallet.address.toLowerCase() });
      expect(await paymentOf(response)).toMatchObject({
        status: 'SETTLED',
        payer: wallet.address.toLowerCase(),
        transactionHash: receipt.transaction,
      });
      expect(await rails.chain.balanceOf(wallet.address)).toBe(left);
    }
    expect(await isDeployed(wallet.address)).toBe(true);
    expect(await rails.chain.balanceOf(SELLER)).toBe(before + 20_000n);
  });
});

describe('a payment from a smart wallet is refused, nothing is charged, and the seller reads why', () => {
  async function refusalOf(payload: Signed) {
    const before = await rails.chain.balanceOf(SELLER);
    upstream.requests.length = 0;
    const response = await fetch(`${shop.url}/weather`, { headers: v2Headers(payload) });
    expect(response.status).toBe(402);
    expect(upstream.requests).toEqual([]);
    expect(await rails.chain.balanceOf(SELLER)).toBe(before);
    const { error } = decodeHeader(response.headers.get('payment-required'));
    const { status, failureStage, failureReason, failureMessage } = await paymentOf(response);
    expect({ status, failureStage, failureReason }).toEqual({
      status: 'FAILED',
      failureStage: 'VERIFY',
      failureReason: error,
    });
    return { error, message: failureMessage as string };
  }

  test('if the facilitator does not deploy wallets of its factory', async () => {
    const wallet = await smartWallet(rails);
    const { factoryData: data } = await wallet.getFactoryArgs();
    const { signature, authorization } = await signedBy(wallet);
    const foreign = serializeErc6492Signature({ address: STRANGER, data: data!, signature });
    expect(await refusalOf({ signature: foreign, authorization })).toEqual({
      error: 'eip6492_factory_not_allowed',
      message: expect.stringContaining('isn’t deployed yet'),
    });
    expect(await isDeployed(wallet.address)).toBe(false);
  });

  test.each([
    ['a deployed', true],
    ['an undeployed', false],
  ])('if it was signed by the owner of another wallet, for %s wallet', async (_kind, isReady) => {
    const [wallet, other] = [await smartWallet(rails, { isDeployed: isReady }), await smartWallet(rails)];
    const { signature, authorization } = await signedBy(other, { from: wallet.address });
    const { error } = await refusalOf({ signature, authorization });
    expect(error).toMatch(/signature|simulation/);
  });

  test('if it was signed by a deployed wallet’s owner for the owner’s own address', async () => {
    const wallet = await smartWallet(rails, { isDeployed: true });
    const owner = await rails.wallet();
    const { error } = await refusalOf(await sign(owner, { from: wallet.address }));
    expect(error).toMatch(/signature/);
  });

  test('if the wallet has too little money', async () => {
    const { error } = await refusalOf(await signedBy(await smartWallet(rails, { amountAtomic: 9_999n })));
    expect(error).toMatch(/balance|simulation/);
  });
});

test('two payments of an undeployed wallet at the same time are both settled, once each', async () => {
  const wallet = await smartWallet(rails, { amountAtomic: 20_000n });
  const payloads = [await signedBy(wallet), await signedBy(wallet)];
  const responses = await Promise.all(
    payloads.map((payload) => fetch(`${shop.url}/weather`, { headers: v2Headers(payload) })),
  );
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  expect(await rails.chain.balanceOf(wallet.address)).toBe(0n);
});

test('the same payment of a smart wallet, sent twice, is settled once', async () => {
  const wallet = await smartWallet(rails, { amountAtomic: 20_000n });
  const headers = v2Headers(await signedBy(wallet));
  const responses = [];
  for (const _turn of [1, 2]) responses.push(await fetch(`${shop.url}/weather`, { headers }));
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  expect(await rails.chain.balanceOf(wallet.address)).toBe(10_000n);
});
