import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { schema } from '../../src/graphql/schema.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { connectSocket } from './socket-client.ts';

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

const MAX_RESPONSE_BYTES = 4_096;

const [operation, ...fragments] = getIntrospectionQuery().split(/(?=fragment )/);
const body = operation!.slice(operation!.indexOf('__schema'), operation!.lastIndexOf('}'));
const repeat = (count: number, make: (index: number) => string) => Array.from({ length: count }, (_, at) => make(at));

/** Documents that introspect the schema again and again, each in a different way. */
const HOSTILE: Record<string, string> = {
  'eighteen aliases': `{ ${repeat(18, (at) => `a${at}: ${body}`).join(' ')} } ${fragments.join(' ')}`,
  'two aliases in fragments': `{ ...A ...B } fragment A on Query { ${body} } fragment B on Query { b: ${body} } ${fragments.join(' ')}`,
  'many aliases in one introspection': `{ __schema { ${repeat(20, (at) => `a${at}: types { ...FullType }`).join(' ')} } } ${fragments.join(' ')}`,
  'fields of the types of fields': `{ __schema { types { fields { args { type { ...T } } type { ...T ofType { ...T ofType { ...T } } } again: type { ...T ofType { ...T } } } } } }
    fragment T on __Type { name description fields { name description isDeprecated type { name kind description } } inputFields { name description } enumValues { name description } kind specifiedByURL isOneOf }`,
  'many single types': `{ ${repeat(28, (at) => `a${at}: __type(name: "Query") { ...FullType }`).join(' ')} } ${fragments.join(' ')}`,
  'a single type from a variable, many times': `query ($name: String = "Mutation") { ${repeat(28, (at) => `a${at}: __type(name: $name) { ...FullType }`).join(' ')} } ${fragments.join(' ')}`,
};

const url = (query: string) => `${app.url}/graphql?query=${encodeURIComponent(query)}`;

async function ask(transport: string, query: string, authorization = `Bearer ${alice.token}`): Promise<string> {
  const accept = transport === 'SSE' ? 'text/event-stream' : 'application/json';
  if (transport === 'WebSocket') {
    const client = await connectSocket(app.url, alice.token);
    client.send({ id: '1', type: 'subscribe', payload: { query } });
    const answer = await client.next(({ type }) => type === 'next' || type === 'error');
    await client.close();
    return JSON.stringify(answer);
  }
  const short = query.replaceAll(/\s+/g, ' ');
  const response = await (transport === 'GET'
    ? fetch(url(short), { headers: { authorization, accept } })
    : fetch(`${app.url}/graphql`, {
        method: 'POST',
        headers: { authorization, accept, 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      }));
  return response.text();
}

describe.each(['POST', 'GET', 'SSE', 'WebSocket'])('over %s', (transport) => {
  test.each(Object.entries(HOSTILE))('a document that introspects repeatedly is rejected: %s', async (_name, query) => {
    const text = await ask(transport, query);
    expect(text.length).toBeLessThanOrEqual(MAX_RESPONSE_BYTES);
    expect(text).toContain('GRAPHQL_TOO_COMPLEX');
  });
});

test.each(['POST', 'GET', 'SSE'])(
  'without a credential, an error over %s reveals nothing about the schema',
  async (transport) => {
    const text = await ask(transport, '{ projcts { nodes { idd } } __typename }', '');
    expect(text).toContain('UNAUTHENTICATED');
    expect(text).not.toMatch(/projects|Did you mean/i);
  },
);

describe('a full introspection', () => {
  const cost = (extensions: unknown) => (extensions as { cost: { requested: number } }).cost.requested;

  test('is allowed, and its cost depends on the length of the response', async () => {
    const { data, errors, extensions } = await alice.graphql(getIntrospectionQuery());
    expect(errors).toBeUndefined();
    const points = JSON.stringify(data).length / 100;
    expect(Math.abs(cost(extensions) - points) / points).toBeLessThan(0.1);
    const small = await alice.graphql('{ __schema { queryType { name } } __type(name: "Project") { name } }');
    expect(small.data).toEqual({ __schema: { queryType: { name: 'Query' } }, __type: { name: 'Project' } });
    expect(cost(small.extensions)).toBeLessThan(10);
  });

  test('counts as one request for each 1,000 points', async () => {
    const user = await app.user('counter', 'STARTER');
    const left = async (query: string) => {
      const { headers } = await user.rest('POST', '/graphql', { query });
      return Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1]);
    };
    const before = await left('{ __typename }');
    const { extensions } = await alice.graphql(getIntrospectionQuery());
    expect(before - (await left(getIntrospectionQuery()))).toBeGreaterThanOrEqual(
      Math.ceil(cost(extensions) / 1_000) - 1,
    );
  });

  test('is executed once, no matter how often the same document is sent', async () => {
    const types = vi.spyOn(schema, 'getTypeMap');
    const query = getIntrospectionQuery({ descriptions: false });
    const first = await alice.graphql(query);
    const calls = types.mock.calls.length;
    expect(calls).toBeGreaterThan(0);
    for (let time = 0; time < 5; time++) expect(await alice.graphql(query)).toEqual(first);
    expect(types.mock.calls).toHaveLength(calls);
    types.mockRestore();
  });

  test('has its own response for other variables', async () => {
    const query = 'query ($name: String!) { __type(name: $name) { name } }';
    for (const name of ['Project', 'Endpoint', 'Project']) {
      expect((await alice.graphql(query, { name })).data).toEqual({ __type: { name } });
    }
  });

  test('is not shared with others if it also asks for data', async () => {
    const bob = await app.user('bob', 'PRO');
    const query = '{ __schema { queryType { name } } viewer { tier } }';
    expect((await alice.graphql(query)).data).toMatchObject({ viewer: { tier: 'ENTERPRISE' } });
    expect((await bob.graphql(query)).data).toMatchObject({ viewer: { tier: 'PRO' } });
  });
});
