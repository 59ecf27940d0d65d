import { randomUUID } from 'node:crypto';
import { x402Client } from '@x402/core/client';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import pg from 'pg';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createKey } from '../../support/resources.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway-processes.ts';
import { sign, v1Headers, v2Headers } from '../sign.ts';
import { createShop, decodeHeader, type Rails, startRails } from '../support.ts';

const CENT = 10_000n;

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let gateways: GatewayProcess[];
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let otherShop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Client;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver();
  app = await startTestApp({ env: { ...rails.env, ROLES: 'api,worker' } });
  gateways = await Promise.all([1, 2].map(() => startGatewayProcess(app, rails)));
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  alice = await app.user('alice');
  const endpoints = {
    '/orders': { upstreamUrl: `${upstream.url}/orders` },
    '/tokens': { upstreamUrl: `${upstream.url}/tokens`, settlement: 'BEFORE_REQUEST' },
    '/mcp': { upstreamUrl: `${upstream.url}/mcp`, protocol: 'MCP' },
  };
  shop = await createShop(app, alice, endpoints);
  otherShop = await createShop(app, alice, endpoints);
});

beforeEach(async () => {
  upstream.requests.length = 0;
  upstream.handle((_request, _response, index) => ({ statusCode: 201, body: `order ${index}` }));
  rails.facilitator.calls.length = 0;
  await database.query('DELETE FROM "RateLimit"');
});

afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.end('SIGKILL')));
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

const newId = () => `order_${randomUUID()}`;

/** Headers of a newly signed payment with this identifier. */
async function signed(buyer: PrivateKeyAccount, id: string): Promise<Record<string, string>> {
  const extensions = { 'payment-identifier': { info: { required: false, id } } };
  return v2Headers(await sign(buyer), { extensions });
}

type Asked = { index?: number; path?: string; body?: string; projectId?: string };

async function ask(headers: Record<string, string>, { index = 0, path = '/orders', body, projectId }: Asked = {}) {
  const url = `${gateways[index % 2]!.url}/gateway/${projectId ?? shop.projectId}${path}`;
  const response = await fetch(url, { headers, ...(body !== undefined && { method: 'POST', body }) });
  const text = await response.text();
  return {
    status: response.status,
    text,
    code: text.startsWith('{') ? (JSON.parse(text) as { code?: string }).code : undefined,
    paymentId: response.headers.get('tollgate-payment-id'),
    receipt: response.headers.get('payment-response'),
  };
}

