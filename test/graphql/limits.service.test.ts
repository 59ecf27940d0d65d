import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { MAX_COST } from '../../src/schema/cost.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createProject } from '../support/resources.ts';
import { connectSocket } from './socket-client.ts';

const MAX_RESPONSE_BYTES = 4096;

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

/** Nearly as many hours as one period can span. */
const HOURS = 'interval: HOUR, from: "2026-01-01T00:00:00Z", to: "2026-02-10T00:00:00Z"';

/** Documents that are too expensive, each in a different way. */
const HOSTILE: Record<string, string> = {
  'tens of thousands of fields': `{ ${repeat(20_000, () => '__typename')} }`,
  'a thousand aliases': `{ ${repeat(1000, (index) => `a${index}: viewer { tier }`)} }`,
  'forty aliases of an expensive field': `{ ${repeat(40, (index) => `a${index}: projects { nodes { id } }`)} }`,
  'aliases spread over fragments': `{ ${repeat(40, (index) => `...F${index}`)} } ${repeat(40, (index) => `fragment F${index} on Query { a${index}: viewer { tier } }`)}`,
  'a hundred items, each with a connection of a hundred': `{ projects${page(100, `endpoints${page(100, 'id path priceUsd')}`)} }`,
  'three levels of connections': `{ projects${page(50, `webhooks${page(50, `deliveries${page(50, 'id')}`)}`)} }`,
  'all connections of all projects': `{ projects${page(100, `deliveries${page(100, 'id attempts { id }')} events${page(100, 'id')}`)} }`,
  'all connections of all projects, with `last`': `{ projects(last: 100) { nodes { deliveries(last: 100) { nodes { event { id data } attempts { id responseBody } } } } } }`,
  'thirty aliases of a large field': `{ project(id: "x") { endpoints${page(
    100,
    repeat(30, (index) => `a${index}: exampleResponse`),
  )} } }`,
  'the longest texts of thousands of endpoints': `{ projects${page(65, `endpoints${page(100, 'path upstreamUrl description forwardedHeaders')}`)} }`,
  'the responses to all attempts': `{ project(id: "x") { deliveries${page(100, 'attempts { responseBody }')} } }`,
  'the hourly revenue of a hundred projects': `{ projects(first: 100) { nodes { revenue(${HOURS}) { buckets { start } } } } }`,
  'hourly delivery statistics, thirty times': `{ project(id: "x") { ${repeat(30, (index) => `a${index}: deliveryStats(${HOURS}) { buckets { start succeededCount failedCount skippedCount } }`)} } }`,
  'the totals of long periods, thirty times': `{ project(id: "x") { ${repeat(15, (index) => `a${index}: revenue(${HOURS}) { totals { totalUsd } } b${index}: deliveryStats(${HOURS}) { totals { failedCount } }`)} } }`,
  'a fragment with statistics, first for a short period': `{ project(id: "x") { revenue { ...F } ${repeat(25, (index) => `a${index}: revenue(${HOURS}) { ...F }`)} } } fragment F on Revenue { buckets { start totalUsd totalAtomic paymentCount } }`,
  'the best customers of a hundred projects': `{ projects(first: 100) { nodes { revenue { topCustomers(first: 100) { customerId walletAddress totalUsd } } } } }`,
  'the customers of a hundred projects, counted twice': `{ projects(first: 100) { nodes { ${repeat(2, (index) => `a${index}: revenue { totals { customerCount } }`)} } } }`,
  'the URLs of thousands of webhooks': `{ projects${page(60, `description iconUrl webhooks${page(90, 'url')}`)} }`,
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
    expect(text.length).toBeLessThanOrEqual(MAX_RESPONSE_BYTES);
    // Without `data`, nothing was executed.
    expect(data ?? null).toBeNull();
    expect(errors.length).toBeGreaterThan(0);
    for (const { extensions } of errors) expect(['GRAPHQL_INVALID', 'GRAPHQL_TOO_COMPLEX']).toContain(extensions.code);
  });

  test('is rejected because of its cost, which depends on the page sizes', async () => {
    const { errors } = await alice.graphql(HOSTILE['a hundred items, each with a connection of a hundred']!);
    expect(errors![0]!.extensions).toMatchObject({ code: 'GRAPHQL_TOO_COMPLEX', retryable: false });
    expect(errors![0]!.message).toContain(String(MAX_COST));
  });
});

