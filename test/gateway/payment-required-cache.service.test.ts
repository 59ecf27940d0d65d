import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { sendRaw } from '../support/raw-http.ts';
import { headerLines, rawRequest, sign, v2Headers } from './sign.ts';
import { createShop, decodeHeader, type Rails, startRails } from './support.ts';

const HOST = 'quick.example';

let rails: Rails;
/** Manages the project. */
let app: TestApp;
/** A service with a public URL, and its real address. */
let published: TestApp;
let url: string;
let alice: TestUser;
let shop: Awaited<ReturnType<typeof createShop>>;
let path: string;

beforeAll(async () => {
  rails = await startRails();
  app = await startTestApp({ env: { ...rails.env, TRUSTED_PROXIES: '127.0.0.1' } });
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  const { databaseUrl, dataDir } = app;
  const env = { ...rails.env, PORT: String(port), PUBLIC_URL: 'https://pay.example' };
  published = await startTestApp({ env, databaseUrl, dataDir });
  alice = await app.user('alice');
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: 'http://127.0.0.1:9/now' } });
  expect((await alice.rest('PATCH', shop.base, { gatewayHost: HOST })).status).toBe(200);
  path = `${new URL(shop.url).pathname}/weather`;
});
afterAll(async () => {
  await published?.stop();
  await app?.stop();
  await rails?.close();
});

async function ask(target: string, ...headers: string[]) {
  const [answer] = await sendRaw(url, [rawRequest(`GET ${target}`, ...headers)]);
  const { 'x-request-id': id, date, ...rest } = Object.fromEntries(answer!.headers);
  expect(id).toMatch(/^req_/);
  expect(date).toBeDefined();
  return { status: answer!.status, text: answer!.text, headers: rest };
}

/** HTML pages have a different content security policy. */
const namesOf = ({ headers }: Awaited<ReturnType<typeof ask>>) =>
  Object.keys(headers).filter((name) => name !== 'content-security-policy');

const amountOf = ({ headers }: Awaited<ReturnType<typeof ask>>) =>
  decodeHeader<{ accepts: { amount: string }[] }>(headers['payment-required']!).accepts[0]!.amount;

test.each([
  ['the public URL', () => path, 'pay.example'],
  ["the project's own host", () => '/weather', HOST],
])('repeated requests to %s without a payment get the same response', async (_title, target, host) => {
  await expect.poll(async () => (await ask(target(), `Host: ${host}`)).status).toBe(402);
  const responses = [];
  for (let n = 0; n < 5; n++) responses.push(await ask(target(), `Host: ${host}`));
  // A request for an HTML page is never answered from memory.
  const full = await ask(target(), `Host: ${host}`, 'Accept: text/html', 'User-Agent: Mozilla/5.0');
  for (const response of responses) {
    expect(response).toEqual(responses[0]);
    expect(response.headers['payment-required']).toBe(full.headers['payment-required']);
    expect(namesOf(response)).toEqual(namesOf(full));
  }
});

test('a connection that requests hundreds of them without reading any is closed, like any other', async () => {
  const one = rawRequest(`GET ${path}`, 'Host: pay.example');
  await expect.poll(async () => (await sendRaw(url, [one]))[0]!.status).toBe(402);
  const responses = await sendRaw(url, [one.repeat(500)], 500);
  expect(responses.length).toBeLessThanOrEqual(16);
});

test('without a public URL, the terms have the host and scheme of each request', async () => {
  const urlFor = async (...headers: string[]) => {
    const [answer] = await sendRaw(app.url, [rawRequest(`GET ${path}`, ...headers)]);
    const { 'payment-required': terms } = Object.fromEntries(answer!.headers);
    return decodeHeader<{ resource: { url: string } }>(terms!).resource.url;
  };
  const proxied = ['Host: pay.example', 'X-Forwarded-Host: shop.example', 'X-Forwarded-Proto: https'];
  for (let n = 0; n < 3; n++) {
    expect(await urlFor('Host: pay.example')).toBe(`http://pay.example${path}`);
    expect(await urlFor('Host: other.example:81')).toBe(`http://other.example:81${path}`);
    expect(await urlFor(...proxied)).toBe(`https://shop.example${path}`);
  }
});

test('a payment is read even if the response to an unpaid request is known', async () => {
  await ask(path, 'Host: pay.example');
  await ask(path, 'Host: pay.example');
  const buyer = await rails.wallet(0n);
  const { status, text } = await ask(path, 'Host: pay.example', ...headerLines(v2Headers(await sign(buyer))));
  expect([status, text]).toEqual([402, expect.stringContaining('insufficient')]);
});

test('a new price is required as soon as it is known, and a deleted endpoint returns 404', async () => {
  expect(amountOf(await ask(path, 'Host: pay.example'))).toBe('10000');
  const endpoint = `${shop.base}/endpoints/${shop.ids['/weather']}`;
  expect((await alice.rest('PATCH', endpoint, { priceUsd: '0.02' })).status).toBe(200);
  await expect.poll(async () => amountOf(await ask(path, 'Host: pay.example'))).toBe('20000');
  expect((await alice.rest('DELETE', endpoint)).status).toBe(204);
  await expect.poll(async () => (await ask(path, 'Host: pay.example')).status).toBe(404);
});
