import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accepted, headerLines, rawRequest, sign, v1Headers, v2Headers } from '../gateway/sign.ts';
import { decodeHeader } from '../gateway/support.ts';
import { startTestApp } from '../support/app.ts';
import { sendRaw } from '../support/raw-http.ts';
import { startReceiver } from '../support/receiver.ts';
import { type AttackStage, openAttackStage } from './attack-stage.ts';

type Terms = { resource: { url: string }; accepts: { amount: string }[] };

let stage: AttackStage;
/** The project's API. */
let base: string;

beforeAll(async () => {
  stage = await openAttackStage({ endpoints: { '/weather': {}, '/prices': {} }, gatewayCount: 2 });
  base = stage.shop.base;
});
beforeEach(() => {
  stage.upstream.requests.length = 0;
  stage.upstream.handle(() => ({ body: 'served' }));
});
afterAll(() => stage?.close());

const pay = async () => v2Headers(await sign(await stage.rails.wallet(10_000n)));
const statusOf = async (url: string) => (await fetch(url)).status;

/** Sends the first process a request that no HTTP client would send. */
async function sendTo(path: string, method: string, lines: string[], body = '') {
  const { origin, pathname } = new URL(stage.urls[0] + path);
  const [response] = await sendRaw(origin, [
    Buffer.from(rawRequest(`${method} ${pathname}`, ...lines) + body, 'latin1'),
  ]);
  return response!;
}

describe('changes by the seller', () => {
  test('leave payments signed at price A valid in every process if the price goes from A to B to C', async () => {
    const { rails, urls, seller, shop } = stage;
    const amountAt = async (url: string) =>
      decodeHeader<Terms>((await fetch(`${url}/prices`)).headers.get('payment-required')).accepts[0]!.amount;
    for (const url of urls) expect(await amountAt(url)).toBe('10000');
    const buyers = await Promise.all(urls.map(() => rails.wallet(10_000n)));
    const signed = await Promise.all(buyers.map(async (buyer) => v2Headers(await sign(buyer))));

    for (const priceUsd of ['0.02', '0.03'])
      await seller.rest('PATCH', `${base}/endpoints/${shop.ids['/prices']}`, { priceUsd });
    for (const url of urls) await expect.poll(() => amountAt(url)).toBe('30000');

    for (const [index, headers] of signed.entries())
      expect((await fetch(`${urls[index]}/prices`, { headers })).status).toBe(200);
    for (const { address } of buyers) expect(await rails.chain.balanceOf(address)).toBe(0n);
  });

  test('take effect immediately: in every process for 60 of 60 new endpoints, and in the process that made the change for 60 of 60 changed or deleted ones', async () => {
    const { app, upstream, urls } = stage;
    const whole = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir });
    const seller = await whole.user('seller', 'ENTERPRISE');
    const here = `${whole.url}/gateway/${stage.shop.projectId}`;
    const everywhere = [here, ...urls];
    const seen = { unknown: [] as number[], created: [] as number[], price: [] as string[], deleted: [] as number[] };
    try {
      for (let index = 0; index < 60; index++) {
        const path = `/new-${index}`;
        // Now every process has looked for the route, and has all other routes in memory.
        for (const url of everywhere) seen.unknown.push(await statusOf(url + path));
        const fields = { path, upstreamUrl: upstream.url, priceUsd: '0.01' };
        const { body } = await seller.rest<{ id: string }>('POST', `${base}/endpoints`, fields);
        seen.created.push(...(await Promise.all(everywhere.map((url) => statusOf(url + path)))));
        await seller.rest('PATCH', `${base}/endpoints/${body.id}`, { priceUsd: '0.02' });
        const changed = (await fetch(here + path)).headers.get('payment-required');
        seen.price.push(decodeHeader<Terms>(changed).accepts[0]!.amount);
        await seller.rest('DELETE', `${base}/endpoints/${body.id}`);
        seen.deleted.push(await statusOf(here + path));
      }
    } finally {
      await whole.stop();
    }
    expect(seen).toEqual({
      unknown: Array(180).fill(404),
      created: Array(180).fill(402),
      price: Array(60).fill('20000'),
      deleted: Array(60).fill(404),
    });
  });
});

