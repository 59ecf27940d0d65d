import pg from 'pg';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { freePort } from '../../support/free-port.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { headerLines, rawRequest, sign, v2Headers } from '../sign.ts';
import { createShop, decodeHeader, type Rails, startRails } from '../support.ts';

const HOST = 'shop.example';

let rails: Rails;
let app: TestApp;
/** A service with a public URL, and its real address. */
let published: TestApp;
let publishedUrl: string;
let database: pg.Client;
let alice: TestUser;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let prefix: string;
let buyer: PrivateKeyAccount;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: 'served' }));
  app = await startTestApp({ env: rails.env });
  const port = await freePort();
  publishedUrl = `http://127.0.0.1:${port}`;
  const { databaseUrl, dataDir } = app;
  const env = { ...rails.env, PORT: String(port), PUBLIC_URL: 'https://pay.example' };
  published = await startTestApp({ env, databaseUrl, dataDir });
  database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  alice = await app.user('alice');
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
  prefix = new URL(shop.url).pathname;
  buyer = await rails.wallet();
  expect((await alice.rest('PATCH', shop.base, { gatewayHost: HOST })).status).toBe(200);
  await vi.waitFor(async () => expect(await statusOf('GET /weather', [`Host: ${HOST}`])).toBe(402));
});

beforeEach(() => {
  upstream.requests.length = 0;
});

