import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { declarationsOf } from '../../../src/gateway/discovery/declaration.ts';
import type { Details } from '../../../src/gateway/discovery/details.ts';
import type { PaidRoute } from '../../../src/gateway/routing/load-routes.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const route = { path: '/a', pattern: ['a'], offer: { mimeType: 'application/json' } } as unknown as PaidRoute;
const called = { base: 'https://api.example', segments: ['a'] };
const detailsOf = (): Details => ({ inputSchema: null, exampleResponse: { items: [{}, {}] } });

test('an endpoint’s dropped example can be garbage-collected, even though its route stays in memory', async () => {
  const dropped = ['GET', 'HEAD'].map((method) => {
    const details = detailsOf();
    declarationsOf(route, details, { ...called, method });
    return new WeakRef(details);
  });
  await expect
    .poll(() => {
      collectGarbage();
      // The values themselves must not be kept by an assertion.
      return dropped.map((reference) => reference.deref() === undefined);
    })
    .toEqual([true, true]);
});

test('a declaration is made again if the route has changed', () => {
  const details = detailsOf();
  const first = declarationsOf(route, details, { ...called, method: 'GET' });
  expect(declarationsOf(route, details, { ...called, method: 'GET' })).toBe(first);
  const changed = { ...route, offer: { mimeType: 'text/plain' } } as unknown as PaidRoute;
  expect(declarationsOf(changed, details, { ...called, method: 'GET' })).not.toEqual(first);
});

test('endpoints without schemas and examples share their declarations, so a project with many takes no more memory', () => {
  const none: Details = { inputSchema: null, exampleResponse: null };
  const other = { ...route, path: '/b', pattern: ['b'] } as unknown as PaidRoute;
  const first = declarationsOf(route, none, { ...called, method: 'GET' });
  expect(declarationsOf(other, none, { ...called, segments: ['b'], method: 'GET' })).toBe(first);
});

test('version 1 says of each field whether it is required, and nothing else about it changes', () => {
  const properties = {
    a: { type: 'string' },
    b: {},
    c: true,
    d: { required: ['e'], properties: { e: {} } },
    f: { 7: 1 },
  };
  const query = { type: 'object', properties, required: ['a', 'b', 'd', 'f'] };
  const [declaration] = declarationsOf(
    route,
    { inputSchema: { query }, exampleResponse: null },
    { ...called, method: 'GET' },
  );
  expect(JSON.parse(declaration.outputSchema).input.queryParams).toEqual({
    a: { type: 'string', required: true },
    b: { required: true },
    c: {},
    d: { required: true, properties: { e: {} } },
    f: { 7: 1, required: true },
  });
});
