import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { codeBlocks, readPage, section } from '../../docs/pages.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { operatorsEnv } from '../../support/operator.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createProject, createWebhook } from '../../support/resources.ts';
import { installClients } from './installed.ts';
import { compileForRelay, type Folder, openFolder, writePolicies } from './program.ts';

// The clients of docs/api-clients.md keep the objects of different queries in one cache. They print a warning when
// objects overwrite each other.

const WAIT = { timeout: 60_000 };
const PAGE = await readPage('docs/api-clients.md');
const blockOf = (heading: string) => codeBlocks(section(PAGE, heading), 'js').at(-1)!;
/** What the programs leave to the reader. */
const LEFT_OPEN = `
const freshToken = async () => process.env.TOKEN;
const socket = { subscribe() { throw new Error('There are no subscriptions'); } };
`;

type Delivery = { id: string; status: string };

let app: TestApp;
let alice: TestUser;
let receiver: Receiver;
let installed: string;
let projectId: string;
let deliveryId: string;
const folders: Folder[] = [];

beforeAll(async () => {
  installed = await installClients();
  receiver = await startReceiver();
  app = await startTestApp({ env: operatorsEnv('alice') });
  alice = await app.user('alice', 'ENTERPRISE');
  const { id, base } = await createProject(alice, { name: 'Shop' });
  projectId = id;
  await alice.rest('PATCH', `${base}/contacts`, { emails: ['ops@example.com'] });
  const upstreamHeaders = ['X-One', 'X-Two'].map((name) => ({
    name,
    value: 'value',
    urlPrefix: 'https://example.com/',
  }));
  await alice.rest('PATCH', base, { upstreamHeaders });
  await createWebhook(alice, base, { url: receiver.url });
  for (let index = 0; index < 5; index++) await createEndpoint(alice, base);
  const sent = async () => (await alice.rest<{ data: Delivery[] }>('GET', `${base}/deliveries`)).body.data;
  await vi.waitFor(async () => {
    expect((await sent()).map(({ status }) => status)).toEqual(Array(5).fill('SUCCEEDED'));
  }, WAIT);
  deliveryId = (await sent())[0]!.id;
}, 600_000);
afterEach(async () => {
  for (const folder of folders.splice(0)) await folder.close();
});
afterAll(async () => {
  await app?.stop();
  await receiver?.close();
});

const ofProject = (selection: string) => `{ project(id: "${projectId}") { id ${selection} } }`;
const ofDelivery = (selection: string) => ofProject(`delivery(id: "${deliveryId}") { id ${selection} }`);

/** Documents that select different fields of the same objects. */
const documents = () => [
  ...['{ viewer { id tier } }', '{ viewer { id isOperator user { id subject } } }'],
  ...['{ viewer { id limits { requestsPerMinute } } }', '{ viewer { id limits { maxConnectors } } }'],
  ...[ofProject('name contacts { emails }'), ofProject('mode contacts { projectId weeklyDigest }')],
  ...[ofProject('webhooks(first: 5) { nodes { id url } }'), ofProject('webhooks(first: 5) { totalCount }')],
  ofProject('webhooks(first: 5) { edges { cursor node { id eventTypes } } pageInfo { hasNextPage endCursor } }'),
  ofDelivery('status webhook { id name } attempts { id number } event { id type }'),
  ofDelivery('explanation { status destination { destinationId title } lastAttempt { id trigger } }'),
  ofDelivery('explanation { summary destination { destinationId isActive } }'),
  ...['{ operatorUsers { nodes { userId tier } } }', '{ operatorUsers { edges { node { userId subject } } } }'],
  `{ search(query: "Shop") { itemId label } }`,
];

/** Runs a program, which gets the documents and prints what its cache has at the end. */
async function run(program: string, prepare?: (folder: Folder) => Promise<unknown>) {
  const folder = await openFolder(installed, {
    'program.js': LEFT_OPEN + program.replaceAll('http://127.0.0.1:4000', app.url),
  });
  folders.push(folder);
  await prepare?.(folder);
  const env = { TOKEN: alice.token, PROJECT: projectId, DOCUMENTS: JSON.stringify(documents()) };
  const { code, stdout, stderr } = await folder.run(['--conditions=development', 'program.js'], env);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return { printed: JSON.parse(stdout) as unknown, warnings: stderr };
}

