import { once } from 'node:events';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { headerLines, rawRequest, sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const CENT = 10_000n;
const MEGABYTE = 1024 * 1024;

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let upstream: Receiver;
let database: TestDatabase;
let sql: pg.Client;
let shop: Awaited<ReturnType<typeof createShop>>;
/** The shop of another seller, whose API never finishes its responses. */
let endless: Awaited<ReturnType<typeof createShop>>;
const endlessResponses: ServerResponse[] = [];
const agents: Agent[] = [];

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  database = await createTestDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  app = await startTestApp({
    env: rails.env,
    databaseUrl: database.url,
    // Counts bad payments in the database.
    config: { databaseUrl: database.url },
    responseMemory: { maxBytes: 24 * MEGABYTE, maxAddressBytes: 20 * MEGABYTE, maxPaymentBytes: 20 * MEGABYTE },
  });
  alice = await app.user('alice');
  shop = await createShop(app, alice, {
    '/orders': { upstreamUrl: `${upstream.url}/orders` },
    '/reports': { upstreamUrl: `${upstream.url}/reports`, timeoutSeconds: 1 },
    '/large': { upstreamUrl: `${upstream.url}/large` },
    '/free': { upstreamUrl: `${upstream.url}/large`, priceUsd: '0' },
    '/waiting': { upstreamUrl: `${upstream.url}/waiting` },
    '/too-large': { upstreamUrl: `${upstream.url}/too-large` },
    '/echo': { upstreamUrl: `${upstream.url}/echo` },
    '/stream': { upstreamUrl: `${upstream.url}/waiting`, settlement: 'BEFORE_REQUEST' },
    '/missing': { upstreamUrl: `${upstream.url}/missing` },
    '/moved': { upstreamUrl: `${upstream.url}/moved` },
  });
  endless = await createShop(app, await app.user('mallory'), {
    '/endless': { upstreamUrl: `${upstream.url}/endless` },
    '/orders': { upstreamUrl: `${upstream.url}/orders` },
  });
  upstream.handle(({ path, headers }, response) => {
    if (path === '/large') return { body: Buffer.alloc(9 * MEGABYTE) };
    if (path === '/too-large') return { body: Buffer.alloc(11 * MEGABYTE) };
    if (path === '/echo') return { headers: { 'x-agent': headers['user-agent']!, 'x-filler': 'a'.repeat(13_000) } };
    if (path === '/missing') return { statusCode: 404, body: 'missing' };
    if (path === '/moved') {
      response.writeHead(301, { location: '/orders' }).end();
      return undefined;
    }
    if (path === '/endless') {
      response.writeHead(200).write(Buffer.alloc(9 * MEGABYTE));
      endlessResponses.push(response);
      return undefined;
    }
    // Never responds.
    if (path === '/reports' || path === '/waiting') return new Promise(() => {});
    return { statusCode: 201, body: 'ordered' };
  });
});

afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.destroy()));
  // The gateway waits for its calls to end.
  await upstream?.close();
  await app?.stop();
  await sql?.end();
  await database?.drop();
  await rails?.close();
});

type Client = ReturnType<typeof openClient>;

let lastAddress = 1;

/** A client with its own loopback address, so that its bad payments are counted separately. */
function openClient() {
  lastAddress += 1;
  const localAddress = `127.0.0.${lastAddress}`;
  const agent = new Agent({ localAddress });
  agents.push(agent);
  return {
    localAddress,
    ask: (path: string, init: Parameters<typeof fetch>[1] = {}, { url } = shop) =>
      fetch(url + path, { dispatcher: agent, ...init }),
  };
}

const numberOf = (path: string) => upstream.requests.filter((one) => one.path === path).length;

test.each([
  ['the default time limit', '/orders', 74],
  ['its own time limit', '/reports', 15],
])(
  'an upstream with %s is never called for a payment that could expire while it works',
  async (_what, path, seconds) => {
    const { ask } = openClient();
    const validBefore = String(Math.floor(Date.now() / 1000) + seconds);
    const response = await ask(path, { headers: v2Headers(await sign(await rails.wallet(CENT), { validBefore })) });
    expect([response.status, await response.json()]).toEqual([
      402,
      expect.objectContaining({ error: 'invalid_exact_evm_payload_authorization_valid_before' }),
    ]);
    expect(numberOf(path)).toBe(0);
  },
);

