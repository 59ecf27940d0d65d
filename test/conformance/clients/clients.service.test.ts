import { x402Client } from '@x402/core/client';
import { registerExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { Agent, fetch as undiciFetch } from 'undici';
import type { PrivateKeyAccount } from 'viem/accounts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NETWORKS } from '../../../src/gateway/chain/networks.ts';
import { headerLines, rawRequest } from '../../gateway/sign.ts';
import { createShop, decodeHeader, type Rails, startRails } from '../../gateway/support.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { CLIENTS, type Client, paymentFor, readTerms } from './recorded.ts';

/** Has characters of Latin-1 and others, which some clients can't encode. */
const DESCRIPTION = 'Wetter für Zürich – 天気 🌦';

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
const agents: Agent[] = [];

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(({ path }) =>
    path === '/fails' ? { statusCode: 500, body: 'broken' } : { body: 'served' },
  );
  app = await startTestApp({ env: rails.env });
  shop = await createShop(app, await app.user('alice'), {
    '/weather': { upstreamUrl: `${upstream.url}/now?units=metric`, description: DESCRIPTION },
    '/users/:id': { upstreamUrl: `${upstream.url}/people/:id` },
    '/fails': { upstreamUrl: `${upstream.url}/fails` },
    '/half': { upstreamUrl: `${upstream.url}/half`, priceUsd: '0.50' },
    '/two': { upstreamUrl: `${upstream.url}/two`, priceUsd: '2' },
  });
});

beforeEach(() => {
  upstream.requests.length = 0;
});

afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.destroy()));
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

/** A response to a client. Undici's type and the global one differ. */
type Received = {
  status: number;
  headers: { get(name: string): string | null };
  text(): Promise<string>;
  json(): Promise<unknown>;
};
type Send = (url: string, headers: Record<string, string>) => Promise<Received>;

/** Sends from its own loopback address, so that its bad payments are counted separately. */
function sendFrom(localAddress: string): Send {
  const dispatcher = new Agent({ localAddress });
  agents.push(dispatcher);
  return (url, headers) => undiciFetch(url, { headers, dispatcher });
}

const sendByFetch: Send = (url, headers) => fetch(url, { headers });

/** Sends what the client sends for one request: one without a payment, and others with one until it isn't a 402. */
async function buy(client: Client, account: PrivateKeyAccount, path: string, send: Send = sendByFetch) {
  const statuses: number[] = [];
  const ask = async (headers: Record<string, string>) => {
    const response = await send(shop.url + path, headers);
    statuses.push(response.status);
    return response;
  };
  let response = await ask(client.headers);
  for (let attempt = 1; attempt <= client.attempts && response.status === 402; attempt++) {
    if (client.asksEachTime && attempt > 1) response = await ask(client.headers);
    response = await ask(await paymentFor(client, await readTerms(client, response), account));
  }
  return { response, statuses };
}

