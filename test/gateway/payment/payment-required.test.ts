import { describe, expect, test } from 'vitest';
import { type Called, declarationsOf } from '../../../src/gateway/discovery/declaration.ts';
import type { Details } from '../../../src/gateway/discovery/details.ts';
import { readPaymentHeader } from '../../../src/gateway/payment/payment-header.ts';
import { paymentRequired, wantsPage } from '../../../src/gateway/payment/payment-required.ts';
import { requirementsV1, resourceOf } from '../../../src/gateway/payment/terms.ts';
import type { PaidRoute } from '../../../src/gateway/routing/load-routes.ts';
import { NETWORK, SELLER } from '../support.ts';

const AUTHORIZATION = {
  from: SELLER,
  to: SELLER,
  value: '10000',
  validAfter: '0',
  validBefore: '2000000000',
  nonce: `0x${'2'.repeat(64)}`,
};

const called: Called = { method: 'GET', base: 'https://api.example', segments: ['a', '7'] };

/** An endpoint whose example counts how often it is converted to JSON. */
function endpoint(exampleBytes: number, pattern: string[]) {
  let conversions = 0;
  const toJSON = () => {
    conversions += 1;
    return { text: 'x'.repeat(exampleBytes) };
  };
  const details: Details = { inputSchema: { query: { type: 'object' } }, exampleResponse: { toJSON } };
  const route = {
    path: `/${pattern.join('/')}`,
    pattern,
    payTo: SELLER,
    networks: [NETWORK],
    priceAtomic: 10_000n,
    offer: { mimeType: 'application/json', serviceName: null, tags: [] },
  } as unknown as PaidRoute;
  const resource = resourceOf(route, 'https://api.example/a/7');
  const declarations = () => declarationsOf(route, details, called);
  const ask = () =>
    paymentRequired({ route, resource, error: 'Pay.', isForBrowser: false, declarations: declarations() });
  return { ask, route, resource, declarations, conversions: () => conversions };
}

test.each([
  ['32 KB', 32_000, ['a', '7']],
  ['32 KB, with placeholders', 32_000, ['a', ':id']],
  ['10 KB', 10_000, ['a', '7']],
  ['10 KB, with placeholders', 10_000, ['a', ':id']],
])("an example of %s isn't converted again for each request without a payment", (_, bytes, pattern) => {
  const { ask, conversions } = endpoint(bytes, pattern);
  const first = ask();
  const before = conversions();
  for (let requests = 0; requests < 10; requests++) expect(ask()).toEqual(first);
  expect(conversions()).toBe(before);
});

describe.each(['Wetter für Zürich', 'Wetter – 天気 🌦', 'ÿĀ'])('a description such as %s', (description) => {
  const { route, resource, declarations } = endpoint(10, ['a', '7']);
  const header = paymentRequired({
    route,
    resource: { ...resource, description },
    declarations: declarations(),
    error: 'Pay.',
    isForBrowser: false,
  }).headers['payment-required']!;
  const payment = (terms: { accepts: { network: string }[]; resource: object }) =>
    JSON.stringify({
      x402Version: 2,
      resource: terms.resource,
      accepted: terms.accepts[0],
      payload: { signature: `0x${'1'.repeat(130)}`, authorization: AUTHORIZATION },
    });
  const read = (sent: string) => readPaymentHeader({ 'payment-signature': sent });

  test('can be read by clients that decode UTF-8', () => {
    const terms = JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
    expect(terms.resource.description).toBe(description);
    expect(read(Buffer.from(payment(terms)).toString('base64'))).toMatchObject({ kind: 'payment' });
  });

  test('can be sent back by clients that read and write one byte per character', () => {
    const terms = JSON.parse(atob(header));
    if (description === 'Wetter für Zürich') expect(terms.resource.description).toBe(description);
    expect(read(btoa(payment(terms)))).toMatchObject({ kind: 'payment' });
  });
});

test.each([
  [500, true],
  [2_000, false],
])('the header has the URL with a query of %i characters: %s', (characters, isWhole) => {
  const { route, resource, declarations } = endpoint(10, ['a', '7']);
  const query = `?q=${'x'.repeat(characters - 3)}`;
  const asked = { ...resource, url: resource.url + query };
  const { headers, body } = paymentRequired({
    route,
    resource: asked,
    declarations: declarations(),
    error: 'Pay.',
    isForBrowser: false,
  });
  const header = headers['payment-required']!;
  expect(header.length).toBeLessThanOrEqual(3_000);
  expect(JSON.parse(atob(header)).resource.url).toBe(isWhole ? asked.url : resource.url);
  expect(JSON.parse(body).accepts[0].resource).toBe(asked.url);
});

describe('a page is sent only to browsers', () => {
  const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  test.each([
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', FIREFOX, true],
    [
      'text/html',
      'Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15',
      true,
    ],
    ['Text/HTML', FIREFOX, true],
    ['text/html', 'node', false],
    ['text/html', undefined, false],
    ['text/html,application/xhtml+xml', 'python-requests/2.32', false],
    ['text/markdown, text/html;q=0.9, */*;q=0.8', FIREFOX, false],
    ['text/html;q=0', FIREFOX, false],
    ['text/html;q=0.5, application/json', FIREFOX, false],
    ['text/html, application/json', FIREFOX, false],
    ['*/*', FIREFOX, false],
    [undefined, FIREFOX, false],
  ])('Accept %j from %j: %s', (accept, userAgent, expected) => {
    const headers = { ...(accept && { accept }), ...(userAgent && { 'user-agent': userAgent }) };
    expect(wantsPage(headers)).toBe(expected);
  });

  test('and not for more than 1,000 characters in `Accept`, because reading thousands of types takes too long', () => {
    const asking = (characters: number) => ({ accept: 'text/html'.padEnd(characters, ',a/b'), 'user-agent': FIREFOX });
    expect(wantsPage(asking(1_000))).toBe(true);
    expect(wantsPage(asking(1_001))).toBe(false);
  });
});

test.each([100, 10_000])('the terms in version 1 include the declaration with an example of %i bytes', (bytes) => {
  const { ask, route, resource, declarations } = endpoint(bytes, ['a', ':id']);
  const terms = requirementsV1(NETWORK, route, 10_000n, resource, JSON.parse(declarations()[0].outputSchema));
  expect(ask().body).toBe(JSON.stringify({ x402Version: 1, error: 'Pay.', accepts: [terms] }));
});
