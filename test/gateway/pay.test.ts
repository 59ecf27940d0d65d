import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createShop, decodeHeader, payingFetch, type Rails, SELLER, startRails } from './support.ts';

let rails: Rails;
let app: TestApp;
let upstream: Receiver;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ headers: { 'content-type': 'application/json' }, body: '{"sunny":true}' }));
  app = await startTestApp({ env: rails.env });
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

test('the stock client pays for a request and gets the answer of the upstream', async () => {
  const alice = await app.user('alice');
  const shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
  const buyer = await rails.wallet();
  const before = await rails.chain.balanceOf(SELLER);

  const answer = await payingFetch(buyer)(`${shop.url}/weather?city=Bern`);

  expect(answer.status).toBe(200);
  expect(await answer.json()).toEqual({ sunny: true });
  expect(decodeHeader(answer.headers.get('payment-response'))).toMatchObject({
    success: true,
    network: 'eip155:84532',
  });
  expect((await rails.chain.balanceOf(SELLER)) - before).toBe(10_000n);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(990_000n);
  expect(upstream.requests.map(({ path }) => path)).toEqual(['/now?city=Bern']);
});
