import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_COST } from '../../src/schema/cost.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';

const MAX_ANSWER_BYTES = 4096;

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
});

afterAll(() => app?.stop());

const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');
const nest = (depth: number, field: string, leaf: string): string =>
  depth === 0 ? leaf : `${field} { ${nest(depth - 1, field, leaf)} }`;
const page = (size: number, inner: string) => `(first: ${size}) { nodes { ${inner} } }`;

/** Documents that are too expensive, each in a different way. */
const HOSTILE: Record<string, string> = {
  'tens of thousands of fields': `{ ${repeat(20_000, () => '__typename')} }`,
  'a thousand aliases': `{ ${repeat(1000, (index) => `a${index}: viewer { tier }`)} }`,
  'forty aliases of an expensive field': `{ ${repeat(40, (index) => `a${index}: projects { nodes { id } }`)} }`,
  'aliases spread over fragments': `{ ${repeat(40, (index) => `...F${index}`)} } ${repeat(40, (index) => `fragment F${index} on Query { a${index}: viewer { tier } }`)}`,
  'connections of a hundred in connections of a hundred': `{ projects${page(100, `endpoints${page(100, 'id path priceUsd')}`)} }`,
  'three levels of connections': `{ projects${page(50, `webhooks${page(50, `deliveries${page(50, 'id')}`)}`)} }`,
  'all connections of all projects': `{ projects${page(100, `deliveries${page(100, 'id attempts { id }')} events${page(100, 'id')}`)} }`,
  'all connections of all projects, with `last`': `{ projects(last: 100) { nodes { deliveries(last: 100) { nodes { event { id data } attempts { id responseBody } } } } } }`,
  'edges instead of nodes': `{ projects(first: 100) { edges { node { endpoints(first: 100) { edges { node { id } } } } } } }`,
  'a page size from a variable': `query ($size: Int = 100) { projects(first: $size) { nodes { events(first: $size) { nodes { id type } } } } }`,
  'a fragment that spreads itself': '{ projects { ...F } } fragment F on ProjectConnection { nodes { id } ...F }',
  'fragments that spread each other': '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }',
  'fragments that double eight times': `{ ...F0 } ${repeat(8, (index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`)} fragment F8 on Query { projects${page(100, 'id name')} }`,
  'excessive depth': `{ ${nest(15, 'projects { nodes', '')}`,
  'introspection nested twenty deep': `{ __schema { types { ${nest(20, 'fields { type', 'name').replaceAll('type {', 'type {')} ${'}'.repeat(20)} } } }`,
  'a hundred directives': `{ viewer ${repeat(100, () => '@include(if: true)')} { tier } }`,
  'thirty directives over fields': `{ ${repeat(30, (index) => `viewer @include(if: true) { tier } __typename @skip(if: false) # ${index}\n`)} }`,
  'a directive that does not exist': '{ viewer @cache(ttl: 1) { tier } }',
  'five hundred operations': repeat(500, (index) => `query Q${index} { viewer { tier } }`),
  'an unknown field with a long name': `{ ${'a'.repeat(100_000)} }`,
  'ten thousand arguments': `{ project(id: "x", ${repeat(10_000, (index) => `a${index}: 1`)}) { id } }`,
  'an unclosed list literal': `{ projects(first: [${'['.repeat(3000)}`,
  'unclosed braces': '{'.repeat(10_000),
  'an unclosed string': `{ project(id: "${'x'.repeat(200_000)}`,
  'nothing but commas': ','.repeat(200_000),
};

describe('a document that is too expensive', () => {
  test.each(Object.entries(HOSTILE))('is rejected with a code and a short response: %s', async (_name, query) => {
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    const text = await response.text();
    const { data, errors } = JSON.parse(text);
    expect(text.length).toBeLessThanOrEqual(MAX_ANSWER_BYTES);
    // Without `data`, nothing was executed.
    expect(data ?? null).toBeNull();
    expect(errors.length).toBeGreaterThan(0);
    for (const { extensions } of errors) expect(['GRAPHQL_INVALID', 'GRAPHQL_TOO_COMPLEX']).toContain(extensions.code);
  });

  test('is rejected because of its cost, which depends on the page sizes', async () => {
    const { errors } = await alice.graphql(HOSTILE['connections of a hundred in connections of a hundred']!);
    expect(errors![0]!.extensions).toMatchObject({ code: 'GRAPHQL_TOO_COMPLEX', retryable: false });
    expect(errors![0]!.message).toContain(String(MAX_COST));
  });
});

describe('a typical document', () => {
  test('reports its cost', async () => {
    const { data, errors, extensions } = await alice.graphql(
      '{ viewer { tier } projects(first: 20) { nodes { id name endpoints(first: 20) { nodes { id path } } } } }',
    );
    expect(errors).toBeUndefined();
    expect(data).toMatchObject({ viewer: { tier: 'ENTERPRISE' } });
    const { cost } = extensions as { cost: { requested: number; limit: number } };
    expect(cost.limit).toBe(MAX_COST);
    expect(cost.requested).toBeGreaterThan(400);
  });

  test('costs more with larger pages', async () => {
    const costOf = async (size: number) => {
      const { extensions } = await alice.graphql(
        `{ projects(first: ${size}) { nodes { id endpoints { nodes { id } } } } }`,
      );
      return (extensions as { cost: { requested: number } }).cost.requested;
    };
    const [small, large] = [await costOf(5), await costOf(50)];
    expect(large / small).toBeGreaterThan(8);
  });

  test('can be a full introspection query', async () => {
    const { getIntrospectionQuery } = await import('graphql');
    const { data, errors } = await alice.graphql<{ __schema: unknown }>(getIntrospectionQuery());
    expect(errors).toBeUndefined();
    expect(data!.__schema).toBeDefined();
  });
});

test.each([
  ['first', 0],
  ['first', -1],
  ['first', 101],
  ['last', 0],
  ['last', 101],
])('page size %s: %i is rejected with an error that names the field', async (name, size) => {
  const { errors } = await alice.graphql(`{ projects(${name}: ${size}) { nodes { id } } }`);
  expect(errors![0]!.extensions).toMatchObject({ code: 'VALIDATION_FAILED', field: `/${name}` });
});