describe.each(Object.entries(CLIENTS))('%s', (_name, client) => {
  const receipt = client.version === 1 ? 'x-payment-response' : 'payment-response';

  test('buys from a seller whose description has all kinds of characters', async () => {
    const buyer = await rails.wallet(10_000n);
    const { response, statuses } = await buy(client, buyer, '/weather?city=Bern');
    expect([statuses, await response.text()]).toEqual([[402, 200], 'served']);
    expect(decodeHeader(response.headers.get(receipt))).toMatchObject({ success: true });
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/now?units=metric&city=Bern']);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  });

  test("isn't charged if the API fails, and doesn't try again", async () => {
    const buyer = await rails.wallet(10_000n);
    const { response, statuses } = await buy(client, buyer, '/fails');
    expect([statuses, await response.text()]).toEqual([[402, 500], 'broken']);
    expect(decodeHeader(response.headers.get(receipt))).toMatchObject({ success: false });
    expect(await rails.chain.balanceOf(buyer.address)).toBe(10_000n);
  });

  test('finds out that its wallet has no money', async () => {
    const { response, statuses } = await buy(client, await rails.wallet(0n), '/weather');
    const refused = client.asksEachTime ? [402, 402, 402, 402, 402, 402] : Array(client.attempts + 1).fill(402);
    expect(statuses).toEqual(refused);
    expect(await response.json()).toMatchObject({ error: 'invalid_exact_evm_insufficient_balance' });
    expect(upstream.requests).toEqual([]);
  });
});

test.each([
  ['mppx 0.11.0', '127.0.3.1'],
  ['@faremeter/fetch 0.22.0', '127.0.3.2'],
])('%s without money, which signs three payments per request, does not lock out others', async (name, address) => {
  const client = CLIENTS[name]!;
  const poor = await rails.wallet(0n);
  const send = sendFrom(address);
  for (let request = 0; request < 10; request++) {
    const { response } = await buy(client, poor, '/weather', send);
    expect(response.status).toBe(402);
  }
  const { response } = await buy(client, await rails.wallet(10_000n), '/weather', send);
  expect(response.status).toBe(200);
});

describe('mppx up to 0.10.1 pays only if the URL in the terms is exactly the one that it requested:', () => {
  test.each([
    ['GET', '/weather?city=Bern'],
    ['GET', "/weather?q='a'&r=%27&s=<b>"],
    ['GET', '/weather?'],
    ['GET', '/users/a%2db'],
    ['GET', '/users/%5Ba%5D'],
    ['POST', '/weather?city=Bern'],
  ])('%s %s', async (method, path) => {
    const { origin, pathname } = new URL(shop.url);
    const request = rawRequest(`${method} ${pathname}${path}`, `Host: ${new URL(origin).host}`, 'Content-Length: 0');
    const [response] = await sendRaw(app.url, [request]);
    expect(response!.status).toBe(402);
    const { resource } = decodeHeader<{ resource: { url: string } }>(response!.headers.get('payment-required'));
    expect(resource.url).toBe(shop.url + path);
    expect(JSON.parse(response!.text).accepts[0].resource).toBe(resource.url);
  });

  test('the facilitator, which may publish it, gets the canonical URL without the query', async () => {
    rails.facilitator.calls.length = 0;
    const buyer = await rails.wallet(30_000n);
    for (const name of ['mppx 0.11.0', 'x402-fetch 1.2.0']) await buy(CLIENTS[name]!, buyer, '/users/a%2db?key=secret');
    const calls = rails.facilitator.calls.map(({ operation, request }) => {
      const { paymentPayload, paymentRequirements } = JSON.parse(JSON.stringify(request));
      return [operation, paymentPayload.resource?.url ?? paymentRequirements.resource];
    });
    const url = `${shop.url}/users/a-b`;
    expect(calls).toEqual(['verify', 'settle', 'verify', 'settle'].map((operation) => [operation, url]));
  });
});

test('x402-fetch 1.2.0 rejects all terms if one has a network that it does not know, so none has', () => {
  const known = ['abstract', 'abstract-testnet', 'base-sepolia', 'base', 'avalanche-fuji', 'avalanche', 'iotex']
    .concat(['solana-devnet', 'solana', 'sei', 'sei-testnet', 'polygon', 'polygon-amoy', 'peaq', 'story', 'educhain'])
    .concat(['skale-base-sepolia']);
  const names = NETWORKS.flatMap(({ v1Name }) => v1Name ?? []);
  expect(names.length).toBeGreaterThan(3);
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
});

describe('@x402/fetch 2.27.0', () => {
  /** Requests, and the client's `fetch` or its error. */
  async function run(path: string, balance: bigint, change: (client: x402Client) => void = () => {}) {
    const sent: Request[] = [];
    const client = registerExactEvmScheme(new x402Client(), { signer: await rails.wallet(balance) });
    change(client);
    const record = (async (input: Request) => {
      sent.push(input.clone());
      return fetch(input);
    }) as typeof fetch;
    const outcome = await wrapFetchWithPayment(
      record,
      client,
    )(shop.url + path).then(
      async (response) => `${response.status} ${await response.text()}`,
      (error: Error) => error.message,
    );
    return { sent, outcome };
  }

  test('pays up to 1 USD by default, and more if it is told to', async () => {
    expect((await run('/half', 500_000n)).outcome).toBe('200 served');
    const refused = await run('/two', 2_000_000n);
    expect(refused.outcome).toContain('rejected by spendControls.maxAmountPerPayment ($1');
    expect(refused.sent).toHaveLength(1);
    const raised = await run('/two', 2_000_000n, (client) => client.setSpendControls({ maxAmountPerPayment: '$2' }));
    expect(raised.outcome).toBe('200 served');
  });

  test('signs one payment for a request, and returns the 402 response if it is refused', async () => {
    const { sent, outcome } = await run('/weather', 0n);
    expect(sent.map(({ headers }) => headers.has('payment-signature'))).toEqual([false, true]);
    expect(sent[1]!.headers.has('x-payment')).toBe(false);
    expect(outcome).toMatch(/^402 .*invalid_exact_evm_insufficient_balance/);
  });
});

describe('HttpClient of Java 17 asks for HTTP/2 in every first request, and', () => {
  const upgrade = [
    ...['Connection: Upgrade, HTTP2-Settings', 'Content-Length: 0', 'Upgrade: h2c'],
    ...['HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAAAAYABgAA', 'User-Agent: Java-http-client/17.0.15'],
  ];
  const request = (method: string, ...more: string[]) =>
    rawRequest(
      `${method} ${new URL(shop.url).pathname}/weather`,
      `Host: ${new URL(app.url).host}`,
      ...upgrade,
      ...more,
    );

  test.each(['GET', 'POST'])('gets the terms of %s over HTTP/1.1, and can pay', async (method) => {
    const [asked] = await sendRaw(app.url, [request(method)]);
    expect(asked!.status).toBe(402);
    expect(asked!.headers.get('content-type')).toMatch(/^application\/json/);
    const client = CLIENTS['mppx 0.11.0']!;
    const terms = decodeHeader<Awaited<ReturnType<typeof readTerms>>>(asked!.headers.get('payment-required'));
    const payment = await paymentFor({ ...client, headers: {} }, terms, await rails.wallet(10_000n));
    const [paid] = await sendRaw(app.url, [request(method, ...headerLines(payment))]);
    expect([paid!.status, paid!.text]).toEqual([200, 'served']);
  });
});

const BROWSER = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
};

test('curl gets the terms as JSON, and browsers get a page', async () => {
  const contentTypeFor = async (headers: Record<string, string>) => {
    const response = await fetch(`${shop.url}/weather`, { headers });
    expect(response.status).toBe(402);
    return response.headers.get('content-type');
  };
  expect(await contentTypeFor({ accept: '*/*', 'user-agent': 'curl/7.88.1' })).toMatch(/^application\/json/);
  expect(await contentTypeFor(BROWSER)).toMatch(/^text\/html/);
});

test('the page for browsers shows the requested URL only as text', async () => {
  const path = `${new URL(shop.url).pathname}/weather?q="><script>1</script>'&b`;
  const [page] = await sendRaw(app.url, [rawRequest(`GET ${path}`, 'Host: a.example', ...headerLines(BROWSER))]);
  expect(page!.headers.get('content-type')).toMatch(/^text\/html/);
  expect(page!.text).toContain('/weather?q=&quot;&gt;&lt;script&gt;1&lt;/script&gt;&#39;&amp;b');
  expect(page!.text).not.toContain('<script>');
});
