import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, type Rails, startRails } from '../gateway/support.ts';
import { caller, startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type ConnectProxy, startConnectProxy } from '../support/connect-proxy.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createWebhook } from '../support/resources.ts';

const PASSWORD = 's3cret-of-the-proxy';

let rails: Rails;
let proxy: ConnectProxy;
let outside: Receiver;
/** A server that nothing has connected to before the proxy fails. */
let later: Receiver;
let issuer: Receiver;
let app: TestApp;
let seller: TestUser;
const logged: string[] = [];

beforeAll(async () => {
  rails = await startRails();
  proxy = await startConnectProxy({ credentials: `user:${PASSWORD}` });
  [outside, later, issuer] = [await startReceiver(), await startReceiver(), await startReceiver()];
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] });
  issuer.handle(() => ({ headers: { 'content-type': 'application/json' }, body: keys }));
  const trusted = { issuer: issuer.url, jwksUri: `${issuer.url}/jwks`, audience: 'tollgate' };
  app = await startTestApp({
    env: {
      ...rails.env,
      EGRESS_PROXY: proxy.url,
      AUTH_ISSUERS: JSON.stringify([{ ...trusted, tierClaim: 'tier' }]),
      EGRESS_ALLOW: `127.0.0.1/32:${outside.port},127.0.0.1/32:${later.port}`,
      SERVICE_ALLOW: [issuer.url, rails.env.FACILITATOR_URL!, rails.env.RPC_URL!]
        .map((url) => `127.0.0.1/32:${new URL(url).port}`)
        .join(),
    },
    hostOverrides: { 'hooks.slack.com': outside.url },
    delivery: { retryScheduleSeconds: [2, 2, 2, 2, 2, 2, 2, 2, 2, 2] },
    log: pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) }),
  });
  const token = await new SignJWT({ tier: 'PRO' })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer(issuer.url)
    .setAudience('tollgate')
    .setSubject('alice')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);
  seller = caller(app.url, 'alice', token);
});
afterAll(async () => {
  await app?.stop();
  await Promise.all([outside?.close(), later?.close(), issuer?.close(), proxy?.close(), rails?.close()]);
});

const payFor = async (url: string) => fetch(url, { headers: v2Headers(await sign(await rails.wallet())) });
const tunnelsTo = (url: string) => proxy.targets.filter((target) => target === `127.0.0.1:${new URL(url).port}`).length;

describe('with EGRESS_PROXY, the service', () => {
  test('sends everything through the proxy: keys, payments, upstream calls, webhooks, and connectors', async () => {
    const shop = await createShop(app, seller, { '/paid': { upstreamUrl: `${outside.url}/upstream` } });
    const webhook = await createWebhook(seller, shop.base, { url: `${outside.url}/webhook` });
    const connector = await seller.rest<{ id: string }>('POST', `${shop.base}/connectors`, {
      type: 'slack',
      config: { webhookUrl: 'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx' },
      eventTypes: ['payment.settled'],
    });
    expect(connector.status, JSON.stringify(connector.body)).toBe(201);
    const paid = await payFor(`${shop.url}/paid`);
    expect(paid.status, await paid.text()).toBe(200);
    await outside.waitFor(({ path }) => path === '/webhook');
    await outside.waitFor(({ path }) => path.startsWith('/services/'));

    expect(outside.requests.map(({ path }) => path)).toContain('/upstream');
    expect(webhook.id).toBeTruthy();
    expect(rails.facilitator.countOf('settle')).toBe(1);
    expect(tunnelsTo(rails.env.FACILITATOR_URL!)).toBeGreaterThan(0);
    // Every connection came through a tunnel.
    expect(tunnelsTo(outside.url)).toBe(outside.connectionCount());
    expect(tunnelsTo(issuer.url)).toBe(issuer.connectionCount());
    expect(issuer.connectionCount()).toBeGreaterThan(0);
  });

  test('does not blame destinations for failures of the proxy, and delivers once it works again', async () => {
    const shop = await createShop(app, seller, {});
    const webhook = await createWebhook(seller, shop.base, { url: later.url });
    const base = `${shop.base}/webhooks/${webhook.id}`;
    proxy.failWith(407, later.port);
    const sent = await Promise.all(
      Array.from({ length: 6 }, () =>
        seller.rest<{ id: string }>('POST', `${base}/test`, { eventType: 'payment.settled' }),
      ),
    );
    type Delivery = { status: string; attempts: { errorClass: string; errorMessage: string }[] };
    const read = async ({ body }: { body: { id: string } }) =>
      (await seller.rest<Delivery>('GET', `${shop.base}/deliveries/${body.id}`)).body;
    for (const one of sent)
      await expect.poll(async () => (await read(one)).attempts[0]?.errorClass, { interval: 250 }).toBe('proxy_error');
    expect((await read(sent[0]!)).attempts[0]!.errorMessage).toBe(
      "Our proxy for outgoing requests didn't open a connection.",
    );
    const { body: health } = await seller.rest('GET', base);
    expect(health).toMatchObject({ isActive: true, failingSince: null, circuitOpenUntil: null });

    proxy.failWith(undefined);
    await later.waitFor(6);
    for (const one of sent)
      await expect.poll(async () => (await read(one)).status, { interval: 250 }).toBe('SUCCEEDED');
  });

  test('charges nothing for an upstream that the proxy does not connect to, and says that the proxy is at fault', async () => {
    const shop = await createShop(app, seller, { '/paid': { upstreamUrl: `${later.url}/upstream` } });
    proxy.failWith(403, later.port);
    // A connection that is still open needs no tunnel.
    later.handle(() => ({ headers: { connection: 'close' } }));
    await expect.poll(async () => (await payFor(`${shop.url}/paid`)).status, { interval: 500 }).toBe(502);
    proxy.failWith(undefined);
    const path = `${shop.base}/payments?status=FAILED`;
    const { body } = await seller.rest<{ data: object[] }>('GET', path);
    expect(body.data[0]).toMatchObject({
      failureReason: 'gateway_proxy_failed',
      failureMessage: "Our proxy for outgoing requests didn't open a connection.",
    });
  });

  test('logs the failures of the proxy for the operator, without its password', () => {
    const lines = logged.join('');
    expect(lines).toContain('the proxy for outgoing requests responded with status 407');
    expect(lines).toContain(`127.0.0.1:${proxy.port}`);
    expect(lines).not.toContain(PASSWORD);
    expect(lines).not.toContain(Buffer.from(`user:${PASSWORD}`).toString('base64'));
  });
});
