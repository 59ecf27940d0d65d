import { randomBytes } from 'node:crypto';
import { createServer, get, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway-processes.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, decodeHeader, payingFetch, payingFetchV1, type Rails, SELLER, startRails } from '../support.ts';

const CENT = 10_000n;
const MEGABYTE = 1024 * 1024;

/** Fails a test if an endpoint has the usual time limit of 60 seconds instead of its own. */
const BELOW_USUAL_LIMIT = { timeout: 55_000 };

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let gateways: GatewayProcess[];
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: { ...rails.env, ROLES: 'api,worker' } });
  gateways = await Promise.all([1, 2].map(() => startGatewayProcess(app, rails)));
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
  shop = await createShop(app, alice, {
    '/tokens/*': { upstreamUrl: `${upstream.url}/tokens`, settlement: 'BEFORE_REQUEST' },
    '/hasty/*': { upstreamUrl: `${upstream.url}/hasty`, settlement: 'BEFORE_REQUEST', timeoutSeconds: 2 },
    '/hasty-answers': { upstreamUrl: `${upstream.url}/hasty-answers`, timeoutSeconds: 1 },
  });
});

beforeEach(async () => {
  upstream.requests.length = 0;
  upstream.handle(() => ({ headers: { 'content-type': 'text/plain' }, body: 'served' }));
  rails.facilitator.calls.length = 0;
  rails.facilitator.misbehave('verify', undefined);
  rails.facilitator.misbehave('settle', undefined);
  await database.query('DELETE FROM "RateLimit"');
});

afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.end('SIGKILL')));
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const urlOf = (path: string, index = 0) => `${gateways[index]!.url}/gateway/${shop.projectId}${path}`;
const rowOf = async ({ address }: PrivateKeyAccount) => {
  const { rows } = await database.query('SELECT * FROM "Payment" WHERE "payer" = $1', [address.toLowerCase()]);
  return rows[0];
};

/** Waits until the end of the payment's last call is recorded. */
async function callEnded(buyer: PrivateKeyAccount) {
  await expect.poll(async () => (await rowOf(buyer))?.callLeasedUntil, { interval: 20 }).toBeNull();
  return rowOf(buyer);
}

/** Returns a wallet with one cent, and the headers for its payment. */
async function buyerOf(amountAtomic = CENT): Promise<{ buyer: PrivateKeyAccount; headers: Record<string, string> }> {
  const buyer = await rails.wallet(amountAtomic);
  return { buyer, headers: v2Headers(await sign(buyer)) };
}

/** Takes over the next upstream response, and resolves with it. */
function nextUpstream(): Promise<ServerResponse> {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>();
  upstream.handle((_request, response) => void resolve(response));
  return promise;
}

/** Sends a request without reading the response, so that the test can read it later. */
async function open(path: string, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(urlOf(path), { headers, agent: false }, resolve).on('error', reject);
  });
}

const codeOf = async (answer: Response) => [answer.status, (await answer.json()).code];