describe('a payment counts against its address if', () => {
  /** Sends payments until all of them count. Returns their outcomes. */
  async function countedOutcomes(
    { localAddress }: Client,
    send: () => Promise<Pick<Response, 'status' | 'json'>>,
  ): Promise<Set<string>> {
    const count = 5;
    const { rows: before } = await sql.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const responses = await Promise.all(Array.from({ length: count }, send));
    const bodies = (await Promise.all(responses.map((response) => response.json()))) as { code: string }[];
    // Each bad payment of an address moves this time by a second, because sixty a minute are allowed.
    const isCounted = async () => {
      const { rows } = await sql.query<{ isCounted: boolean }>(
        `SELECT "arrivesAt" >= $2::timestamptz + make_interval(secs => $3) AS "isCounted" FROM "RateLimit" WHERE "key" = $1`,
        [`payments ${localAddress}`, before[0]!.now, count],
      );
      return rows[0]?.isCounted;
    };
    await expect.poll(isCounted).toBe(true);
    return new Set(bodies.map(({ code }, index) => `${responses[index]!.status} ${code}`));
  }

  test('other payments of the same wallet need its money', async () => {
    const client = openClient();
    const buyer = await rails.wallet(CENT);
    const gone = new AbortController();
    const first = client.ask('/waiting', { headers: v2Headers(await sign(buyer)), signal: gone.signal });
    await upstream.waitFor(({ path }) => path === '/waiting');
    const outcomes = await countedOutcomes(client, async () =>
      client.ask('/waiting', { headers: v2Headers(await sign(buyer)) }),
    );
    expect(outcomes).toEqual(new Set(['429 FUNDS_IN_USE']));
    gone.abort();
    await expect(first).rejects.toThrow();
  });

  test('the facilitator rejects the gateway’s request because of it', async () => {
    const client = openClient();
    rails.facilitator.misbehave('verify', (response) => void response.writeHead(400).end('{}'));
    const buyer = await rails.wallet(CENT);
    const outcomes = await countedOutcomes(client, async () =>
      client.ask('/orders', { headers: v2Headers(await sign(buyer)) }),
    );
    rails.facilitator.misbehave('verify', undefined);
    expect(outcomes).toEqual(new Set(['502 FACILITATOR_REJECTED']));
  });

  test('its request body arrives too slowly for the upstream', async () => {
    const client = openClient();
    const buyer = await rails.wallet(100n * CENT);
    const outcomes = await countedOutcomes(client, async () => {
      const { hostname, port, pathname } = new URL(`${shop.url}/reports`);
      const headers = { ...v2Headers(await sign(buyer)), 'transfer-encoding': 'chunked' };
      const { localAddress } = client;
      const sent = httpRequest({ hostname, port, path: pathname, method: 'POST', headers, localAddress });
      // The rest never arrives.
      sent.write('{');
      sent.on('error', () => {});
      const [response] = await once(sent, 'response');
      return { status: response.statusCode, json: async () => JSON.parse(await text(response)) };
    });
    expect(outcomes).toEqual(new Set(['504 UPSTREAM_TIMEOUT']));
    expect(await rails.chain.balanceOf(buyer.address)).toBe(100n * CENT);
  });

  test('its request body turns out to be too large', async () => {
    const client = openClient();
    const buyer = await rails.wallet(100n * CENT);
    const outcomes = await countedOutcomes(client, async () => {
      const body = Readable.from(Array.from({ length: 11 }, () => Buffer.alloc(MEGABYTE)));
      const headers = v2Headers(await sign(buyer));
      return client.ask('/orders', { method: 'POST', headers, body, duplex: 'half' });
    });
    expect(outcomes).toEqual(new Set(['413 PAYLOAD_TOO_LARGE']));
  });
});

/** Sends a bad payment, and returns how much of the address's limit is used up, including by any earlier payments. */
async function secondsAheadAfterOneBad({ ask, localAddress }: Client): Promise<number> {
  const body = Readable.from(Array.from({ length: 11 }, () => Buffer.alloc(MEGABYTE)));
  const headers = v2Headers(await sign(await rails.wallet(CENT)));
  expect((await ask('/orders', { method: 'POST', headers, body, duplex: 'half' })).status).toBe(413);
  const { rows } = await sql.query<{ ahead: number }>(
    `SELECT extract(epoch FROM "arrivesAt" - clock_timestamp())::float8 AS ahead FROM "RateLimit" WHERE "key" = $1`,
    [`payments ${localAddress}`],
  );
  return rows[0]!.ahead;
}

test("a payment without room in its address's memory is rejected before it is verified, and does not count against the address", async () => {
  const client = openClient();
  const unread = [await client.ask('/free'), await client.ask('/free')];
  const headers = v2Headers(await sign(await rails.wallet(CENT)));
  const before = rails.facilitator.countOf('verify');
  expect((await client.ask('/large', { headers })).status).toBe(503);
  expect(rails.facilitator.countOf('verify')).toBe(before);
  await Promise.all(unread.map(({ body }) => body!.cancel()));
  await expect.poll(async () => (await client.ask('/large', { headers })).status).toBe(200);
});

