import dns from 'node:dns';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createShop, decodeHeader, payingFetch, payingFetchV1, type Rails, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

const DOMAIN = 'pay.test';
const SLUG_HOST = `kinds.${DOMAIN}`;
/** This host needs no verification in development. */
const OWN_HOST = 'kinds.test';
const BUDGET_ATOMIC = 1_000_000n;

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

const open = (...urls: string[]) => urls.map((url) => `127.0.0.1/32:${new URL(url).port}`).join();

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({
    env: {
      ...rails.env,
      GATEWAY_DOMAIN: DOMAIN,
      EGRESS_ALLOW: '',
      SERVICE_ALLOW: open(rails.env.FACILITATOR_URL!, rails.env.RPC_URL!),
      UPSTREAM_ALLOW: open(upstream.url),
    },
  });
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  // The clients resolve the hosts like any other host.
  const real = dns.lookup as (...values: unknown[]) => void;
  vi.spyOn(dns, 'lookup').mockImplementation(((name: string, ...rest: unknown[]) =>
    real([SLUG_HOST, OWN_HOST].includes(name) ? '127.0.0.1' : name, ...rest)) as never);
  const alice = await app.user('alice');
  shop = await createShop(app, alice, {
    '/items/:id': { upstreamUrl: `${upstream.url}/read/:id`, priceUsd: '0.0003', methods: ['GET'] },
    '/items/:item': { upstreamUrl: `${upstream.url}/write/:item`, priceUsd: '0.07', methods: ['POST', 'PATCH'] },
    '/items/:gone': { upstreamUrl: `${upstream.url}/remove/:gone`, priceUsd: '0.000005', methods: ['DELETE'] },
    '/files/*': { upstreamUrl: `${upstream.url}/files` },
    '/own': {
      upstreamUrl: `${upstream.url}/own`,
      upstreamHeaders: [{ name: 'Authorization', value: 'Bearer of the endpoint' }],
    },
    '/inherited': { upstreamUrl: `${upstream.url}/inherited`, priceUsd: '0.02' },
    '/tokens': {
      upstreamUrl: `${upstream.url}/tokens`,
      priceUsd: '0.03',
      settlement: 'BEFORE_REQUEST',
      timeoutSeconds: 600,
      upstreamHeaders: [{ name: 'Authorization', value: 'Bearer of the stream' }],
    },
    '/mcp': { upstreamUrl: `${upstream.url}/mcp`, priceUsd: '0.04', protocol: 'MCP' },
  });
  const changes = {
    slug: SLUG_HOST.split('.')[0],
    gatewayHost: OWN_HOST,
    upstreamHeaders: [
      { name: 'Authorization', value: 'Bearer of the project', urlPrefix: `${upstream.url}/inherited` },
    ],
  };
  const changed = await alice.rest('PATCH', shop.base, changes);
  expect(changed.status, JSON.stringify(changed.body)).toBe(200);
  for (const host of [SLUG_HOST, OWN_HOST]) {
    await vi.waitUntil(async () => (await fetch(urlAt('/own', host))).status === 402, { timeout: 60_000 });
  }
});

beforeEach(() => {
  upstream.requests.length = 0;
});

afterAll(async () => {
  vi.restoreAllMocks();
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const urlAt = (path: string, host?: string) =>
  host ? `http://${host}:${new URL(app.url).port}${path}` : `${shop.url}${path}`;

type Kind = {
  method?: string;
  /** The path below the project. */
  path: string;
  host?: string;
  body?: string;
  contentType?: string;
  priceAtomic: bigint;
  /** The request that the upstream must get. */
  received: string;
  authorization?: string;
};

const TOOL_CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } });

