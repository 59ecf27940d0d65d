import { expect, test } from 'vitest';
import { type Called, declarationsOf } from '../../../src/gateway/discovery/declaration.ts';
import type { Details } from '../../../src/gateway/discovery/details.ts';
import { paymentRequired } from '../../../src/gateway/payment/payment-required.ts';
import { requirementsV1, resourceOf } from '../../../src/gateway/payment/terms.ts';
import type { PaidRoute } from '../../../src/gateway/routing/load-routes.ts';
import { NETWORK, SELLER } from '../support.ts';

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
    ...{ path: `/${pattern.join('/')}`, pattern, payTo: SELLER, networks: [NETWORK], priceAtomic: 10_000n },
    offer: { mimeType: 'application/json', serviceName: null, tags: [] },
  } as unknown as PaidRoute;
  const resource = resourceOf(route, 'https://api.example/a/7');
  const declarations = () => declarationsOf(route, details, called);
  const ask = () =>
    paymentRequired({ ...{ route, resource, error: 'Pay.', isForBrowser: false }, declarations: declarations() });
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

test.each([100, 10_000])('the terms in version 1 include the declaration with an example of %i bytes', (bytes) => {
  const { ask, route, resource, declarations } = endpoint(bytes, ['a', ':id']);
  const terms = requirementsV1(NETWORK, route, 10_000n, resource, declarations()[0].outputSchema);
  expect(ask().body).toBe(JSON.stringify({ x402Version: 1, error: 'Pay.', accepts: [terms] }));
});
