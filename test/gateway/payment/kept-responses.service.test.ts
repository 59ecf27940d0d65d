import { type IncomingHttpHeaders, request } from 'node:http';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type Receiver, startReceiver, type TestResponse } from '../../support/receiver.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

const LARGE_BYTES = 10 * 1024 * 1024;

// Each test transfers many megabytes.
vi.setConfig({ testTimeout: 90_000 });

let rails: Rails;
let app: TestApp;
let upstream: Receiver;
let url: string;
let fileUrl: string;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(({ path, headers }) =>
    path === '/file' ? fileResponse(headers) : { body: Buffer.alloc(LARGE_BYTES) },
  );
  app = await startTestApp({ env: rails.env });
  const shop = await createShop(app, await app.user('alice'), {
    '/large': { upstreamUrl: upstream.url },
    '/file': { upstreamUrl: `${upstream.url}/file` },
  });
  url = `${shop.url}/large`;
  fileUrl = `${shop.url}/file`;
});

afterAll(async () => {
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

/** A file of ten bytes, which supports ranges, conditions, and two media types (RFC 9110 §12.5.1, §13.1.2, §14.2). */
function fileResponse({ range, accept, 'if-none-match': known }: IncomingHttpHeaders): TestResponse {
  if (known === '"e"') return { statusCode: 304, headers: { etag: '"e"' } };
  if (accept === 'text/csv') return { headers: { 'content-type': 'text/csv' }, body: '0,1,2' };
  const [, first, last] = /^bytes=(\d)-(\d)$/.exec(range ?? '') ?? [];
  if (!first || !last) return { headers: { 'content-type': 'text/plain' }, body: '0123456789' };
  const headers = { 'content-type': 'text/plain', 'content-range': `bytes ${first}-${last}/10` };
  return { statusCode: 206, headers, body: '0123456789'.slice(Number(first), Number(last) + 1) };
}

async function expectFullResponse(headers: Record<string, string>): Promise<void> {
  expect((await (await fetch(url, { headers })).bytes()).length).toBe(LARGE_BYTES);
}

/** Pays for a response of 10 MB and reads it. */
async function paidOnce(): Promise<Record<string, string>> {
  const headers = v2Headers(await sign(await rails.wallet(10_000n)));
  await expectFullResponse(headers);
  return headers;
}

test('a payment gets its large response again about ten times a minute, then 429, and other payments still get theirs', async () => {
  const [headers, others] = [await paidOnce(), await paidOnce()];
  let repeats = 0;
  let response = await fetch(url, { headers });
  for (; response.status === 200 && repeats < 30; repeats++) {
    expect((await response.bytes()).length).toBe(LARGE_BYTES);
    response = await fetch(url, { headers });
  }
  expect(response.status).toBe(429);
  expect(repeats).toBeGreaterThanOrEqual(10);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(response.headers.get('payment-response')).not.toBeNull();
  expect(await response.json()).toMatchObject({ code: 'RATE_LIMITED' });
  await expectFullResponse(others);
});

const FIRST_REQUESTS: [what: string, headers: Record<string, string>, expected: [number, string | null, string]][] = [
  ['a range', { range: 'bytes=2-4' }, [206, 'bytes 2-4/10', '234']],
  ['a media type', { accept: 'text/csv' }, [200, null, '0,1,2']],
  ['a newer version', { 'if-none-match': '"e"' }, [304, null, '']],
  ['the whole file', {}, [200, null, '0123456789']],
];

test.each(FIRST_REQUESTS)(
  'a payment for %s gets the same response again, no matter what the retry asks for',
  async (_what, first, expected) => {
    const buyer = await rails.wallet(20_000n);
    const payment = v2Headers(await sign(buyer));
    const ask = async (headers: Record<string, string>) => {
      const response = await fetch(fileUrl, { headers });
      return [response.status, response.headers.get('content-range'), await response.text()];
    };
    upstream.requests.length = 0;
    expect(await ask({ ...payment, ...first })).toEqual(expected);
    const retries: Record<string, string>[] = [
      {},
      { range: 'bytes=5-7' },
      { accept: 'text/csv' },
      { 'if-none-match': '"e"' },
    ];
    for (const headers of retries) expect(await ask({ ...payment, ...headers })).toEqual(expected);
    expect(upstream.requests).toHaveLength(1);
    // Another range needs another payment.
    const other = { ...v2Headers(await sign(buyer)), range: 'bytes=5-7' };
    expect(await ask(other)).toEqual([206, 'bytes 5-7/10', '567']);
    expect(await rails.chain.balanceOf(buyer.address)).toBe(0n);
  },
);

test('a retry whose buyer disconnects reads no response, so it does not count', async () => {
  const headers = await paidOnce();
  const holder = new pg.Client({ connectionString: app.databaseUrl });
  onTestFinished(() => holder.end());
  await holder.connect();
  const waiting = async () => {
    const { rows } = await holder.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND relation = '"PaymentAnswer"'::regclass`,
    );
    return rows[0]!.count;
  };
  for (let wave = 0; wave < 4; wave++) {
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE "PaymentAnswer" IN ACCESS EXCLUSIVE MODE');
    const retries = Array.from({ length: 3 }, () =>
      request(url, { headers, agent: false })
        .on('error', () => {})
        .end(),
    );
    await expect.poll(waiting).toBe(3);
    await Promise.all(retries.map((retry) => new Promise((closed) => retry.on('close', closed).destroy())));
    // By the time this request is answered, the server knows that the earlier connections are closed.
    await fetch(`${app.url}/healthz`);
    await holder.query('COMMIT');
    await expect.poll(waiting).toBe(0);
  }
  await expectFullResponse(headers);
});
