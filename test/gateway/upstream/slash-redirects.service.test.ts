import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createShop, decodeHeader } from '../support.ts';
import { advice, type Call, openRedirectStage, PRICE, type Received, type RedirectStage } from './redirect-stage.ts';

let stage: RedirectStage;

beforeAll(async () => {
  stage = await openRedirectStage();
});
beforeEach(() => stage.reset());
afterAll(() => stage?.close());

describe('if the upstream redirects to the path with or without a trailing slash', () => {
  test.each([
    ['/items', ['GET /items', 'GET /items/']],
    ['/items/', ['GET /items', 'GET /items/']],
    ['/exact', ['GET /items/']],
    ['/exact/', ['GET /items/']],
    ['/plain/', ['GET /plain/', 'GET /plain']],
    ['/api/items', ['GET /items', 'GET /items/']],
    ['/api/items/', ['GET /items/']],
    ['/api/plain/', ['GET /plain/', 'GET /plain']],
    ['/u/ada', ['GET /u/ada', 'GET /u/ada/']],
    ['/u/ada/', ['GET /u/ada/']],
    ['/u/bob', ['GET /u/bob']],
    ['/u/bob/', ['GET /u/bob/', 'GET /u/bob']],
    ['/items?limit=2&q=%27a%20b%27', ['GET /items?limit=2&q=%27a%20b%27', 'GET /items/?limit=2&q=%27a%20b%27']],
    ['/keyed?limit=2', ['GET /items?key=of-the-seller&limit=2', 'GET /items/?key=of-the-seller&limit=2']],
  ])('%s is served, and charged once', async (path, sent) => {
    expect(await stage.payFor(path)).toMatchObject({ status: 200, chargedAtomic: PRICE, sent });
  });

  test.each<[string, Call]>([
    ['HEAD', {}],
    ['POST', { body: 'a small body' }],
    ['PUT', { body: 'x'.repeat(64 * 1024) }],
    ['POST', { body: streamOf('a body without a ', 'declared length') }],
    ['POST', {}],
  ])('the request is repeated unchanged: %s %o', async (method, call) => {
    expect(await stage.payFor('/items', { ...call, method })).toMatchObject({ status: 200, chargedAtomic: PRICE });
    const [first, second] = stage.api.requests;
    expect(second).toMatchObject({ method, path: '/items/', body: first!.body });
    if (typeof call.body === 'string') expect(second!.body).toBe(call.body);
    const own = ['tollgate-signature', 'tollgate-timestamp', 'connection'];
    const rest = ({ headers }: Received) => Object.entries(headers).filter(([name]) => !own.includes(name));
    expect(Object.fromEntries(rest(second!))).toMatchObject(
      Object.fromEntries(rest(first!).filter(([name]) => name !== 'transfer-encoding')),
    );
  });

  test('both requests have a signature for their own path', async () => {
    const { body } = await stage.alice.rest<{ upstreamSecret: string }>('GET', `${stage.shop.base}/upstream-secret`);
    await stage.payFor('/items?limit=2');
    expect(stage.api.requests).toHaveLength(2);
    for (const { method, path, headers } of stage.api.requests) {
      const [id, timestamp] = [headers['tollgate-payment-id'] as string, Number(headers['tollgate-timestamp'])];
      const content = `${headers['tollgate-payer']}.${method}.${new URL(stage.api.url).origin}${path}`;
      const signature = new Webhook(body.upstreamSecret).sign(id, new Date(timestamp * 1000), content);
      expect(String(headers['tollgate-signature']).split(' ')).toContain(signature);
    }
    expect(new Set(stage.api.requests.map(({ headers }) => headers['tollgate-payment-id'])).size).toBe(1);
  });

  test('a body over 64 KB is not repeated, and nothing is charged', async () => {
    const body = 'x'.repeat(64 * 1024 + 1);
    const { paymentId, ...result } = await stage.payFor('/items', { method: 'POST', body });
    expect(result).toMatchObject({ status: 502, chargedAtomic: 0n, sent: ['POST /items'] });
    expect((await stage.paymentOf(paymentId)).failureMessage).toBe(advice(`${stage.api.url}/items/`));
  });

  test('a streamed response is passed on, and charged once', async () => {
    const result = await stage.payFor('/streamed?a=1', { method: 'POST', body: 'small' });
    expect(result).toMatchObject({
      status: 200,
      chargedAtomic: PRICE,
      text: expect.stringContaining('"body":"small"'),
      sent: ['POST /items?a=1', 'POST /items/?a=1'],
    });
    const { unservedReason } = await stage.paymentOf(result.headers.get('tollgate-payment-id'));
    expect(unservedReason).toBeNull();
  });

  test.each(['/free', '/free/', '/free/streamed'])('the free endpoint %s is served', async (path) => {
    const response = await fetch(stage.shop.url + path, { redirect: 'manual' });
    expect([response.status, stage.sentPaths()]).toEqual([200, ['GET /items', 'GET /items/']]);
  });

  test('the second response’s Location is relative to the path that it belongs to', async () => {
    stage.api.answers.push({ status: 308, location: '/answers/' }, { status: 201, location: '7' });
    const { status, headers } = await stage.payFor('/answers', { method: 'POST' });
    expect([status, headers.get('location')]).toEqual([201, `${stage.shop.url}/answers/7`]);
  });

  test('the error status of the second response is passed on, and nothing is charged', async () => {
    stage.api.answers.push({ status: 307, location: '/answers/' }, { status: 422 });
    expect(await stage.payFor('/answers')).toMatchObject({ status: 422, chargedAtomic: 0n });
  });

  test.each([
    ['GET', 301],
    ['GET', 302],
    ['GET', 303],
    ['GET', 307],
    ['GET', 308],
    ['POST', 301],
    ['POST', 307],
    ['POST', 308],
  ])('%s with status %d is followed', async (method, status) => {
    stage.api.answers.push({ status, location: '//HOST/answers/' });
    expect(await stage.payFor('/answers', { method })).toMatchObject({
      status: 200,
      chargedAtomic: PRICE,
      sent: [`${method} /answers`, `${method} /answers/`],
    });
  });

  test('the public host, another scheme, and other escapes count as the same', async () => {
    const publicHost = new URL(stage.app.url).host;
    stage.api.answers.push({ status: 307, location: `https://${publicHost}/answers/?a=%7c%2D%C3%A9&b` });
    expect(await stage.payFor('/answers?a=|-%c3%a9&b')).toMatchObject({ status: 200, sent: { length: 2 } });
  });

  test('a more expensive path is not served for the price of a cheaper one', async () => {
    const { url } = stage.api;
    const prices = await createShop(stage.app, stage.alice, {
      '/*': { upstreamUrl: url },
      '/items/*': { upstreamUrl: `${url}/items`, priceUsd: '0.05' },
      '/plain': { upstreamUrl: `${url}/plain`, priceUsd: '0.05' },
    });
    expect(await stage.payFor('/items', {}, prices)).toMatchObject({
      status: 502,
      chargedAtomic: 0n,
      sent: ['GET /items'],
    });
    // A path that is sold at the same price is served.
    expect(await stage.payFor('/u/ada', {}, prices)).toMatchObject({ status: 200, chargedAtomic: PRICE });
    const priced = await fetch(`${prices.url}/plain/`);
    const [terms] = decodeHeader<{ accepts: { amount: string }[] }>(priced.headers.get('payment-required')).accepts;
    expect(terms!.amount).toBe('50000');
  });

  test('the time limit covers both requests', async () => {
    stage.api.answers.push({ status: 307, location: '/answers/' }, 'silence');
    const { status, chargedAtomic, sent } = await stage.payFor('/quick');
    expect([status, chargedAtomic, sent]).toEqual([504, 0n, ['GET /answers', 'GET /answers/']]);
  });

  test('the request is repeated only once', async () => {
    stage.api.answers.push({ status: 307, location: '/answers/' }, { status: 307, location: '/answers' });
    const { status, chargedAtomic, sent, paymentId } = await stage.payFor('/answers');
    expect([status, chargedAtomic, sent]).toEqual([502, 0n, ['GET /answers', 'GET /answers/']]);
    expect((await stage.paymentOf(paymentId)).failureMessage).toBe(advice(`${stage.api.url}/answers`));
  });
});

function streamOf(...parts: string[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(Buffer.from(part));
      controller.close();
    },
  });
}
