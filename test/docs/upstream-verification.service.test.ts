import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import fastify from 'fastify';
import { createYoga } from 'graphql-yoga';
import { Webhook } from 'standardwebhooks';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { canonicalRequest } from '../../src/gateway/routing/canonical-request.ts';
import { sign, v2Headers } from '../gateway/sign.ts';
import { createShop, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { codeBlocks, ROOT, readPage, section } from './pages.ts';

type IsFromTollgate = (request: Request) => boolean;

let rails: Rails;
let app: TestApp;
let buyer: PrivateKeyAccount;
let prefix: string;
let folder: string;
let isFromTollgate: IsFromTollgate;

/** What the gateway said about the last payment. */
let said: Record<string, string> = {};

/** What an API built with `Request` objects, and one that uses the target as it arrived, made of each request. */
const verdicts: { asRequest: boolean; asReceived: boolean; target: string }[] = [];

/** Built like most APIs: Fastify passes on the target unchanged, as Express does. Yoga makes a `Request` from it. */
const api = fastify({ forceCloseConnections: true });
/** Somebody else's API, which is sold in the same project. It keeps the headers of the last request. */
const othersApi = fastify({ forceCloseConnections: true });
let othersHeaders: Record<string, string> = {};

const yoga = createYoga({
  logging: false,
  plugins: [
    {
      onRequest({ request, fetchAPI, endResponse }) {
        endResponse(new fetchAPI.Response(String(isFromTollgate(request))));
      },
    },
  ],
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-sample-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const [sample] = codeBlocks(section(await readPage('docs/gateway.md'), '### Verify that a request was paid'), 'ts');
  await writeFile(join(folder, 'sample.ts'), `${sample}\nexport { isFromTollgate };\n`);
  ({ isFromTollgate } = (await import(join(folder, 'sample.ts'))) as { isFromTollgate: IsFromTollgate });

  api.route({
    method: ['GET', 'POST'],
    url: '*',
    handler: async (request, reply) => {
      const { url: target, method, headers } = request;
      said = headers as Record<string, string>;
      const id = String(headers['tollgate-payment-id']);
      const timestamp = new Date(Number(headers['tollgate-timestamp']) * 1000);
      const content = `${headers['tollgate-payer']}.${method}.${process.env.UPSTREAM_ORIGIN}${target}`;
      const expected = new Webhook(process.env.UPSTREAM_SECRET!).sign(id, timestamp, content);
      const asReceived = String(headers['tollgate-signature']).split(' ').includes(expected);
      // Yoga would rebuild the query of a Fastify or Express request, so it gets Node's.
      const response = await yoga.handleNodeRequestAndResponse(request.raw, reply.raw);
      verdicts.push({ target, asReceived, asRequest: (await response.text()) === 'true' });
      return reply.send('served');
    },
  });
  const upstreamUrl = await api.listen({ host: '127.0.0.1', port: 0 });
  vi.stubEnv('UPSTREAM_ORIGIN', upstreamUrl);
  othersApi.get('*', async ({ headers }) => {
    othersHeaders = headers as Record<string, string>;
    return 'served';
  });
  const othersUrl = await othersApi.listen({ host: '127.0.0.1', port: 0 });

  rails = await startRails();
  app = await startTestApp({ env: rails.env });
  const alice = await app.user('alice');
  const shop = await createShop(app, alice, {
    '/*': { upstreamUrl: `${upstreamUrl}/api` },
    '/fixed/*': { upstreamUrl: `${upstreamUrl}/api/*?seller='s'own"<value>` },
    '/others/*': { upstreamUrl: `${othersUrl}/*` },
  });
  prefix = new URL(shop.url).pathname;
  const secret = await alice.rest<{ upstreamSecret: string }>('GET', `${shop.base}/upstream-secret`);
  vi.stubEnv('UPSTREAM_SECRET', secret.body.upstreamSecret);
  buyer = await rails.wallet(1_000_000_000n);
});

afterEach(() => {
  verdicts.length = 0;
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await app?.stop();
  await api.close();
  await othersApi.close();
  await rails?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Buys a target exactly as it is written, which `fetch` wouldn't send. Returns the status. */
async function buy(target: string, method = 'GET', project = prefix): Promise<number> {
  const headers = v2Headers(await sign(buyer));
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  httpRequest(app.url, { method, path: project + target, headers }, (response) => {
    response.resume().once('end', () => resolve(response.statusCode!));
  })
    .once('error', reject)
    .end();
  return promise;
}

test.each([
  ["/odata?$filter=name%20eq%20'Bern'", 'GET', '/api/odata?$filter=name%20eq%20%27Bern%27'],
  [`/a?q="<b>"`, 'GET', '/api/a?q=%22%3Cb%3E%22'],
  ["/it's?it's", 'POST', "/api/it's?it%27s"],
  ['/a?', 'GET', '/api/a'],
  ['/a[0]|1?b[0]|2', 'GET', '/api/a%5B0%5D%7C1?b[0]|2'],
  ["/fixed/a?b='c'", 'GET', '/api/a?seller=%27s%27own%22%3Cvalue%3E&b=%27c%27'],
])('an API can verify %s', async (target, method, received) => {
  expect(await buy(target, method)).toBe(200);
  expect(verdicts).toEqual([{ target: received, asRequest: true, asReceived: true }]);
});

test('a request that the gateway did not sign is rejected', async () => {
  expect(await buy('/a?b=c')).toBe(200);
  expect(isFromTollgate(new Request('http://api.example/api/a?b=c'))).toBe(false);
});

test('a request that another seller sends to the API through the gateway is rejected, whether it is paid or free', async () => {
  const upstreamUrl = `${process.env.UPSTREAM_ORIGIN}/api`;
  const shop = await createShop(app, await app.user('mallory'), {
    '/paid': { upstreamUrl },
    '/free': { upstreamUrl, priceUsd: '0' },
  });
  expect(await buy('/paid', 'GET', new URL(shop.url).pathname)).toBe(200);
  expect((await fetch(`${shop.url}/free`)).status).toBe(200);
  const rejected = { target: '/api', asReceived: false, asRequest: false };
  expect(verdicts).toEqual([rejected, rejected]);
});

test('a signature for another API of the same project is not valid, even for the same path', async () => {
  expect(await buy('/others/api/expensive')).toBe(200);
  expect(othersHeaders).toHaveProperty('tollgate-signature');
  expect(isFromTollgate(new Request('http://api.example/api/expensive', { headers: othersHeaders }))).toBe(false);
});

test.each(['the current time', 'NaN'])(
  'a signature is not valid for other values that make up the same text, such as %s in the query',
  async (time) => {
    const timestamp = time === 'NaN' ? time : String(Math.floor(Date.now() / 1000));
    expect(await buy(`/cheap?a=.${timestamp}.0xVictim.GET.${process.env.UPSTREAM_ORIGIN}/api/expensive`)).toBe(200);
    const paid = ['payment-id', 'timestamp', 'payer'].map((name) => said[`tollgate-${name}`]).join('.');
    const headers = {
      'tollgate-payment-id': `${paid}.GET.${process.env.UPSTREAM_ORIGIN}/api/cheap?a=`,
      'tollgate-timestamp': timestamp,
      'tollgate-payer': '0xVictim',
      'tollgate-signature': said['tollgate-signature']!,
    };
    expect(isFromTollgate(new Request('http://api.example/api/expensive', { headers }))).toBe(false);
  },
);

const odd = fc.array(
  fc.oneof(
    fc.constantFrom('%27', '%22', '%20', '%c3%a9', '%E5%A4%A9', '%41', '%3c', '+', '&', '=', ';', "'", '"', '<', '>'),
    fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  ),
  { minLength: 1, maxLength: 12 },
);
const oddTarget = fc
  .tuple(fc.array(odd, { minLength: 1, maxLength: 3 }), fc.array(odd, { maxLength: 3 }))
  .map(([path, query]) => {
    const segments = path.map((parts) => parts.join('').replace(/[?/]/g, '-'));
    return `/${segments.join('/')}?${query.map((parts) => parts.join('')).join('&')}`;
  });
/** A query that is valid no matter what it contains, after a path that is. */
const oddQuery = fc
  .array(odd, { minLength: 1, maxLength: 4 })
  .map((all) => `/q?${all.map((parts) => parts.join('')).join('&')}`);

test.each([
  { what: 'queries', arbitrary: oddQuery, seed: 1 },
  { what: 'queries', arbitrary: oddQuery, seed: 2 },
  { what: 'paths and queries', arbitrary: oddTarget, seed: 3 },
  { what: 'paths and queries', arbitrary: oddTarget, seed: 4 },
])('an API can verify every request that is accepted ($what, seed $seed)', async ({ arbitrary, seed }) => {
  const targets = fc.sample(arbitrary, { seed, numRuns: 50 });
  const statuses = new Map<string, number>();
  const waiting = [...targets];
  const client = async () => {
    for (let target = waiting.pop(); target !== undefined; target = waiting.pop())
      statuses.set(target, await buy(target));
  };
  await Promise.all(Array.from({ length: 5 }, client));

  const accepted = targets.filter((target) => canonicalRequest(target).ok);
  expect(accepted.length).toBeGreaterThan(5);
  const expected = new Map(targets.map((target) => [target, canonicalRequest(target).ok ? 200 : 400]));
  expect(statuses).toEqual(expected);
  expect(verdicts.filter(({ asRequest, asReceived }) => !asRequest || !asReceived)).toEqual([]);
  expect(verdicts).toHaveLength(accepted.length);
});