describe('a request', () => {
  test.each([
    ...['a"><script>1</script>', 'a.example/b', 'user@a.example', 'a.example:99999'],
    ...['a b', 'a,b', 'a?b', '[::1', ''],
  ])('gets 400 for the host %j, instead of terms that repeat the host in resource.url', async (host) => {
    for (const accept of ['text/html', 'application/json']) {
      const { status, text, headers } = await sendTo('/weather', 'GET', [`Host: ${host}`, `Accept: ${accept}`]);
      expect([status, headers.get('payment-required')]).toEqual([400, null]);
      expect(JSON.parse(text).detail).toMatch(/The `Host` header must be a host name/);
      expect(text).not.toContain('script');
    }
  });

  test.each([
    ['version 1', v1Headers],
    // The payment repeats the terms exactly as the 402 stated them.
    ['version 2', (payload: object) => v2Headers(payload, { accepted: accepted() })],
  ])(
    'is served if its payment in %s has numbers instead of strings; if a number is inexact, the 400 says which one',
    async (_what, headersOf) => {
      const { rails, urls } = stage;
      const signed = await sign(await rails.wallet(10_000n));
      const ask = async (changes: object) => {
        const payload = { ...signed, authorization: { ...signed.authorization, ...changes } };
        const headers = headersOf(payload);
        const response = await fetch(`${urls[0]}/weather`, { headers });
        return { status: response.status, text: await response.text() };
      };
      for (const [field, unit] of [
        ['value', 'atomic units'],
        ['validBefore', 'seconds'],
      ] as const) {
        for (const inexact of [2 ** 53, 0.5]) {
          const { status, text } = await ask({ [field]: inexact });
          expect(status).toBe(400);
          expect(text).toContain(`payload.authorization.${field}: must be a whole number of ${unit}`);
        }
      }
      const validBefore = Number(signed.authorization.validBefore);
      expect(await ask({ value: 10_000, validAfter: 0, validBefore })).toEqual({ status: 200, text: 'served' });
    },
  );

  test('keeps a malformed Content-Type unchanged when it is passed to the upstream', async () => {
    const types = [
      'json',
      'text/',
      '',
      '/',
      ';charset=utf-8',
      'a/b; c',
      'text/html; charset="',
      'a/b/c, d',
      '\xe9/\xe9',
    ];
    for (const type of types) {
      const lines = ['Host: a', `Content-Type: ${type}`, 'Content-Length: 2'];
      expect((await sendTo('/weather', 'POST', lines, '{}')).status).toBe(402);
      expect((await sendTo('/weather', 'POST', [...lines, ...headerLines(await pay())], '{}')).status).toBe(200);
    }
    const received = stage.upstream.requests.map(({ headers, body }) => [headers['content-type'], String(body)]);
    expect(received).toEqual(types.map((type) => [type, '{}']));
  });
});

describe("an upstream's response", () => {
  test.each([201, 202])(
    'keeps its Location as a public URL with status %i, even when the response is fetched again',
    async (statusCode) => {
      const { upstream, urls } = stage;
      upstream.handle(() => ({ statusCode, headers: { location: `${upstream.url}/weather/7?x=1` } }));
      const headers = await pay();
      for (const _time of ['first', 'again']) {
        const response = await fetch(`${urls[0]}/weather`, { method: 'POST', headers });
        expect([response.status, response.headers.get('location')]).toEqual([statusCode, `${urls[0]}/weather/7?x=1`]);
      }
      expect(upstream.requests).toHaveLength(1);
    },
  );

  test('has headers that web pages on any origin can read', async () => {
    stage.upstream.handle(() => ({ headers: { 'x-custom': 'a', etag: '"e"' } }));
    const headers = { ...(await pay()), origin: 'https://page.example' };
    const response = await fetch(`${stage.urls[0]}/weather`, { headers });
    expect(response.headers.get('x-custom')).toBe('a');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    // In a request with credentials, browsers don't treat `*` as a wildcard.
    expect(response.headers.has('access-control-allow-credentials')).toBe(false);
    const exposed = response.headers.get('access-control-expose-headers')!.split(', ');
    const named = ['payment-response', 'payment-required', 'etag', 'location', 'link', 'retry-after'];
    expect(exposed).toEqual(expect.arrayContaining(['*', ...named]));
  });
});

test.each([
  ['an error without version 2 of x402', [1], 'error', "the facilitator doesn't settle payments on this network"],
  [
    'a warning without version 1',
    [2],
    'warn',
    "the facilitator doesn't settle x402 version 1 payments on this network",
  ],
] as const)(
  "a facilitator whose /supported doesn't match the network causes %s when the service starts",
  async (_what, versions, level, message) => {
    const names = { 1: 'base-sepolia', 2: 'eip155:84532' };
    const kinds = versions.map((x402Version) => ({ x402Version, scheme: 'exact', network: names[x402Version] }));
    await using facilitator = await startReceiver(() => ({ body: JSON.stringify({ kinds }) }));
    const lines: { level: number; msg: string; network?: string }[] = [];
    const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
    const env = { ...stage.rails.env, FACILITATOR_URL: facilitator.url };
    const app = await startTestApp({ env, config: { production: true }, log });
    try {
      const about = () =>
        lines.filter(({ msg }) => msg?.startsWith('the facilitator')).map(({ level, msg }) => [level, msg]);
      await expect.poll(about).toEqual([[pino.levels.values[level], message]]);
      const paths = () => facilitator.requests.map(({ path }) => path);
      await expect.poll(paths).toEqual(['/supported', '/verify', '/settle']);
    } finally {
      await app.stop();
    }
  },
);