afterAll(async () => {
  await database?.end();
  await published?.stop();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function ask(line: string, headers: string[], url = app.url) {
  const [response] = await sendRaw(url, [rawRequest(line, ...headers)]);
  return response!;
}
const statusOf = async (line: string, headers: string[]) => (await ask(line, headers)).status;

describe("under a project's own host", () => {
  const upgrade = [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ];
  test.each([
    ['GET /api/projects', 404],
    ['POST /graphql', 404],
    ['GET /healthz', 404],
    ['GET /console/', 404],
    ['GET /weather/../api/projects', 400],
    ['GET //api/projects', 400],
    ['GET /%2e%2e/healthz', 400],
    ['GET http://shop.example/weather', 402],
    ['GET http://shop.example/healthz', 404],
    ['GET http://shop.example/%2e%2e/healthz', 400],
    ['GET https://a@b/api/projects', 400],
    ['GET *', 404],
    ['OPTIONS *', 204],
  ])("%s doesn't reach the rest of the service", async (line, status) => {
    expect(await statusOf(line, [`Host: ${HOST}`])).toBe(status);
  });

  test("the project's path prefix isn't served", async () => {
    expect(await statusOf(`GET ${prefix}/weather`, [`Host: ${HOST}`])).toBe(404);
  });

  test.each([
    ['/graphql', 404],
    ['/weather', 402],
    ['/graphql?a', 404],
    [`http://${HOST}/graphql`, 404],
  ])('there is no WebSocket at %s', async (target, status) => {
    const protocol = 'Sec-WebSocket-Protocol: graphql-transport-ws';
    expect(await statusOf(`GET ${target}`, [`Host: ${HOST}`, ...upgrade, protocol])).toBe(status);
    expect(await statusOf(`GET ${target}`, ['Host: a.example', ...upgrade, protocol])).toBe(
      target.startsWith('/graphql') ? 101 : 404,
    );
  });

  test('the host in the target counts, not the Host header', async () => {
    expect(await statusOf('GET http://pay.example/healthz', [`Host: ${HOST}`])).toBe(200);
    expect(await statusOf(`GET http://${HOST}/healthz`, ['Host: pay.example'])).toBe(404);
    expect(await statusOf(`GET http://${HOST}/weather`, ['Host: pay.example'])).toBe(402);
  });

  test.each([`${HOST}:8443`, `${HOST}.`, 'SHOP.Example'])('%s is the same host', async (host) => {
    expect(await statusOf('GET /weather', [`Host: ${host}`])).toBe(402);
  });

  test.each([
    [`Host: ${HOST}.evil.example`],
    [`Host: evil.example/${HOST}`],
    [`Host: evil@${HOST}`],
    [`Host: ${HOST}#`],
    [`Host: ${HOST}, evil.example`],
    ['Host: evil.example', `X-Forwarded-Host: ${HOST}`],
    ['Host: evil.example', `Forwarded: host=${HOST}`],
    ['Host: evil.example', `X-Original-Host: ${HOST}`],
  ])('%s is not that host', async (...headers) => {
    expect(await statusOf('GET /weather', headers)).toBe(404);
  });

  test('a request with two Host headers is rejected', async () => {
    expect(await statusOf('GET /weather', [`Host: ${HOST}`, 'Host: evil.example'])).toBe(400);
    expect(await statusOf('GET /weather', ['Host: evil.example', `Host: ${HOST}`])).toBe(400);
  });
});

describe('the payment terms', () => {
  const forged = [
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: ftp',
    'Forwarded: host=evil.example',
    'X-Host: evil',
  ];

  test("aren't cached, and don't repeat any request header except the host", async () => {
    const { status, headers, text } = await ask(`GET ${prefix}/weather`, ['Host: a.example', ...forged]);
    expect(status).toBe(402);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('vary')).toBe('accept, user-agent, payment-signature, x-payment');
    const { resource } = decodeHeader<{ resource: { url: string } }>(headers.get('payment-required'));
    expect(resource.url).toBe(`http://a.example${prefix}/weather`);
    expect(JSON.parse(text).accepts[0].resource).toBe(resource.url);
    expect(JSON.stringify([...headers, text])).not.toContain('evil');
  });

  test("don't even repeat the host if the service has a public URL", async () => {
    const { headers } = await ask(`GET ${prefix}/weather?q=1`, ['Host: evil.example', ...forged], publishedUrl);
    const { resource } = decodeHeader<{ resource: { url: string } }>(headers.get('payment-required'));
    expect(resource.url).toBe(`https://pay.example${prefix}/weather?q=1`);
  });

  test("contain the name of a project's own host, with the scheme and port of the public URL", async () => {
    const urlOf = async (serviceUrl: string, host: string, ...headers: string[]) => {
      const response = await ask('GET /weather?a=%2d', [`Host: ${host}`, ...headers], serviceUrl);
      expect(response.status).toBe(402);
      return decodeHeader<{ resource: { url: string } }>(response.headers.get('payment-required')).resource.url;
    };
    await vi.waitFor(() => urlOf(publishedUrl, HOST));
    for (const host of ['SHOP.Example.:1', `${HOST}:8443`, `${HOST}:`])
      expect(await urlOf(publishedUrl, host, ...forged)).toBe(`https://${HOST}/weather?a=%2d`);
    expect(await urlOf(app.url, 'SHOP.Example.:8443', ...forged)).toBe(`http://${HOST}:8443/weather?a=%2d`);
  });

  test.each(['a"><script>1</script>', 'a b', ''])(
    "don't need a valid host if the service has a public URL: %j",
    async (host) => {
      expect((await ask(`GET ${prefix}/weather`, [`Host: ${host}`], publishedUrl)).status).toBe(402);
    },
  );

  test.each([
    ['a.example', 'a.example'],
    ['A.example:80', 'a.example'],
    ['localhost:4000', 'localhost:4000'],
    ['[::1]:4000', '[::1]:4000'],
    ['my_service:4000', 'my_service:4000'],
  ])('are made from the valid host %s if the service has no public URL', async (host, shown) => {
    const { headers } = await ask(`GET ${prefix}/weather`, [`Host: ${host}`]);
    const { resource } = decodeHeader<{ resource: { url: string } }>(headers.get('payment-required'));
    expect(resource.url).toBe(`http://${shown}${prefix}/weather`);
  });
});

describe('an upstream in a private network', () => {
  const targets = [
    'http://169.254.169.254/latest/meta-data',
    'https://169.254.169.254/latest/meta-data',
    'https://[::ffff:169.254.169.254]/',
    'https://2852039166/',
    'https://0xa9fea9fe/',
    'https://[::1]/',
    'https://10.0.0.1/',
    'https://127.0.0.2/',
    'https://0.0.0.0/',
    'https://user:password@example.com/',
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
  ];
  test.each(targets)("%s isn't accepted as an upstream URL", async (upstreamUrl) => {
    const endpoint = { path: '/inside', upstreamUrl, priceUsd: '0.01' };
    const made = await alice.rest<{ code: string }>('POST', `${shop.base}/endpoints`, endpoint);
    expect([made.status, made.body.code]).toEqual([422, 'VALIDATION_FAILED']);
  });

  test.each(['http://169.254.169.254/', 'http://10.0.0.1/', 'http://127.0.0.2/', 'http://[::1]/'])(
    "%s isn't called even if it is already stored, and the buyer isn't charged",
    async (upstreamUrl) => {
      const inside = await createShop(app, alice, { '/inside': { upstreamUrl: `${upstream.url}/now` } });
      await database.query('UPDATE "Endpoint" SET "upstreamUrl" = $1 WHERE "projectId" = $2', [
        upstreamUrl,
        inside.projectId,
      ]);
      const payer = await rails.wallet(10_000n);
      const response = await fetch(`${inside.url}/inside`, { headers: v2Headers(await sign(payer)) });
      expect([response.status, (await response.json()).code]).toEqual([502, 'UPSTREAM_FAILED']);
      expect(await rails.chain.balanceOf(payer.address)).toBe(10_000n);
    },
  );
});

test("a route that leads to itself doesn't loop forever", async () => {
  const loop = await createShop(app, alice, { '/loop': { upstreamUrl: `${upstream.url}/now` } });
  const upstreamUrl = `${loop.url}/loop`;
  await alice.rest('PATCH', `${loop.base}/endpoints/${loop.ids['/loop']}`, { upstreamUrl });
  const headers = headerLines(v2Headers(await sign(buyer)));
  const { pathname } = new URL(upstreamUrl);
  // The payment isn't forwarded, so the second request gets a 402, which is passed on as a failure.
  await expect.poll(() => statusOf(`GET ${pathname}`, ['Host: a', ...headers])).toBe(502);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(1_000_000n);
});