describe('with settlement before the request', () => {
  test('the buyer gets each chunk while the upstream is still holding back the next one', async () => {
    const buyer = await rails.wallet(CENT);
    const responding = nextUpstream();
    const asking = payingFetch(buyer)(urlOf('/tokens/chat'));
    const response = await responding;
    // By now, the payment has been settled.
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
    expect(await rowOf(buyer)).toMatchObject({ status: 'SETTLED', upstreamCallCount: 1, servedAt: null });

    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const answer = await asking;
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(decodeHeader(answer.headers.get('payment-response'))).toMatchObject({ success: true });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    const delays: number[] = [];
    for (let token = 0; token < 1000; token++) {
      const writtenAt = performance.now();
      response.write(`data: ${token}\n\n`);
      // The next chunk isn't written before this one has arrived.
      expect((await reader.read()).value).toBe(`data: ${token}\n\n`);
      delays.push(performance.now() - writtenAt);
    }
    const [first, median] = [delays[0]!, delays.toSorted((a, b) => a - b)[500]!];
    console.info(
      `Chunks arrived ${first.toFixed(1)} ms (the first) and ${median.toFixed(2)} ms (median) after the upstream.`,
    );
    response.end();
    expect((await reader.read()).done).toBe(true);

    expect(await callEnded(buyer)).toMatchObject({ status: 'SETTLED', upstreamStatusCode: 200, unservedReason: null });
    const id = answer.headers.get('tollgate-payment-id');
    const { body } = await alice.rest<{ servedAt: string }>('GET', `${shop.base}/payments/${id}`);
    expect(body).toMatchObject({ settlement: 'BEFORE_REQUEST', upstreamCallCount: 1, unservedReason: null });
    expect(body.servedAt).not.toBeNull();
    const events = await database.query(`SELECT type FROM "Event" WHERE data->>'paymentId' = $1 ORDER BY id`, [id]);
    expect(events.rows.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['payment.verified', 'payment.settled']),
    );
  });

  test('a version 1 client pays and is served', async () => {
    const buyer = await rails.wallet(CENT);
    const answer = await payingFetchV1(buyer)(urlOf('/tokens/v1'));
    expect([answer.status, await answer.text()]).toEqual([200, 'served']);
    expect(decodeHeader(answer.headers.get('x-payment-response'))).toMatchObject({ success: true });
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test('the 402 says in both versions that the buyer is charged first, and what happens if the call fails', async () => {
    const answer = await fetch(urlOf('/tokens/terms'));
    const { error } = decodeHeader(answer.headers.get('payment-required'));
    expect(error).toMatch(
      /^Payment is required\. You are charged before the API is called\. .* retry once for free: .* again\.$/,
    );
    expect((await answer.json()).error).toBe(error);
  });

  test('a served payment is rejected when it is presented again', async () => {
    const { buyer, headers } = await buyerOf();
    expect(await (await fetch(urlOf('/tokens/once'), { headers })).text()).toBe('served');
    await callEnded(buyer);
    const again = await fetch(urlOf('/tokens/once', 1), { headers });
    expect(decodeHeader(again.headers.get('payment-response'))).toMatchObject({ success: true });
    expect(await again.json()).toMatchObject({
      status: 410,
      code: 'PAYMENT_RESPONSE_GONE',
      detail: expect.stringMatching(/streamed/),
    });
    expect(upstream.requests).toHaveLength(1);
  });

  // Much less than the time that a buyer's connection stays open.
  test('a process that is asked to stop finishes the streams that are open', { timeout: 40_000 }, async () => {
    const { databaseUrl, dataDir } = app;
    const stopping = await startTestApp({ env: { ...rails.env, ROLES: 'gateway' }, databaseUrl, dataDir });
    const { buyer, headers } = await buyerOf();
    const responding = nextUpstream();
    const asking = fetch(`${stopping.url}/gateway/${shop.projectId}/tokens/stopping`, { headers });
    const response = await responding;
    response.writeHead(200).write('first');
    const answer = await asking;
    const ended = stopping.stop();
    // The server accepts no new requests.
    await expect
      .poll(() =>
        fetch(`${stopping.url}/healthz`).then(
          () => true,
          () => false,
        ),
      )
      .toBe(false);
    response.end('last');
    expect(await answer.text()).toBe('firstlast');
    await ended;
    expect(await rowOf(buyer)).toMatchObject({ upstreamStatusCode: 200, unservedReason: null, callLeasedUntil: null });
    expect((await rowOf(buyer)).servedAt).not.toBeNull();
  });

  test('if the settlement fails, the upstream is not called', async () => {
    const { buyer, headers } = await buyerOf();
    rails.facilitator.misbehave('settle', (response) => {
      response.end(JSON.stringify({ success: false, errorReason: 'insufficient_funds', transaction: '', network: '' }));
    });
    const answer = await fetch(urlOf('/tokens/unsettled'), { headers });
    expect(answer.status).toBe(402);
    expect(await rowOf(buyer)).toMatchObject({ status: 'FAILED', failureStage: 'SETTLE', upstreamCallCount: 0 });
    expect(upstream.requests).toEqual([]);
  });

  test('a response to HEAD has the length of the body that is not sent', async () => {
    const { buyer, headers } = await buyerOf();
    upstream.handle(() => ({ headers: { 'content-length': '12345' } }));
    const answer = await fetch(urlOf('/tokens/head'), { method: 'HEAD', headers });
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '12345']);
    expect(await callEnded(buyer)).toMatchObject({ upstreamStatusCode: 200, unservedReason: null });
  });

  test('a response without a body is passed on', async () => {
    const { buyer, headers } = await buyerOf();
    upstream.handle(() => ({ statusCode: 204 }));
    const answer = await fetch(urlOf('/tokens/nothing'), { headers });
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect((await callEnded(buyer)).servedAt).not.toBeNull();
  });
});