test('a payment for a response that is larger than 10 MB is not charged, and does not count against its address', async () => {
  const client = openClient();
  const buyer = await rails.wallet(CENT);
  for (let index = 0; index < 5; index++) {
    const response = await client.ask('/too-large', { headers: v2Headers(await sign(buyer)) });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([502, 'UPSTREAM_FAILED']);
  }
  expect(await secondsAheadAfterOneBad(client)).toBeLessThan(3);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(CENT);
});

test('a payment does not count against its address if other addresses use up the memory for its response', async () => {
  const other = openClient();
  const client = openClient();
  const unread = [await other.ask('/free'), await client.ask('/free')];
  const buyer = await rails.wallet(100n * CENT);
  for (let index = 0; index < 5; index++) {
    const response = await client.ask('/large', { headers: v2Headers(await sign(buyer)) });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([503, 'UNAVAILABLE']);
  }
  expect(await secondsAheadAfterOneBad(client)).toBeLessThan(3);
  await Promise.all(unread.map((one) => one.body!.cancel()));
});

test("a seller whose API never finishes its responses doesn't take up the memory of other sellers", async () => {
  const colluder = await rails.wallet(2n * CENT);
  const calls = [openClient(), openClient()].map(async ({ ask }) => {
    const response = await ask('/endless', { headers: v2Headers(await sign(colluder)) }, endless);
    return `${response.status} ${((await response.json()) as { code: string }).code}`;
  });
  await expect.poll(() => endlessResponses.length).toBe(2);
  // While the first response is settled, the gateway reads the endless ones.
  for (let index = 0; index < 2; index++) {
    const buyer = await rails.wallet(CENT);
    const response = await openClient().ask('/large', { headers: v2Headers(await sign(buyer)) });
    expect([response.status, (await response.bytes()).length]).toEqual([200, 9 * MEGABYTE]);
  }
  expect(await Promise.race(calls)).toBe('503 UNAVAILABLE');
  for (const response of endlessResponses) response.destroy();
  await Promise.all(calls);
  expect(await rails.chain.balanceOf(colluder.address)).toBe(2n * CENT);
});

test('a response whose payment is being settled is not dropped to free memory', async () => {
  const settling = Promise.withResolvers<void>();
  rails.facilitator.misbehave('settle', async (response, real) => {
    await settling.promise;
    response.end(JSON.stringify(await real()));
  });
  const before = rails.facilitator.countOf('settle');
  const buy = async () => openClient().ask('/large', { headers: v2Headers(await sign(await rails.wallet(CENT))) });
  const bought = [buy(), buy()];
  await expect.poll(() => rails.facilitator.countOf('settle')).toBe(before + 2);
  expect((await buy()).status).toBe(503);
  settling.resolve();
  const responses = await Promise.all(bought);
  expect(await Promise.all(responses.map(async (one) => (await one.bytes()).length))).toEqual([
    9 * MEGABYTE,
    9 * MEGABYTE,
  ]);
  rails.facilitator.misbehave('settle', undefined);
});

