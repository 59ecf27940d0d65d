import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { consoleDocuments } from '../support/console-documents.ts';
import { WALLET } from '../support/resources.ts';

const REQUEST_ID = 'the-same-request';
/** It contains the time. */
const CURSOR_OF_NOW = /"now":"[^"]+"/;
const MEDIA_TYPES = ['application/json', 'application/graphql-response+json', '*/*'] as const;

let app: TestApp;
let alice: TestUser;
let variables: Record<string, unknown>;

beforeAll(async () => {
  // Limits don't refill during a test.
  app = await startTestApp({ rateLimitNow: () => 0 });
  alice = await app.user('alice', 'ENTERPRISE');
  const project = await alice.rest<{ id: string }>('POST', '/api/projects', { name: 'Shop', walletAddress: WALLET });
  const path = `/api/projects/${project.body.id}/endpoints`;
  const endpoint = { path: '/data', upstreamUrl: 'https://upstream.example/data', priceUsd: '0.01' };
  const { body } = await alice.rest<{ id: string }>('POST', path, endpoint);
  variables = { projectId: project.body.id, project: project.body.id, id: body.id, endpointId: body.id };
});

afterAll(() => app?.stop());

type Sent = { body: string; accept?: string; authorization?: string; contentType?: string };

/** Sends a request unchanged, or with a query in its URL, so that Yoga's HTTP server handles it. */
async function send(url: '/graphql' | '/graphql?', { body, accept = 'application/json', ...given }: Sent) {
  const { authorization = `Bearer ${alice.token}`, contentType = 'application/json' } = given;
  const headers = { authorization, accept, 'content-type': contentType, 'x-request-id': REQUEST_ID };
  // Fetch would drop the question mark.
  const response = await fetch(`${app.url}${url === '/graphql' ? url : `${url}yoga`}`, {
    method: 'POST',
    headers,
    body,
  });
  const { date: _, 'content-length': length, ...answered } = Object.fromEntries(response.headers);
  const text = await response.text();
  expect(length === undefined || Number(length) === Buffer.byteLength(text)).toBe(true);
  return { status: response.status, headers: answered, body: text.replace(CURSOR_OF_NOW, '"now":"…"') };
}

async function sendBoth(sent: Sent) {
  return { plain: await send('/graphql', sent), yoga: await send('/graphql?', sent) };
}

const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');

/** Bodies, with a description of what is unusual about each. */
const BODIES: Record<string, unknown> = {
  'a query': { query: '{ viewer { tier } }' },
  'a query with a name': {
    query: 'query A { viewer { tier } } query B { projects { nodes { name } } }',
    operationName: 'B',
  },
  'a query without its name': { query: 'query A { viewer { tier } } query B { viewer { tier } }' },
  'an unknown operation name': { query: 'query A { viewer { tier } }', operationName: 'B' },
  'an operation name that is not a string': { query: 'query A { viewer { tier } }', operationName: 1 },
  introspection: { query: '{ __schema { queryType { name } types { name } } }' },
  'the word subscription': { query: '{ subscription: viewer { tier } }' },
  'a mutation that fails': { query: 'mutation { deleteProject(input: { id: "proj_x" }) { projectId } }' },
  'an invalid mutation': {
    query: 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { name } } }',
    variables: { input: { name: '', walletAddress: 'none' } },
  },
  'partial data': { query: `{ viewer { tier } project(id: "proj_x") { id } }` },
  'a syntax error': { query: '{ viewer {' },
  'a syntax error, which is cached': { query: '{ viewer {' },
  'an unknown field': { query: '{ viewer { name password } }' },
  'an unknown directive': { query: '{ viewer @defer { tier } }' },
  'ten unknown fields': { query: `{ ${repeat(10, (index) => `f${index}`)} }` },
  'an empty document': { query: '' },
  'only a fragment': { query: 'fragment F on Query { viewer { tier } }' },
  'a missing variable': { query: 'query ($id: ID!) { project(id: $id) { id } }' },
  'a variable that is null': { query: 'query ($id: ID!) { project(id: $id) { id } }', variables: { id: null } },
  'a variable of the wrong type': {
    query: 'query ($first: Int) { projects(first: $first) { nodes { id } } }',
    variables: { first: 'x' },
  },
  'ten variables of the wrong type': {
    query: `query (${repeat(10, (i) => `$v${i}: Int`)}) { viewer { tier } ${repeat(10, (i) => `p${i}: projects(first: $v${i}) { nodes { id } }`)} }`,
    variables: Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`v${i}`, 'x'])),
  },
  'an unknown variable': { query: '{ viewer { tier } }', variables: { unknown: 1 } },
  'variables that are null': { query: '{ viewer { tier } }', variables: null },
  'variables that are a list': { query: '{ viewer { tier } }', variables: [] },
  'variables that are a string': { query: '{ viewer { tier } }', variables: '{}' },
  extensions: { query: '{ viewer { tier } }', extensions: { persistedQuery: { version: 1 } } },
  'extensions that are a string': { query: '{ viewer { tier } }', extensions: 'x' },
  'an unknown parameter': { query: '{ viewer { tier } }', doc_id: '1' },
  'an unknown parameter that is null': { query: '{ viewer { tier } }', doc_id: null },
  'a parameter named __proto__': JSON.parse('{ "query": "{ viewer { tier } }", "__proto__": { "a": 1 } }'),
  'no query': { variables: {} },
  'a query that is a number': { query: 1 },
  'a query that is null': { query: null },
  'a batch': [{ query: '{ viewer { tier } }' }],
  null: null,
  nothing: {},
  'a string': 'x',
  'excessive depth': { query: `{ ${'projects { nodes { '.repeat(8)}id${' } }'.repeat(8)} }` },
  'too many aliases': { query: `{ ${repeat(40, (index) => `a${index}: viewer { tier }`)} }` },
  'too many directives': { query: `{ ${repeat(30, () => '__typename @include(if: true)')} }` },
  'too many tokens': { query: `{ ${repeat(3_000, () => '__typename')} }` },
  'too many characters': { query: `{ viewer { tier } } # ${'x'.repeat(40_000)}` },
  'too high a cost': { query: '{ projects(first: 100) { nodes { endpoints(first: 100) { nodes { id } } } } }' },
};