/** The ways in which a call fails: what the upstream does, the buyer's status code, and the recorded reason. */
const FAILURES: [
  how: string,
  act: (response: ServerResponse) => void,
  got: (answer: Response) => Promise<void>,
  reason: string,
][] = [
  [
    'closes the connection without a response',
    (response) => response.destroy(),
    async (answer) => {
      expect(await answer.json()).toMatchObject({
        status: 502,
        code: 'UPSTREAM_FAILED',
        // Programs that believe this would pay twice.
        title: expect.not.stringContaining('Nothing was charged'),
        detail: expect.stringMatching(/You were charged\. .*to retry once for free/),
      });
    },
    'upstream_unreachable',
  ],
  [
    'responds with an error',
    (response) => response.writeHead(500).end('oops'),
    async (answer) => expect([answer.status, await answer.text()]).toEqual([500, 'oops']),
    'upstream_error',
  ],
  [
    'requires another payment',
    (response) => response.writeHead(402).end('{}'),
    async (answer) => expect(await codeOf(answer)).toEqual([502, 'UPSTREAM_FAILED']),
    'upstream_error',
  ],
  [
    'redirects',
    (response) => response.writeHead(302, { location: '/' }).end(),
    async (answer) => expect(await codeOf(answer)).toEqual([502, 'UPSTREAM_FAILED']),
    'upstream_redirect',
  ],
  [
    'breaks off in the middle of the response',
    (response) => {
      response.writeHead(200);
      response.write('half', () => response.destroy());
    },
    async (answer) => {
      expect(answer.status).toBe(200);
      await expect(answer.text()).rejects.toThrow();
    },
    'upstream_unreachable',
  ],
  [
    'sends less than its Content-Length',
    (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    },
    async (answer) => {
      expect(answer.headers.get('content-length')).toBe('100');
      await expect(answer.text()).rejects.toThrow();
    },
    'upstream_unreachable',
  ],
];

