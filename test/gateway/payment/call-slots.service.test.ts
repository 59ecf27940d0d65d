import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCallSlots } from '../../../src/gateway/payment/call-slots.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const CENT = 10_000n;

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
const clients = ['127.0.0.2', '127.0.0.3'].map((localAddress) => new Agent({ localAddress }));

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: rails.env, maxCallsPerAddress: 2 });
  shop = await createShop(app, await app.user('alice'), { '/orders': { upstreamUrl: upstream.url } });
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.destroy()));
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

test("one client address can't take all of a seller's connections to an API", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  upstream.handle(async () => {
    await held;
    return { statusCode: 200 };
  });
  const wallet = await rails.wallet(4n * CENT);
  const payments = await Promise.all(Array.from({ length: 4 }, async () => v2Headers(await sign(wallet))));
  const buy = async (payment: number, client: number) => {
    const { status } = await fetch(`${shop.url}/orders`, { headers: payments[payment]!, dispatcher: clients[client]! });
    return status;
  };
  const verifications = () => rails.facilitator.calls.filter(({ operation }) => operation === 'verify').length;

  const first = [buy(0, 0), buy(1, 0)];
  await upstream.waitFor(2);
  expect(await buy(2, 0)).toBe(503);
  expect(verifications()).toBe(2);
  const other = buy(3, 1);
  await upstream.waitFor(3);
  release();

  expect(await Promise.all([...first, other])).toEqual([200, 200, 200]);
  // The payment wasn't used, so it can be sent again.
  expect(await buy(2, 0)).toBe(200);
  expect(await rails.chain.balanceOf(wallet.address)).toBe(0n);
});

test('slots are counted for each account, origin, and address, and an IPv6 /64 is one address', () => {
  const slots = createCallSlots(1);
  const leave = slots.take('user_1', 'https://a.test', '2001:db8::1');
  expect(slots.take('user_1', 'https://a.test', '2001:db8::2')).toBeUndefined();
  expect(slots.take('user_2', 'https://a.test', '2001:db8::1')).toBeDefined();
  expect(slots.take('user_1', 'https://b.test', '2001:db8::1')).toBeDefined();
  expect(slots.take('user_1', 'https://a.test', '2001:db8:0:1::1')).toBeDefined();
  leave!();
  expect(slots.take('user_1', 'https://a.test', '2001:db8::2')).toBeDefined();
});