describe('a payment identifier', () => {
  test('is announced in the 402, and the stock client returns it with an id', async () => {
    const paymentRequired = await fetch(`${gateways[0]!.url}/gateway/${shop.projectId}/orders`);
    const { extensions } = decodeHeader<{ extensions: object }>(paymentRequired.headers.get('payment-required'));
    expect(extensions).toMatchObject({ 'payment-identifier': { info: { required: false } } });

    const buyer = await rails.wallet(3n * CENT);
    const id = newId();
    const client = registerExactEvmScheme(new x402Client(), { signer: buyer });
    client.registerExtension({
      key: 'payment-identifier',
      enrichPaymentPayload: async (payload: { extensions?: Record<string, unknown> }) => ({
        ...payload,
        extensions: { ...payload.extensions, 'payment-identifier': { info: { required: false, id } } },
      }),
    } as never);
    const pay = wrapFetchWithPayment(fetch, client) as typeof fetch;
    const url = `${gateways[0]!.url}/gateway/${shop.projectId}/orders`;
    const texts = [await (await pay(url)).text(), await (await pay(url)).text()];
    expect(texts).toEqual(['order 0', 'order 0']);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(2n * CENT);
    const { rows } = await database.query('SELECT id FROM "Payment" WHERE "paymentIdentifier" = $1', [id]);
    expect(rows).toHaveLength(1);
    const payment = await alice.rest('GET', `${shop.base}/payments/${rows[0].id}`);
    expect(payment.body).toMatchObject({ identifier: id });
  });

  test('is masked for viewers and API keys, who could otherwise fetch the response', async () => {
    const buyer = await rails.wallet(CENT);
    const id = newId();
    const bought = await ask(await signed(buyer, id));
    expect(bought.status).toBe(201);
    const viewer = await person(app, 'victor');
    await join(alice, shop.base, viewer, 'VIEWER');
    const developer = await person(app, 'dora');
    await join(alice, shop.base, developer, 'DEVELOPER');
    const { key } = await createKey(alice, shop.base, { scopes: ['READ', 'PAYMENTS', 'WRITE', 'CREDENTIALS'] });
    const shownTo = async (reader: TestUser) => {
      const one = await reader.rest<{ identifier: string }>('GET', `${shop.base}/payments/${bought.paymentId}`);
      const list = await reader.rest<{ data: { identifier: string }[] }>(
        'GET',
        `${shop.base}/payments?identifier=${id}`,
      );
      const file = await fetch(`${app.url}${shop.base}/payments/export?format=jsonl&identifier=${id}`, {
        headers: { authorization: `Bearer ${reader.token}` },
      });
      const exported = JSON.parse(await file.text()) as { identifier: string };
      return new Set([one.body, ...list.body.data, exported].map(({ identifier }) => identifier));
    };
    for (const reader of [alice, developer]) expect(await shownTo(reader)).toEqual(new Set([id]));
    const masked = `••••${id.slice(-4)}`;
    for (const reader of [viewer, app.caller(key)]) expect(await shownTo(reader)).toEqual(new Set([masked]));
  });

  test('gets the first response if it is signed again, and only the first payment is charged', async () => {
    const buyer = await rails.wallet(CENT);
    const id = newId();
    const body = '{"item":7}';
    const first = await ask(await signed(buyer, id), { body });
    expect([first.status, first.text]).toEqual([201, 'order 0']);
    // The wallet is empty now, but the second payment isn't charged.
    const second = await ask(await signed(buyer, id), { body, index: 1 });
    expect(second).toEqual(first);
    expect(upstream.requests).toHaveLength(1);
    expect(rails.facilitator.countOf('settle')).toBe(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test.each(['with another body', 'for another path'])('is rejected %s, and nothing is charged', async (how) => {
    const buyer = await rails.wallet(2n * CENT);
    const id = newId();
    await ask(await signed(buyer, id), { body: 'one' });
    const other = how === 'with another body' ? { body: 'two' } : { body: 'one', path: '/tokens' };
    const second = await ask(await signed(buyer, id), other);
    expect([second.status, second.code]).toEqual([409, 'PAYMENT_REUSED']);
    expect(second.text).toContain('This payment identifier was already used for another request.');
    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(CENT);
  });

  test('charges one of 20 payments signed separately and sent simultaneously through two processes', async () => {
    const buyer = await rails.wallet(20n * CENT);
    const id = newId();
    const payments = await Promise.all(Array.from({ length: 20 }, () => signed(buyer, id)));
    const responses = await Promise.all(payments.map((headers, index) => ask(headers, { index })));
    const served = responses.filter(({ status }) => status === 201);
    expect(served.length).toBeGreaterThanOrEqual(1);
    for (const response of served) expect(response).toEqual(served[0]);
    for (const { status, code } of responses.filter(({ status }) => status !== 201)) {
      expect([status, code]).toEqual([409, 'PAYMENT_IN_PROGRESS']);
    }
    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(19n * CENT);
  });

  test('can be used again after a payment that failed, because nothing was charged for it', async () => {
    const buyer = await rails.wallet(CENT);
    const id = newId();
    upstream.handle(() => ({ statusCode: 500, body: 'oops' }));
    expect((await ask(await signed(buyer, id))).status).toBe(500);
    upstream.handle(() => ({ body: 'ordered' }));
    expect(await ask(await signed(buyer, id))).toMatchObject({ status: 200, text: 'ordered' });
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test('belongs to one payer in one project', async () => {
    const [buyer, stranger] = [await rails.wallet(2n * CENT), await rails.wallet(CENT)];
    const id = newId();
    const responses = [
      await ask(await signed(buyer, id)),
      await ask(await signed(stranger, id)),
      await ask(await signed(buyer, id), { projectId: otherShop.projectId }),
    ];
    expect(responses.map(({ text }) => text)).toEqual(['order 0', 'order 1', 'order 2']);
  });

  test('gets one free repeat of a failed streamed response if it is signed again', async () => {
    const buyer = await rails.wallet(CENT);
    const id = newId();
    upstream.handle(() => ({ statusCode: 500 }));
    expect((await ask(await signed(buyer, id), { path: '/tokens' })).status).toBe(500);
    upstream.handle(() => ({ body: 'tokens' }));
    const repeat = async () => (await ask(await signed(buyer, id), { path: '/tokens' })).text;
    // The end of the first call may not be recorded yet.
    await expect.poll(repeat).toBe('tokens');
    await expect.poll(async () => (await ask(await signed(buyer, id), { path: '/tokens' })).status).toBe(410);
    expect(upstream.requests).toHaveLength(2);
  });

  test('is charged once for a tool call of an MCP endpoint, and is rejected for another tool call', async () => {
    const result = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: 'done' }] } });
    upstream.handle(() => ({ headers: { 'content-type': 'application/json' }, body: result }));
    const [buyer, id] = [await rails.wallet(2n * CENT), newId()];
    const call = async (name: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });
      const headers = { 'content-type': 'application/json', ...(await signed(buyer, id)) };
      return fetch(`${gateways[0]!.url}/gateway/${shop.projectId}/mcp`, { method: 'POST', headers, body });
    };
    for (const _turn of [1, 2]) {
      const response = await call('order');
      expect([response.status, await response.text()]).toEqual([200, result]);
    }
    expect(upstream.requests).toHaveLength(1);
    const other = await call('refund');
    expect(other.status).toBe(409);
    expect(await other.text()).toContain('PAYMENT_REUSED');
    expect(upstream.requests).toHaveLength(1);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(CENT);
  });

  test('makes the payment malformed if it breaks the rules', async () => {
    const response = await ask(await signed(await rails.wallet(CENT), 'too short'));
    expect([response.status, response.code]).toEqual([400, 'PAYMENT_MALFORMED']);
    expect(response.text).toContain('extensions.payment-identifier.info.id');
  });

  test('is ignored in a version 1 payment', async () => {
    const buyer = await rails.wallet(2n * CENT);
    const extensions = { 'payment-identifier': { info: { required: false, id: newId() } } };
    for (let time = 0; time < 2; time++) {
      expect((await ask(v1Headers(await sign(buyer), { extensions }))).status).toBe(201);
    }
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test.each(['/orders', '/tokens'])('counts once toward the limit for its buyer, for %s', async (path) => {
    const limited = await createShop(app, alice, {
      '/orders': { upstreamUrl: `${upstream.url}/orders` },
      '/tokens': { upstreamUrl: `${upstream.url}/tokens`, settlement: 'BEFORE_REQUEST' },
    });
    await alice.rest('PATCH', `${limited.base}/buyer-rules`, { maxRequests: 2 });
    const buyer = await rails.wallet(3n * CENT);
    const asked = { path, projectId: limited.projectId };
    const id = newId();
    const first = await ask(await signed(buyer, id), asked);
    expect(first.status).toBe(201);
    // Streamed responses aren't stored.
    const again = path === '/orders' ? 201 : 410;
    expect((await ask(await signed(buyer, id), { ...asked, index: 1 })).status).toBe(again);
    expect((await ask(await signed(buyer, newId()), asked)).status).toBe(201);
    expect((await ask(await signed(buyer, newId()), asked)).status).toBe(402);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(CENT);
  });
});