describe('a failed call after the settlement', () => {
  test.each(FAILURES)('can be repeated once for free if the upstream %s', async (_how, act, got, reason) => {
    const { buyer, headers } = await buyerOf();
    upstream.handle((_request, response) => void act(response));
    // A GET would be sent again on a new connection.
    const request = { method: 'POST', headers };
    const first = await fetch(urlOf('/tokens/failing'), request);
    expect(decodeHeader(first.headers.get('payment-response'))).toMatchObject({ success: true });
    const id = first.headers.get('tollgate-payment-id');
    await got(first);
    expect(await callEnded(buyer)).toMatchObject({ status: 'SETTLED', servedAt: null, unservedReason: reason });
    expect((await alice.rest('GET', `${shop.base}/payments/${id}`)).body).toMatchObject({ unservedReason: reason });

    upstream.handle(() => ({ body: 'served' }));
    const second = await fetch(urlOf('/tokens/failing', 1), request);
    expect([second.status, await second.text()]).toEqual([200, 'served']);
    expect(second.headers.get('tollgate-payment-id')).toBe(id);
    expect((await callEnded(buyer)).unservedReason).toBeNull();

    expect(await codeOf(await fetch(urlOf('/tokens/failing'), request))).toEqual([410, 'PAYMENT_RESPONSE_GONE']);
    expect(upstream.requests).toHaveLength(2);
    expect(rails.facilitator.countOf('settle')).toBe(1);
  });

  test('cannot be repeated twice, and the error says that the API failed twice', async () => {
    const { buyer, headers } = await buyerOf();
    upstream.handle(() => ({ statusCode: 503 }));
    for (let time = 0; time < 2; time++) {
      expect((await fetch(urlOf('/tokens/never'), { headers })).status).toBe(503);
      await callEnded(buyer);
    }
    const third = await fetch(urlOf('/tokens/never'), { headers });
    expect(await third.json()).toMatchObject({
      code: 'PAYMENT_RESPONSE_GONE',
      detail: expect.stringMatching(/failed twice/),
    });
    expect(upstream.requests).toHaveLength(2);
    expect(await rowOf(buyer)).toMatchObject({ upstreamCallCount: 2, unservedReason: 'upstream_error' });
  });

  test("is not used up by a repeat that can't be sent, because the endpoint's headers can't be decrypted", async () => {
    const upstreamHeaders = [{ name: 'X-Api-Key', value: 'key-of-the-seller' }];
    const keyed = { path: '/keyed', upstreamUrl: `${upstream.url}/keyed`, priceUsd: '0.01', upstreamHeaders };
    const made = await alice.rest<{ id: string }>('POST', `${shop.base}/endpoints`, {
      ...keyed,
      settlement: 'BEFORE_REQUEST',
    });
    const { buyer, headers } = await buyerOf();
    upstream.handle(() => ({ statusCode: 500 }));
    expect((await fetch(urlOf('/keyed'), { headers })).status).toBe(500);
    await callEnded(buyer);

    const { rows } = await database.query('SELECT "secretUpstreamHeaders" AS sealed FROM "Endpoint" WHERE id = $1', [
      made.body.id,
    ]);
    const seal = (sealed: string) =>
      database.query('UPDATE "Endpoint" SET "secretUpstreamHeaders" = $2 WHERE id = $1', [made.body.id, sealed]);
    const statusOf = async () => (await fetch(urlOf('/keyed'))).status;
    await seal('broken');
    await expect.poll(statusOf).toBe(503);
    const refused = await fetch(urlOf('/keyed'), { headers });
    expect(decodeHeader(refused.headers.get('payment-response'))).toMatchObject({ success: true });
    expect(await codeOf(refused)).toEqual([503, 'UNAVAILABLE']);
    expect(await rowOf(buyer)).toMatchObject({ upstreamCallCount: 1, unservedReason: 'upstream_error' });

    await seal(rows[0].sealed);
    await expect.poll(statusOf).toBe(402);
    upstream.handle(() => ({ body: 'served' }));
    expect(await (await fetch(urlOf('/keyed'), { headers })).text()).toBe('served');
    expect(upstream.requests.map(({ headers: { 'x-api-key': key } }) => key)).toEqual(
      Array(2).fill('key-of-the-seller'),
    );
  });

  test.each([
    ['has become free', { priceUsd: '0' }, 200],
    ['now settles after the response', { settlement: 'AFTER_RESPONSE' }, 402],
  ])('can be repeated as a paid request even if the endpoint %s', async (_what, change, unpaid) => {
    const path = `/changed-${unpaid}`;
    const endpoint = { path, upstreamUrl: upstream.url, priceUsd: '0.01', settlement: 'BEFORE_REQUEST' };
    const made = await alice.rest<{ id: string }>('POST', `${shop.base}/endpoints`, endpoint);
    const { buyer, headers } = await buyerOf();
    upstream.handle(() => ({ statusCode: 500 }));
    const first = await fetch(urlOf(path), { headers });
    await callEnded(buyer);
    upstream.handle(() => ({ body: 'served' }));
    await alice.rest('PATCH', `${shop.base}/endpoints/${made.body.id}`, change);
    const error = async () => {
      const { status, headers: shown } = await fetch(urlOf(path));
      return [status, shown.get('payment-required') && decodeHeader(shown.get('payment-required')).error];
    };
    await expect.poll(error).toEqual([unpaid, unpaid === 402 ? 'Payment is required.' : null]);
    upstream.requests.length = 0;
    const second = await fetch(urlOf(path), { headers });
    expect([second.status, await second.text()]).toEqual([200, 'served']);
    const id = first.headers.get('tollgate-payment-id');
    expect(second.headers.get('tollgate-payment-id')).toBe(id);
    expect(upstream.requests[0]!.headers).toMatchObject({ 'tollgate-payment-id': id });
    expect((await callEnded(buyer)).servedAt).not.toBeNull();
  });

  test('is repeated at another endpoint only if that doesn’t cost more than the buyer paid', async () => {
    const add = (fields: object) =>
      alice.rest<{ id: string }>('POST', `${shop.base}/endpoints`, { upstreamUrl: `${upstream.url}/dear`, ...fields });
    const any = { path: '/later/*', priceUsd: '0.01', settlement: 'BEFORE_REQUEST' };
    await add({ ...any, upstreamUrl: upstream.url });
    const { buyer, headers } = await buyerOf();
    upstream.handle(() => ({ statusCode: 404 }));
    expect((await fetch(urlOf('/later/report'), { headers })).status).toBe(404);
    await callEnded(buyer);

    upstream.handle(() => ({ body: 'served' }));
    const { id } = (await add({ path: '/later/report', priceUsd: '25', settlement: 'BEFORE_REQUEST' })).body;
    const price = async () => {
      const { accepts } = await (await fetch(urlOf('/later/report'))).json();
      return accepts[0].maxAmountRequired;
    };
    await expect.poll(price).toBe('25000000');
    const refused = await fetch(urlOf('/later/report'), { headers });
    expect(decodeHeader(refused.headers.get('payment-response'))).toMatchObject({ success: true });
    expect(await refused.json()).toMatchObject({
      code: 'PAYMENT_RESPONSE_GONE',
      detail: expect.stringMatching(/costs more/),
    });
    expect(upstream.requests).toHaveLength(1);
    // The call isn't used up.
    expect(await rowOf(buyer)).toMatchObject({ upstreamCallCount: 1, unservedReason: 'upstream_error' });

    await alice.rest('PATCH', `${shop.base}/endpoints/${id}`, { priceUsd: '0.01' });
    await expect.poll(price).toBe('10000');
    const second = await fetch(urlOf('/later/report'), { headers });
    expect([second.status, await second.text()]).toEqual([200, 'served']);
  });

  test('is repeated at the same endpoint, even if its price is higher now', async () => {
    const endpoint = { path: '/raised', upstreamUrl: upstream.url, priceUsd: '0.01', settlement: 'BEFORE_REQUEST' };
    const made = await alice.rest<{ id: string }>('POST', `${shop.base}/endpoints`, endpoint);
    const { buyer, headers } = await buyerOf();
    upstream.handle(() => ({ statusCode: 500 }));
    await fetch(urlOf('/raised'), { headers });
    await callEnded(buyer);
    upstream.handle(() => ({ body: 'served' }));
    await alice.rest('PATCH', `${shop.base}/endpoints/${made.body.id}`, { priceUsd: '25' });
    await expect
      .poll(async () => (await (await fetch(urlOf('/raised'))).json()).accepts[0].maxAmountRequired)
      .toBe('25000000');
    expect(await (await fetch(urlOf('/raised'), { headers })).text()).toBe('served');
  });

  test('causes one more upstream call if twenty repeats arrive simultaneously through two processes', async () => {
    const { buyer, headers } = await buyerOf();
    upstream.handle(() => ({ statusCode: 500 }));
    await fetch(urlOf('/tokens/twenty'), { headers });
    await callEnded(buyer);
    const { promise: othersResponded, resolve: release } = Promise.withResolvers<void>();
    upstream.handle(async () => {
      await othersResponded;
      return { body: 'served' };
    });
    let refusals = 0;
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const answer = await fetch(urlOf('/tokens/twenty', index % 2), { headers });
        if (answer.status !== 200 && ++refusals === 19) release();
        return [answer.status, answer.status === 200 ? await answer.text() : (await answer.json()).code];
      }),
    );
    expect(answers.filter(([status]) => status === 200)).toEqual([[200, 'served']]);
    expect(answers.filter(([status]) => status !== 200)).toEqual(
      Array.from({ length: 19 }, () => [409, 'PAYMENT_IN_PROGRESS']),
    );
    expect(upstream.requests).toHaveLength(2);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test('can be repeated only with the same body, which the upstream gets again', async () => {
    const { buyer, headers } = await buyerOf();
    const body = randomBytes(3 * MEGABYTE);
    const post = (sent: Buffer) =>
      fetch(urlOf('/tokens/body'), { method: 'POST', headers, body: new Uint8Array(sent) });
    upstream.handle(() => ({ statusCode: 500 }));
    await post(body);
    await callEnded(buyer);
    upstream.handle(() => ({ body: 'served' }));
    expect(await codeOf(await post(randomBytes(3 * MEGABYTE)))).toEqual([409, 'PAYMENT_REUSED']);
    expect((await post(body)).status).toBe(200);
    expect(upstream.requests.map((request) => request.body.equals(body))).toEqual([true, true]);
  });

  test.each([
    ['was served', [200], 410, 'PAYMENT_RESPONSE_GONE'],
    ['failed twice', [500, 500], 410, 'PAYMENT_RESPONSE_GONE'],
    ['failed once and is running again', [500, undefined], 409, 'PAYMENT_IN_PROGRESS'],
  ])('gets retries an error before their bodies have arrived if it %s', async (_how, statusCodes, ...error) => {
    const { buyer, headers } = await buyerOf();
    const body = Buffer.alloc(MEGABYTE, 'a');
    for (const statusCode of statusCodes) {
      upstream.handle(() => (statusCode ? { statusCode } : undefined));
      const paid = fetch(urlOf('/tokens/spent'), { method: 'POST', headers, body });
      if (statusCode) await paid.then((answer) => answer.bytes()).then(() => callEnded(buyer));
      else paid.catch(() => {});
    }
    const calls = statusCodes.length;
    await expect.poll(() => upstream.requests.length).toBe(calls);
    const sending = request(urlOf('/tokens/spent', 1), {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': 10 * MEGABYTE },
    });
    sending.on('error', () => {});
    const answered = new Promise<IncomingMessage>((resolve) => sending.once('response', resolve));
    // The rest never arrives.
    sending.write('b');
    const answer = await answered;
    expect([answer.statusCode, JSON.parse(String(Buffer.concat(await answer.toArray()))).code]).toEqual(error);
    sending.destroy();
    expect(upstream.requests).toHaveLength(calls);
  });

  test('can be repeated only with the same body even if there was no response', async () => {
    const { buyer, headers } = await buyerOf();
    const post = (body: string) => fetch(urlOf('/tokens/cut'), { method: 'POST', headers, body });
    upstream.handle((_request, response) => void response.destroy());
    expect((await post('one')).status).toBe(502);
    await callEnded(buyer);
    upstream.handle(() => ({ body: 'served' }));
    expect(await codeOf(await post('two'))).toEqual([409, 'PAYMENT_REUSED']);
    expect((await post('one')).status).toBe(200);
  });

  test.each(['says nothing', 'stops between two chunks'])(
    'ends after the time limit if the upstream %s',
    BELOW_USUAL_LIMIT,
    async (how) => {
      const { buyer, headers } = await buyerOf();
      upstream.handle((_request, response) => {
        if (how !== 'says nothing') response.writeHead(200).write('first');
        return undefined;
      });
      const answer = await fetch(urlOf('/hasty/slow'), { headers });
      if (how === 'says nothing') expect(await codeOf(answer)).toEqual([504, 'UPSTREAM_TIMEOUT']);
      else await expect(answer.text()).rejects.toThrow();
      expect(await callEnded(buyer)).toMatchObject({ unservedReason: 'upstream_timeout', servedAt: null });
    },
  );
});