test('an address with unread responses loses one to a buyer who uses less memory', async () => {
  const hoarder = openClient();
  const unread = [await hoarder.ask('/free'), await hoarder.ask('/free')];
  const buyer = await rails.wallet(CENT);
  const response = await openClient().ask('/large', { headers: v2Headers(await sign(buyer)) });
  expect([response.status, (await response.bytes()).length]).toEqual([200, 9 * MEGABYTE]);
  const ends = await Promise.allSettled(unread.map((one) => one.bytes()));
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('an address loses a response that waits behind a paid stream, and the connection, to a buyer who uses less memory', async () => {
  const { localAddress } = openClient();
  const { hostname, port, pathname } = new URL(shop.url);
  const hoarder = connect({ host: hostname, port: Number(port), localAddress }).resume();
  const payment = headerLines(v2Headers(await sign(await rails.wallet(CENT))));
  const before = [numberOf('/waiting'), numberOf('/large')] as const;
  hoarder.write(rawRequest(`GET ${pathname}/stream`, 'Host: a', ...payment));
  await expect.poll(() => numberOf('/waiting')).toBe(before[0] + 1);
  hoarder.write(rawRequest(`GET ${pathname}/free`, 'Host: a'));
  await expect.poll(() => numberOf('/large')).toBe(before[1] + 1);
  const unread = await openClient().ask('/free');
  const closed = once(hoarder, 'close');
  const response = await openClient().ask('/large', { headers: v2Headers(await sign(await rails.wallet(CENT))) });
  expect([response.status, (await response.bytes()).length]).toEqual([200, 9 * MEGABYTE]);
  await closed;
  await unread.body!.cancel();
});

test('headers for the upstream that total more than 8 KB are rejected before the payment is used', async () => {
  const { ask } = openClient();
  const headers = v2Headers(await sign(await rails.wallet(CENT)));
  const before = numberOf('/orders');
  const long = await ask('/orders', { headers: { ...headers, 'user-agent': 'a'.repeat(8_192) } });
  expect([long.status, ((await long.json()) as { code: string }).code]).toEqual([431, 'HEADERS_TOO_LARGE']);
  expect(numberOf('/orders')).toBe(before);
  expect((await ask('/orders', { headers: { ...headers, 'user-agent': 'a'.repeat(7_000) } })).status).toBe(201);
});

test('payments that don’t meet the terms use two of ten database connections, so that others from elsewhere don’t wait for them', async () => {
  const cheap = openClient();
  const headers = v2Headers(await sign(await rails.wallet(CENT), { value: '1' }));
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('BEGIN; LOCK TABLE "Payment" IN ACCESS EXCLUSIVE MODE');
    const asked = Array.from({ length: 30 }, () => cheap.ask('/orders', { headers }));
    const waiting = async () => {
      const { rows } = await sql.query(
        `SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%"Payment"%nonce%'`,
      );
      return rows.length;
    };
    await expect.poll(waiting).toBeGreaterThanOrEqual(2);
    expect((await alice.rest('GET', shop.base)).status).toBe(200);
    expect(await waiting()).toBe(2);
    await client.query('ROLLBACK');
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([402]));
  } finally {
    await client.end();
  }
});

test('requests for unknown projects use two of ten database connections, so that others from elsewhere don’t wait for them', async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query('BEGIN; LOCK TABLE "Endpoint" IN ACCESS EXCLUSIVE MODE');
    const asked = Array.from({ length: 30 }, () => fetch(`${app.url}/gateway/${newId('Project')}/llms.txt`));
    const waiting = async () => {
      const { rows } = await sql.query(
        `SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%"secretProjectHeaders"%'`,
      );
      return rows.length;
    };
    await expect.poll(waiting).toBeGreaterThanOrEqual(2);
    expect((await alice.rest('GET', shop.base)).status).toBe(200);
    expect(await waiting()).toBe(2);
    await client.query('ROLLBACK');
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([404]));
  } finally {
    await client.end();
  }
});

test.each([
  ['run into the time limit of an API', '/reports', {}, 504],
  ['get response headers that are too large', '/echo', { 'user-agent': 'a'.repeat(2_000) }, 502],
])('an address whose payments %s too often is limited for that project only', async (_what, path, extra, status) => {
  const { ask } = openClient();
  const buyer = await rails.wallet(200n * CENT);
  const statuses = async (count: number) => {
    const asked = Array.from({ length: count }, async () =>
      ask(path, { headers: { ...extra, ...v2Headers(await sign(buyer)) } }),
    );
    return new Set((await Promise.all(asked)).map((response) => response.status));
  };
  const seen = new Set<number>();
  // One more payment per second is allowed, so a slow machine needs more rounds.
  for (let round = 0; round < 20 && !seen.has(429); round++) for (const one of await statuses(70)) seen.add(one);
  expect([...seen]).toEqual(expect.arrayContaining([status, 429]));
  const elsewhere = await ask('/orders', { headers: v2Headers(await sign(await rails.wallet(CENT))) }, endless);
  expect(elsewhere.status).toBe(201);
});

test.each([
  ['responds to with an error', '/missing', 404],
  ['redirects', '/moved', 502],
])('an address with too many requests that an API %s is limited for that project only', async (_what, path, status) => {
  const { ask, localAddress } = openClient();
  const buyer = await rails.wallet(100n * CENT);
  const buy = async (from = shop, what = path) => ask(what, { headers: v2Headers(await sign(buyer)) }, from);
  // All of them have been used, for so long that none is free again during the test. The next one is still sent, because the
  // address is counted after it.
  await sql.query(`INSERT INTO "RateLimit" ("key", "arrivesAt") VALUES ($1, now() + interval '1 hour')`, [
    `error responses ${shop.projectId} ${localAddress}`,
  ]);
  expect((await buy()).status).toBe(status);
  await expect.poll(async () => (await buy()).status, { interval: 20 }).toBe(429);
  expect((await buy(endless, '/orders')).status).toBe(201);
});