/** What the server responds to the documents. */
const responses = async (texts = documents()) =>
  Promise.all(texts.map(async (document) => (await alice.graphql(document)).data));

/** Removes what the clients select on their own. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const own = Object.entries(value).filter(([name]) => !name.startsWith('__'));
  return Object.fromEntries(own.map(([name, inner]) => [name, plain(inner)]));
}

/** Runs queries one after another, and prints what the cache has for each at the end. */
const reading = (texts: readonly string[]) => `
import { gql } from '@apollo/client';
const documents = ${JSON.stringify(texts)}.map((text) => gql(text));
for (const query of documents) await client.query({ query });
console.log(JSON.stringify(documents.map((query) => client.readQuery({ query }))));
`;
const WITH_DEFAULTS = `
import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
const headers = { Authorization: 'Bearer ' + process.env.TOKEN };
const client = new ApolloClient({
  cache: new InMemoryCache(),
  link: new HttpLink({ uri: 'http://127.0.0.1:4000/graphql', headers }),
});
`;

describe('Apollo Client', () => {
  const documented = () => blockOf('### Apollo Client');

  test('with the documented policies, its cache has everything that the queries read', async () => {
    const { printed, warnings } = await run(documented() + reading(documents()), writePolicies);
    expect(plain(printed)).toEqual(await responses());
    expect(warnings).toBe('');
  });

  test('without policies, it warns about objects without an id, but not about the viewer', async () => {
    const all = await run(WITH_DEFAULTS + reading(documents()));
    expect(all.warnings).not.toBe('');
    const ofViewer = documents().slice(0, 2);
    const { printed, warnings } = await run(WITH_DEFAULTS + reading(ofViewer));
    expect(plain(printed)).toEqual(await responses(ofViewer));
    expect(warnings).toBe('');
  });

  test('queries for the viewer may leave out its id', async () => {
    const texts = ['{ viewer { tier } }', '{ viewer { id isOperator } }', '{ viewer { email } }'];
    const { printed, warnings } = await run(documented() + reading(texts), writePolicies);
    expect(plain(printed)).toEqual(await responses(texts));
    expect(warnings).toBe('');
  });

  test('a list of objects without an id can become shorter', async () => {
    const headers = (length: number) =>
      JSON.stringify(
        ['X-One', 'X-Two']
          .slice(0, length)
          .map((name) => ({ name, value: 'value', urlPrefix: 'https://example.com/' })),
      );
    const { printed, warnings } = await run(
      `${documented()}
import { gql } from '@apollo/client';
const query = gql\`${ofProject('upstreamHeaders { name }')}\`;
const mutation = gql\`mutation ($input: UpdateProjectInput!) {
  updateProject(input: $input) { project { id upstreamHeaders { name } } }
}\`;
await client.query({ query });
await client.mutate({ mutation, variables: { input: { id: process.env.PROJECT, upstreamHeaders: ${headers(1)} } } });
console.log(JSON.stringify(client.readQuery({ query })));`,
      writePolicies,
    );
    expect(plain(printed)).toEqual({ project: { id: projectId, upstreamHeaders: [{ name: 'X-One' }] } });
    expect(warnings).toBe('');
  });

  test('with relayStylePagination, fetchMore adds pages', async () => {
    const { printed, warnings } = await run(
      `${documented()}
import { gql } from '@apollo/client';
const query = gql\`query ($after: String) { project(id: "${projectId}") { id
  endpoints(first: 2, after: $after) { edges { cursor node { id path } } pageInfo { hasNextPage endCursor } }
} }\`;
const list = client.watchQuery({ query });
list.subscribe(() => {});
await client.query({ query });
for (;;) {
  const { pageInfo } = client.readQuery({ query }).project.endpoints;
  if (!pageInfo.hasNextPage) break;
  await list.fetchMore({ variables: { after: pageInfo.endCursor } });
}
console.log(JSON.stringify(client.readQuery({ query }).project.endpoints.edges.map(({ node }) => node)));
client.stop();`,
      writePolicies,
    );
    const { data } = await alice.graphql<{ project: { endpoints: { nodes: object[] } } }>(
      ofProject('endpoints { nodes { id path } }'),
    );
    expect(plain(printed)).toEqual(data!.project.endpoints.nodes);
    expect(data!.project.endpoints.nodes).toHaveLength(5);
    expect(warnings).toBe('');
  });
});