test('an endpoint that settles after the response has its own time limit', BELOW_USUAL_LIMIT, async () => {
  const { buyer, headers } = await buyerOf();
  upstream.handle(() => undefined);
  expect(await codeOf(await fetch(urlOf('/hasty-answers'), { headers }))).toEqual([504, 'UPSTREAM_TIMEOUT']);
  expect(await rails.chain.balanceOf(buyer.address)).toBe(CENT);
});

/**
 * Closes the connection when nothing follows these bytes for longer than the gateway's grace period of three seconds. They
 * have reached the gateway before, so the gateway has waited even longer.
 */
function hangUpAfter(incoming: IncomingMessage, bytes: number): void {
  let missing = bytes;
  incoming.on('data', (chunk: Buffer) => {
    missing -= chunk.length;
    if (missing <= 0) incoming.socket.setTimeout(3_500, () => incoming.socket.destroy());
  });
}

/** Closes the connection after this many chunks of a single byte, like a server with a time limit for whole requests. */
function hangUpAfterTrickle(incoming: IncomingMessage, chunks: number): void {
  let missing = chunks;
  incoming.on('data', (chunk: Buffer) => {
    if (chunk.length === 1 && --missing === 0) incoming.socket.destroy();
  });
}

/**
 * Opens endpoints whose upstream responds before it has read the request, and doesn't end its response. `/hurried` has a
 * short time limit, `/hung-up` and `/impatient` close the connection if they wait too long for the request, and
 * `/silent` sends only headers.
 */
