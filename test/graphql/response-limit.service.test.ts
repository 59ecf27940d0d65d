import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_RESPONSE_BYTES } from '../../src/graphql/response-limit.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createEndpoint, createProject } from '../support/resources.ts';
import { connectSocket } from './socket-client.ts';

const ENDPOINTS = 20;
const EXAMPLE = 'x'.repeat(32_000);

let app: TestApp;
let alice: TestUser;
let project: { id: string; base: string };

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  project = await createProject(alice);
  for (let index = 0; index < ENDPOINTS; index++) {
    await createEndpoint(alice, project.base, { path: `/${index}`, exampleResponse: EXAMPLE });
  }
});

afterAll(() => app?.stop());

const repeat = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ');
const examples = (count: number) => repeat(count, (index) => `a${index}: exampleResponse`);

/** Sends a document and returns the size of the response. */
async function send(query: string, headers: Record<string, string> = {}, url = `${app.url}/graphql`) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query }),
  });
  const text = await response.text();
  return { status: response.status, bytes: Buffer.byteLength(text), body: JSON.parse(text) };
}

/** The document for `project` that repeats every endpoint's example. */
const repeated = (count: number) =>
  `{ project(id: "${project.id}") { endpoints(first: 20) { nodes { ${examples(count)} } } } }`;
const TOO_LARGE = { code: 'RESPONSE_TOO_LARGE', retryable: false };

describe('a response over 8 MB', () => {
  test('is not sent, even if each value in it is stored only once', async () => {
    const { bytes, body } = await send(repeated(15));
    expect(body.errors).toMatchObject([{ extensions: TOO_LARGE }]);
    expect(body.data ?? null).toBeNull();
    expect(body.errors[0].message).toContain('Request fewer items or fields');
    expect(bytes).toBeLessThan(2_000);
  });

  test('has the status 400 if the client accepts GraphQL responses', async () => {
    const { status } = await send(repeated(15), { accept: 'application/graphql-response+json' });
    expect(status).toBe(400);
  });

  test('is not sent by Yoga’s HTTP server either', async () => {
    const { body } = await send(repeated(15), {}, `${app.url}/graphql?yoga`);
    expect(body.errors).toMatchObject([{ extensions: TOO_LARGE }]);
  });

  test('is not sent if long aliases make up most of it', async () => {
    const ids = JSON.stringify(Array.from({ length: 100 }, () => project.id));
    const name = 'n'.repeat(30_000);
    const nodes = `nodes(ids: ${ids}) { ... on Project { ${name}: id } }`;
    const { body } = await send(`{ a: ${nodes.replace(name, 'short')} }`);
    expect(body.errors).toBeUndefined();
    const all = `query ($ids: [ID!]!) { a: nodes(ids: $ids) { ...F } b: nodes(ids: $ids) { ...F } c: nodes(ids: $ids) { ...F } }
      fragment F on Project { ${name}: id }`;
    const answer = await alice.graphql(all, { ids: JSON.parse(ids) });
    expect(answer.errors).toMatchObject([{ extensions: TOO_LARGE }]);
  });

  test('is not sent over WebSocket', async () => {
    const client = await connectSocket(app.url, alice.token);
    client.send({ id: '1', type: 'subscribe', payload: { query: repeated(15) } });
    const { payload } = await client.next(({ type }) => type === 'next');
    await client.close();
    expect((payload as { errors?: unknown }).errors).toMatchObject([{ extensions: TOO_LARGE }]);
  });

  test("is replaced with an error that says that the mutation's change was made", async () => {
    const query = `mutation {
      a: updateProject(input: { id: "${project.id}", name: "Renamed" }) { project { endpoints(first: 20) { nodes { ${examples(15)} } } } }
    }`;
    const { status, body } = await send(query);
    expect(status).toBe(200);
    expect(body.errors).toMatchObject([{ path: ['a'], extensions: TOO_LARGE }]);
    expect(body.data).toEqual({ a: null });
    expect(body.errors[0].message).toContain('The change was made');
    expect((await alice.rest<{ name: string }>('GET', project.base)).body.name).toBe('Renamed');
  });
});

test('a response of several megabytes is sent in full', async () => {
  const { body, bytes } = await send(repeated(12));
  expect(body.errors).toBeUndefined();
  expect(body.data.project.endpoints.nodes).toHaveLength(ENDPOINTS);
  expect(bytes).toBeGreaterThan(7_000_000);
  expect(bytes).toBeLessThan(MAX_RESPONSE_BYTES);
});
