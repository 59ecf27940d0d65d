import { PassThrough, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Dispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import { requestThroughSlash } from '../../../src/gateway/upstream/redirects.ts';
import { meterBody } from '../../../src/gateway/upstream/request-body.ts';

const PUBLIC_HOST = 'pay.test';

type Sent = { path: string; body: unknown };

/** A response to any number of requests, and whatever else happens at the same time. */
function upstream(statusCode: number, location: string | string[] | undefined, then = () => {}) {
  const sent: Sent[] = [];
  return {
    sent,
    async send(path: string, body: unknown) {
      sent.push({ path, body });
      then();
      const stream = Object.assign(Readable.from([]), { dump: async () => null });
      return { statusCode, headers: { location }, body: stream } as unknown as Dispatcher.ResponseData;
    },
  };
}

const request = (path: string, options: { method?: string; gone?: AbortSignal; isPaid?: boolean } = {}) => ({
  origin: 'https://a.test',
  path,
  method: options.method ?? 'GET',
  publicHost: PUBLIC_HOST,
  gone: options.gone ?? new AbortController().signal,
  mayUseOtherSlash: async () => options.isPaid ?? true,
});

/** The paths that are requested if an upstream always redirects to this location. */
async function requestedPaths(path: string, location: string | string[], statusCode = 307, method = 'GET') {
  const { sent, send } = upstream(statusCode, location);
  await requestThroughSlash(request(path, { method }), null, send);
  return sent.map((each) => each.path);
}

describe('a redirect is followed once if it only adds or removes a trailing slash', () => {
  test.each([
    ['/items', 'https://a.test/items/', '/items/'],
    ['/items/', 'https://a.test/items', '/items'],
    ['/items', 'http://a.test/items/', '/items/'],
    ['/items', 'https://A.test:443/items/', '/items/'],
    ['/items', `http://${PUBLIC_HOST}/items/`, '/items/'],
    ['/items', '//a.test/items/#part', '/items/'],
    ['/items', '/items/', '/items/'],
    ['/items', 'items/', '/items/'],
    ['/a/items/', '../items', '/a/items'],
    ['/items?a=1&b=%20', '/items/?a=1&b=%20', '/items/?a=1&b=%20'],
    ["/items?a='%7C'", '/items/?a=%27|%27', "/items/?a='%7C'"],
    ['/caf%C3%A9s/:x', '/caf%c3%a9s/%3Ax/', '/caf%C3%A9s/:x/'],
    ['/items?next=/x', '/items/?next=/x', '/items/?next=/x'],
  ])('from %s to %s', async (path, location, other) => {
    expect(await requestedPaths(path, location)).toEqual([path, other]);
  });
});

describe('a redirect is not followed', () => {
  test.each([
    ['/items', 'https://b.test/items/'],
    ['/items', 'https://a.test:8443/items/'],
    ['/items', 'https://a.test.b.test/items/'],
    ['/items', 'https://user@a.test/items/'],
    ['/items', 'ftp://a.test/items/'],
    ['/items', '/items'],
    ['/items', '/items//'],
    ['/items/', '/'],
    ['/items', '/Items/'],
    ['/items', '/items/index.html'],
    ['/items', '/v2/items/'],
    ['/items?a=1', '/items/'],
    ['/items', '/items/?a=1'],
    ['/items?a=1', '/items/?a=2'],
    ['/items?a=%2541', '/items/?a=%41'],
    ['/', '//'],
    ['/', '/'],
    ['/?a=1', '/'],
    ['/items', 'https://[/items/'],
    ['/items', `/items/?${'a'.repeat(9_000)}`],
  ])('from %s to %s', async (path, location) => {
    expect(await requestedPaths(path, location)).toEqual([path]);
  });

  test('if there are several locations', async () => {
    expect(await requestedPaths('/items', ['/items/', '/items/'])).toEqual(['/items']);
  });

  test.each([
    [200, 'GET'],
    [201, 'POST'],
    [300, 'GET'],
    [304, 'GET'],
    [302, 'POST'],
    [303, 'PUT'],
    [302, 'DELETE'],
  ])('with status %d, after %s', async (statusCode, method) => {
    expect(await requestedPaths('/items', '/items/', statusCode, method)).toEqual(['/items']);
  });

  test('if the other path is sold at another price', async () => {
    const { sent, send } = upstream(307, '/items/');
    expect(await requestThroughSlash(request('/items', { isPaid: false }), null, send)).toMatchObject({
      path: '/items',
      response: { statusCode: 307 },
    });
    expect(sent).toHaveLength(1);
  });

  test('after the buyer has disconnected', async () => {
    const buyer = new AbortController();
    const { sent, send } = upstream(307, '/items/', () => buyer.abort());
    const calling = requestThroughSlash(request('/items', { gone: buyer.signal }), null, send);
    await expect(calling).rejects.toMatchObject({ reason: 'buyer_gone' });
    expect(sent).toHaveLength(1);
  });

  test('if the request body is incomplete or larger than 64 KB', async () => {
    const incomplete = new PassThrough();
    incomplete.write('a');
    const large = meterBody(Readable.from([Buffer.alloc(65_536), Buffer.alloc(1)]));
    await finished(large.resume());
    for (const body of [meterBody(incomplete), large]) {
      const { sent, send } = upstream(307, '/items/');
      await requestThroughSlash(request('/items', { method: 'POST' }), body, send);
      expect(sent).toHaveLength(1);
    }
  });
});

test('a request is repeated with the whole body, which is kept only until the first response', async () => {
  const chunks = [Buffer.alloc(65_000, 'a'), Buffer.alloc(536, 'b')];
  const body = meterBody(Readable.from(chunks));
  await finished(body.resume());
  const { sent, send } = upstream(307, '/items/');
  const requested = await requestThroughSlash(request('/items', { method: 'POST' }), body, send);
  expect(requested.path).toBe('/items/');
  expect(sent).toEqual([
    { path: '/items', body },
    { path: '/items/', body: Buffer.concat(chunks) },
  ]);
  expect(body.takeWhole()).toBeUndefined();
});