const documents = await consoleDocuments();

describe('a POST of JSON gets the same response as from Yoga’s HTTP server', () => {
  describe.each(MEDIA_TYPES)('as %s', (accept) => {
    test.each(Object.entries(BODIES))('with %s', async (_what, body) => {
      const { plain, yoga } = await sendBoth({ body: JSON.stringify(body), accept });
      expect(plain).toEqual(yoga);
    });
  });

  test.each(documents.filter(({ type }) => type === 'query'))(
    'with the console’s document $name',
    async ({ query }) => {
      const { plain, yoga } = await sendBoth({ body: JSON.stringify({ query, variables }) });
      expect(plain).toEqual(yoga);
    },
  );

  test.each([
    ['without a credential', { authorization: '' }],
    ['with an invalid credential', { authorization: 'Bearer x' }],
    ['with invalid JSON', { body: '{' }],
    ['with too large a body', { body: JSON.stringify({ query: 'x'.repeat(300_000) }) }],
    ['with another content type', { contentType: 'text/plain' }],
    ['with a content type in capital letters', { contentType: 'Application/JSON' }],
    ['with a charset', { contentType: 'application/json; charset=utf-8' }],
    ['with a type that it does not serve', { accept: 'image/png' }],
    ['with types in Apollo Client’s order', { accept: 'application/graphql-response+json,application/json;q=0.9' }],
    ['with types in axios’s order', { accept: 'application/json, text/plain, */*' }],
    ['with the type of a stream', { accept: 'multipart/mixed' }],
    ['with several types', { accept: 'text/html, application/json' }],
  ])('%s', async (_what, given) => {
    const { plain, yoga } = await sendBoth({ body: JSON.stringify({ query: '{ viewer { tier name } }' }), ...given });
    expect(plain).toEqual(yoga);
    const good = await sendBoth({ body: JSON.stringify({ query: '{ viewer { tier } }' }), ...given });
    expect(good.plain).toEqual(good.yoga);
  });

  test('over the rate limit', async () => {
    const query = `mutation { ${repeat(20, (i) => `m${i}: deleteProject(input: { id: "proj_x" }) { projectId }`)} }`;
    const bodies = [{ query }, { query }, { query }, { query }, { query }].map((body) => JSON.stringify(body));
    const [first, second] = await Promise.all(
      (['/graphql', '/graphql?'] as const).map(async (url, index) => {
        const user = await app.user(`poor-${index}`, 'STARTER');
        const responses = [];
        for (const body of bodies) responses.push(await send(url, { body, authorization: `Bearer ${user.token}` }));
        return responses.map(({ status, body, headers }) => ({ status, body, policy: headers['ratelimit-policy'] }));
      }),
    );
    expect(first!.some(({ status }) => status === 429)).toBe(true);
    expect(first).toEqual(second);
  });
});

test('a mutation takes effect once', async () => {
  const query = `mutation { createProject(input: { name: "Once", walletAddress: "${WALLET}" }) { project { name } } }`;
  const { status, body } = await send('/graphql', { body: JSON.stringify({ query }) });
  expect({ status, ...JSON.parse(body) }).toMatchObject({
    status: 200,
    data: { createProject: { project: { name: 'Once' } } },
  });
  const { body: list } = await alice.rest<{ data: { name: string }[] }>('GET', '/api/projects');
  expect(list.data.filter(({ name }) => name === 'Once')).toHaveLength(1);
});

test('a subscription sent by POST that accepts any media type is still streamed', async () => {
  const controller = new AbortController();
  const response = await fetch(`${app.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json', accept: '*/*' },
    body: JSON.stringify({
      query: 'subscription ($projectId: ID!) { deliveryUpdated(projectId: $projectId) { cursor } }',
      variables: { projectId: variables.projectId },
    }),
    signal: controller.signal,
  });
  expect(response.headers.get('content-type')).toMatch('text/event-stream');
  controller.abort();
});