test('urql reads everything without configuration', async () => {
  const { printed, warnings } = await run(`${codeBlocks(section(PAGE, '### urql'), 'js')[0]}
const documents = JSON.parse(process.env.DOCUMENTS);
for (const text of documents) await client.query(text, {}).toPromise();
const read = (text) => client.query(text, {}, { requestPolicy: 'cache-only' }).toPromise();
console.log(JSON.stringify((await Promise.all(documents.map(read))).map(({ data }) => data)));`);
  expect(plain(printed)).toEqual(await responses());
  expect(warnings).toBe('');
});

describe('Relay', () => {
  /** A program that runs compiled operations one after another, and prints what the store has for each at the end. */
  const fetching = (operations: Readonly<Record<string, object>>) => `${blockOf('### Relay')}
import { createOperationDescriptor, fetchQuery } from 'relay-runtime';
${Object.keys(operations)
  .map((name) => `import ${name} from './relay/__generated__/${name}.graphql.js';`)
  .join('\n')}
const operations = [${Object.entries(operations).map(([name, variables]) => `[${name}, ${JSON.stringify(variables)}]`)}];
const descriptors = operations.map(([request, variables]) => createOperationDescriptor(request, variables));
for (const descriptor of descriptors) environment.retain(descriptor);
for (const [request, variables] of operations) await fetchQuery(environment, request, variables).toPromise();
console.log(JSON.stringify(descriptors.map((descriptor) => environment.lookup(descriptor.fragment).data)));`;

  test('its store has everything that the queries read', async () => {
    const texts = documents().map((text, index) => `query all${index}Query ${text}`);
    const names = Object.fromEntries(texts.map((_text, index) => [`all${index}Query`, {}]));
    const modules = Object.fromEntries(texts.map((text, index) => [`all${index}`, text]));
    const { printed, warnings } = await run(fetching(names), async (folder) => {
      expect(await compileForRelay(folder, modules)).toMatchObject({ code: 0 });
    });
    expect(plain(printed)).toEqual(await responses());
    expect(warnings).toBe('');
  });

  test('a fragment under node needs an alias, which is null for objects of other types', async () => {
    const NAME = 'fragment aliasName on Project { name }';
    const spread = (suffix: string) =>
      `query aliasQuery($id: ID!) { node(id: $id) { id ...aliasName${suffix} } } ${NAME}`;
    const project = `query aliasQuery($id: ID!) { project(id: $id) { id ...aliasName } } ${NAME}`;
    const results: string[] = [];
    const { printed } = await run(
      fetching({ aliasQuery: { id: projectId } }).replace('];', `, [aliasQuery, { id: '${deliveryId}' }]];`),
      async (folder) => {
        for (const text of [spread(''), project, spread(' @alias')]) {
          const { code, stdout, stderr } = await compileForRelay(folder, { alias: text });
          results.push(code === 0 ? 'compiled' : stdout + stderr);
        }
      },
    );
    expect(results).toEqual([expect.stringContaining('Expected `@alias` directive'), 'compiled', 'compiled']);
    expect(printed).toMatchObject([
      { node: { id: projectId, aliasName: { __id: projectId } } },
      { node: { id: deliveryId, aliasName: null } },
    ]);
  });

  test('a list with @connection needs edges', async () => {
    const list = (fields: string) => `query listQuery($id: ID!) { project(id: $id) {
      endpoints(first: 2) @connection(key: "Project_endpoints") { ${fields} }
    } }`;
    const { printed, warnings } = await run(fetching({ listQuery: { id: projectId } }), async (folder) => {
      const withNodes = await compileForRelay(folder, { list: list('nodes { id }') });
      expect(withNodes.code).not.toBe(0);
      expect(withNodes.stdout + withNodes.stderr).toContain('edges');
      expect(await compileForRelay(folder, { list: list('edges { node { id path } }') })).toMatchObject({ code: 0 });
    });
    const edges = [{ node: { path: expect.any(String) } }, { node: { path: expect.any(String) } }];
    expect(printed).toMatchObject([{ project: { endpoints: { edges } } }]);
    expect(warnings).toBe('');
  });
});