/** A private upstream serves all of them. */
const KINDS: Record<string, Kind> = {
  'GET at its own price': { path: '/items/7', priceAtomic: 300n, received: 'GET /read/7' },
  'POST at its own price': {
    method: 'POST',
    path: '/items/7',
    body: 'new',
    priceAtomic: 70_000n,
    received: 'POST /write/7 new',
  },
  'PATCH at the price that it shares with POST': {
    method: 'PATCH',
    path: '/items/7',
    body: 'changed',
    priceAtomic: 70_000n,
    received: 'PATCH /write/7 changed',
  },
  'DELETE at its own price': {
    method: 'DELETE',
    path: '/items/7',
    priceAtomic: 5n,
    received: 'DELETE /remove/7',
  },
  'a tool call of an MCP server': {
    method: 'POST',
    path: '/mcp',
    body: TOOL_CALL,
    contentType: 'application/json',
    priceAtomic: 40_000n,
    received: `POST /mcp ${TOOL_CALL.replace('"id":1', '"id":"(another)"')}`,
  },
  'a path below a wildcard': {
    path: '/files/a/b%20c/?q=%C3%BC',
    priceAtomic: 10_000n,
    received: 'GET /files/a/b%20c/?q=%C3%BC',
  },
  'an endpoint with a credential': {
    path: '/own',
    priceAtomic: 10_000n,
    received: 'GET /own',
    authorization: 'Bearer of the endpoint',
  },
  "an endpoint with its project's credential": {
    path: '/inherited',
    priceAtomic: 20_000n,
    received: 'GET /inherited',
    authorization: 'Bearer of the project',
  },
  "the project's name under the service's domain": {
    method: 'POST',
    path: '/items/8',
    host: SLUG_HOST,
    body: 'named',
    priceAtomic: 70_000n,
    received: 'POST /write/8 named',
  },
  "the seller's own host": {
    method: 'DELETE',
    path: '/items/9',
    host: OWN_HOST,
    priceAtomic: 5n,
    received: 'DELETE /remove/9',
  },
};

const VERSIONS = [
  [2, payingFetch, 'payment-response'],
  [1, payingFetchV1, 'x-payment-response'],
] as const;

describe.each(VERSIONS)('a stock client of version %s pays for', (_version, clientOf, receiptHeader) => {
  /** Checks what the buyer was charged, and the payment's row. */
  async function checkPaid(answer: Response, method: string, priceAtomic: bigint, balance: bigint): Promise<void> {
    expect(balance).toBe(BUDGET_ATOMIC - priceAtomic);
    const receipt = decodeHeader<{ transaction: string }>(answer.headers.get(receiptHeader));
    expect(receipt).toMatchObject({ success: true });
    const { rows } = await database.query(
      'SELECT status, method, "amountAtomic"::text AS atomic, "transactionHash" AS transaction FROM "Payment" WHERE id = $1',
      [answer.headers.get('tollgate-payment-id')],
    );
    expect(rows).toEqual([
      { status: 'SETTLED', method, atomic: priceAtomic.toString(), transaction: receipt.transaction },
    ]);
  }

  test.each(Object.entries(KINDS))('%s', async (_title, kind) => {
    const { method = 'GET', path, host, body, contentType, priceAtomic, received, authorization } = kind;
    upstream.handle(({ headers }) =>
      headers.authorization === authorization ? { statusCode: 201, body: 'served' } : { statusCode: 401 },
    );
    const buyer = await rails.wallet(BUDGET_ATOMIC);

    const answer = await clientOf(buyer)(urlAt(path, host), {
      method,
      ...(body && { body }),
      ...(contentType && { headers: { 'content-type': contentType } }),
    });

    expect([answer.status, await answer.text()]).toEqual([201, 'served']);
    const got = upstream.requests.map((request) => `${request.method} ${request.path} ${request.body}`.trim());
    expect(got.map((one) => one.replace(/tollgate_call_[\w-]+/, '(another)'))).toEqual([received]);
    await checkPaid(answer, method, priceAtomic, await rails.chain.balanceOf(buyer.address));
  });

  test.each([undefined, SLUG_HOST, OWN_HOST])(
    'a streamed response, and reads its start while the API holds back the end (host: %s)',
    async (host) => {
      const { promise: startRead, resolve: sendRest } = Promise.withResolvers<void>();
      upstream.handle(async (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
        await startRead;
        response.end('data: 2\n\n');
        return undefined;
      });
      const buyer = await rails.wallet(BUDGET_ATOMIC);

      const answer = await clientOf(buyer)(urlAt('/tokens', host), { method: 'POST', body: 'a question' });

      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      expect((await reader.read()).value).toBe('data: 1\n\n');
      await checkPaid(answer, 'POST', 30_000n, await rails.chain.balanceOf(buyer.address));
      sendRest();
      expect((await reader.read()).value).toBe('data: 2\n\n');
      expect((await reader.read()).done).toBe(true);
      expect(upstream.requests.map(({ method, body }) => `${method} ${body}`)).toEqual(['POST a question']);
      expect(upstream.requests[0]!.headers.authorization).toBe('Bearer of the stream');
    },
  );
});