async function openHasty() {
  const server = createServer((incoming, response) => {
    incoming.on('error', () => {}).resume();
    response.writeHead(200).flushHeaders();
    if (incoming.url !== '/silent') response.write('nearly everything');
    if (incoming.url === '/hung-up') hangUpAfter(incoming, MEGABYTE);
    if (incoming.url === '/impatient') hangUpAfterTrickle(incoming, 5);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoint = (path: string) => ({ upstreamUrl: base + path, settlement: 'BEFORE_REQUEST' });
  const { url } = await createShop(app, alice, {
    '/hasty': endpoint('/hasty'),
    '/hurried': { ...endpoint('/hurried'), timeoutSeconds: 1 },
    '/hung-up': endpoint('/hung-up'),
    '/impatient': endpoint('/impatient'),
    '/silent': endpoint('/silent'),
  });
  const hastyUrlOf = (path: string) => `${gateways[0]!.url}${new URL(url).pathname}${path}`;
  return {
    urlOf: hastyUrlOf,
    /** Sends the start of a request, and waits for the start of the response. `closed`: when the response is over. */
    async ask(path: string, headers: Record<string, string>, start: string | Buffer) {
      const sending = request(hastyUrlOf(path), { method: 'POST', headers, agent: false });
      sending.on('error', () => {});
      const answered = new Promise<IncomingMessage>((resolve) => sending.once('response', resolve));
      sending.write(start);
      const answer = await answered;
      answer.on('error', () => {}).resume();
      return { sending, closed: new Promise((resolve) => answer.once('close', resolve)) };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('a buyer of a streamed response', () => {
  test('ends the upstream call by hanging up during the response, and is not served again', async () => {
    const { buyer, headers } = await buyerOf();
    const responding = nextUpstream();
    const opening = open('/tokens/left', headers);
    const response = await responding;
    const closed = new Promise((resolve) => response.once('close', resolve));
    response.writeHead(200).write('first');
    const answer = await opening;
    answer.destroy();
    await closed;
    expect(await callEnded(buyer)).toMatchObject({ unservedReason: null, upstreamStatusCode: 200 });
    expect(await codeOf(await fetch(urlOf('/tokens/left'), { headers }))).toEqual([410, 'PAYMENT_RESPONSE_GONE']);
  });

  test('is not served again after a request body that is too large cut the response short', async () => {
    await using hasty = await openHasty();
    const { buyer, headers } = await buyerOf();
    const { sending, closed } = await hasty.ask('/hasty', headers, 'x');
    sending.end(Buffer.alloc(11 * MEGABYTE));
    await closed;
    expect((await callEnded(buyer)).servedAt).not.toBeNull();
  });

  test('is not served again, with another body, after withholding the end of the first body during the response', async () => {
    await using hasty = await openHasty();
    const withhold = async (path: string) => {
      const { buyer, headers } = await buyerOf();
      // The more a buyer has sent, the longer the gateway waits for the rest.
      const start = Buffer.alloc(path === '/hung-up' ? MEGABYTE : 64 * 1024);
      const { closed } = await hasty.ask(path, headers, start);
      await closed;
      const { unservedReason, servedAt } = await callEnded(buyer);
      const again = await fetch(hasty.urlOf(path), { method: 'POST', headers, body: 'another' });
      await again.body?.cancel();
      return { unservedReason, isServed: servedAt !== null, again: again.status };
    };
    const served = { unservedReason: null, isServed: true, again: 410 };
    const unserved = { unservedReason: 'buyer_slow', isServed: false, again: 200 };
    const withheld = await Promise.all(['/hasty', '/hurried', '/hung-up', '/silent'].map(withhold));
    // An honest buyer with a slow connection, who has nothing yet, can retry.
    expect(withheld).toEqual([served, served, served, unserved]);
  });

  test('is not served again, with another body, after sending the end of the first body one byte at a time', async () => {
    await using hasty = await openHasty();
    const { buyer, headers } = await buyerOf();
    const { sending, closed } = await hasty.ask('/impatient', headers, Buffer.alloc(MEGABYTE));
    const timer = setInterval(() => sending.write('x'), 1_000);
    await closed;
    clearInterval(timer);
    expect(await callEnded(buyer)).toMatchObject({ unservedReason: null, servedAt: expect.any(Date) });
    const again = await fetch(hasty.urlOf('/impatient'), { method: 'POST', headers, body: 'another' });
    expect(await codeOf(again)).toEqual([410, 'PAYMENT_RESPONSE_GONE']);
  });

  test('is not charged after hanging up before the settlement', async () => {
    const { buyer, headers } = await buyerOf();
    const leaving = new AbortController();
    rails.facilitator.misbehave('verify', async (response, real) => {
      const verified = JSON.stringify(await real());
      leaving.abort();
      // Once the gateway has responded to another request, it has also noticed the disconnect.
      await fetch(`${gateways[0]!.url}/healthz`);
      response.end(verified);
    });
    await expect(fetch(urlOf('/tokens/early'), { headers, signal: leaving.signal })).rejects.toThrow();
    await expect.poll(async () => (await rowOf(buyer)).status).toBe('FAILED');
    expect(await rowOf(buyer)).toMatchObject({ failureStage: 'UPSTREAM', failureReason: 'buyer_gone' });
    expect([upstream.requests.length, rails.facilitator.countOf('settle')]).toEqual([0, 0]);
  });

  test('can repeat the request after hanging up before the response starts', async () => {
    const { buyer, headers } = await buyerOf();
    const leaving = new AbortController();
    const responding = nextUpstream();
    const asking = fetch(urlOf('/tokens/impatient'), { headers, signal: leaving.signal });
    asking.catch(() => {});
    await responding;
    leaving.abort();
    expect(await callEnded(buyer)).toMatchObject({ unservedReason: 'buyer_gone', servedAt: null });
    upstream.handle(() => ({ body: 'served' }));
    expect(await (await fetch(urlOf('/tokens/impatient'), { headers })).text()).toBe('served');
  });

  test('stops the upstream after a bounded number of bytes by not reading, and gets 200 MB in full after its time limit', async () => {
    const { headers } = await buyerOf();
    const total = 200 * MEGABYTE;
    const chunk = randomBytes(64 * 1024);
    let sent = 0;
    let isBlocked = false;
    upstream.handle((_request, response) => {
      response.writeHead(200, { 'content-length': String(total) });
      const pump = () => {
        isBlocked = false;
        while (sent < total && !isBlocked) {
          sent += chunk.length;
          isBlocked = !response.write(chunk);
        }
        if (sent >= total) response.end();
      };
      response.on('drain', pump);
      pump();
      return undefined;
    });
    const answer = await open('/hasty/large', headers);
    expect(answer.headers['content-length']).toBe(String(total));
    // The upstream is blocked for much longer than its time limit, because the buyer is the slow one.
    let before = -1;
    let stillCount = 0;
    await expect
      .poll(
        () => {
          stillCount = isBlocked && sent === before ? stillCount + 1 : 0;
          before = sent;
          return stillCount;
        },
        { interval: 500 },
      )
      .toBe(10);
    expect(sent).toBeLessThan(40 * MEGABYTE);

    let received = 0;
    for await (const part of answer) received += part.length;
    expect(received).toBe(total);
  });

  test('is not served again after reading so slowly that the upstream ended the call', async () => {
    const { buyer, headers } = await buyerOf();
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    upstream.handle((_request, response) => {
      response.writeHead(200, { 'content-length': String(40 * MEGABYTE) });
      response.write(Buffer.alloc(40 * MEGABYTE));
      // Like `send_timeout` in nginx, but shorter.
      response.setTimeout(5_000, () => response.destroy());
      response.once('close', onClosed);
      return undefined;
    });
    const answer = await open('/tokens/slowly', headers);
    let received = 0;
    const read = async (until: number) => {
      for await (const part of answer.iterator({ destroyOnReturn: false })) {
        received += part.length;
        if (received >= until) return;
      }
    };
    await read(4 * MEGABYTE);
    await closed;
    await expect(read(Infinity)).rejects.toThrow('aborted');
    expect(received).toBeLessThan(40 * MEGABYTE);
    expect(await callEnded(buyer)).toMatchObject({ unservedReason: null, servedAt: expect.any(Date) });
    expect(await codeOf(await fetch(urlOf('/tokens/slowly'), { headers }))).toEqual([410, 'PAYMENT_RESPONSE_GONE']);
  });

  test('pays the seller once for each stream', async () => {
    const before = await rails.chain.balanceOf(SELLER);
    const buyer = await rails.wallet(3n * CENT);
    for (let time = 0; time < 3; time++) {
      expect((await payingFetch(buyer)(urlOf(`/tokens/${time}`))).status).toBe(200);
    }
    expect((await rails.chain.balanceOf(SELLER)) - before).toBe(3n * CENT);
  });
});