describe('a subscription, which is priced per item', () => {
  const subscribing = (selection: string) =>
    `subscription { deliveryUpdated(projectId: "x") { delivery { ${selection} } } }`;
  const EXPENSIVE = subscribing('webhook { deliveries(first: 100) { nodes { event { id data } } } }');

  async function listen(query: string) {
    const socket = await connectSocket(app.url, alice.token);
    socket.send({ id: '1', type: 'subscribe', payload: { query } });
    const answer = await socket.next(({ id }) => id === '1');
    await socket.close();
    return (answer.payload as { errors: { message: string; extensions: { code: string } }[] }).errors[0]!;
  }

  test('is rejected if an item costs more than 500 points, although a query with the same selection is not', async () => {
    const { message, extensions } = await listen(EXPENSIVE);
    expect(extensions.code).toBe('GRAPHQL_TOO_COMPLEX');
    expect(message).toMatch(/^Each item of the subscription costs \d+ points, but only 500 are allowed\./);
    const query =
      '{ project(id: "x") { webhook(id: "x") { deliveries(first: 100) { nodes { event { id data } } } } } }';
    expect((await alice.graphql(query)).errors?.[0]?.extensions.code).not.toBe('GRAPHQL_TOO_COMPLEX');
  });

  test('is also rejected on an event stream', async () => {
    const response = await fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${alice.token}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ query: EXPENSIVE }),
    });
    expect(await response.text()).toContain('GRAPHQL_TOO_COMPLEX');
  });

  test('can select a delivery with its event and its attempts', async () => {
    const attempt = 'number statusCode requestUrl requestHeaders responseHeaders responseBody';
    const { extensions } = await listen(subscribing(`id status event { id type data } attempts { ${attempt} }`));
    expect(extensions.code).toBe('NOT_FOUND');
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

  test('costs more with more intervals in its statistics, and with longer lists of the best customers', async () => {
    const { id } = await createProject(alice);
    const costOf = async (selection: string, variables = {}) => {
      const query = `query ($from: DateTime, $first: Int! = 10) { project(id: "${id}") { ${selection} } }`;
      const { errors, extensions } = await alice.graphql(query, variables);
      expect(errors).toBeUndefined();
      return (extensions as { cost: { requested: number } }).cost.requested;
    };
    const inDays = 'interval: DAY, from: $from, to: "2026-02-10T00:00:00Z"';
    const revenue = `revenue(${inDays}) { buckets { start totalUsd } topCustomers(first: $first) { totalUsd } }`;
    const deliveryStats = `deliveryStats(${inDays}) { buckets { start failedCount } } customers(first: $first) { totalCount }`;
    const day = { from: '2026-02-09T00:00:00Z' };
    const year = { from: '2025-02-09T00:00:00Z' };
    // Each of the other 365 days has two fields, at 0.1 points each. The statistic itself costs 366 points instead of 25.
    for (const selection of [revenue, deliveryStats]) {
      expect((await costOf(selection, year)) - (await costOf(selection, day))).toBe(73 + 366 - 25);
    }
    // Each of the other 90 customers has one field.
    expect((await costOf(revenue, { ...day, first: 100 })) - (await costOf(revenue, day))).toBe(9);
  });

  test('costs more with certificates, which can be long, and with events about a resource, which are searched for', async () => {
    const { id } = await createProject(alice);
    const costOf = async (selection: string) => {
      const { errors, extensions } = await alice.graphql(`{ project(id: "${id}") { ${selection} } }`);
      expect(errors).toBeUndefined();
      return (extensions as { cost: { requested: number } }).cost.requested;
    };
    const webhooks = (field: string) => costOf(`webhooks(first: 1) { nodes { id ${field} } }`);
    expect((await webhooks('certificateAuthority')) - (await webhooks(''))).toBe(16);
    expect((await webhooks('clientCertificate { certificate expiresAt }')) - (await webhooks(''))).toBe(18);
    const about = `first: 1, filter: { resourceId: "${newId('Endpoint')}" }`;
    const events = (page: string) => costOf(`events(${page}) { nodes { id } }`);
    expect((await events(about)) - (await events('first: 1'))).toBe(25);
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
