import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { codeBlocks, readPage, section } from '../../docs/pages.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject } from '../../support/resources.ts';
import { installClients } from './installed.ts';
import { type Folder, openFolder } from './program.ts';

// Libraries that derive types from the GraphQL schema. Each program compiles in strict mode, pages through a list, and
// reads a union. Every `@ts-expect-error` is a mistake that the types must find.

const ROOT = resolve(import.meta.dirname, '../../..');
const PAGE = await readPage('docs/api-clients.md');
const [options] = codeBlocks(section(PAGE, '### gql.tada'), 'json');

const GQL_TADA = `
${codeBlocks(section(PAGE, '### gql.tada'), 'ts')[0]}
import { Client, cacheExchange, fetchExchange } from '@urql/core';

const client = new Client({
  url: process.env.URL + '/graphql',
  preferGetMethod: false,
  fetchOptions: { headers: { Authorization: 'Bearer ' + process.env.TOKEN } },
  exchanges: [cacheExchange, fetchExchange],
});
const id = process.env.PROJECT!;
const Endpoints = graphql(\`query ($id: ID!, $after: String) {
  project(id: $id) {
    endpoints(first: 2, after: $after, orderBy: PATH) { nodes { id path priceUsd } pageInfo { hasNextPage endCursor } }
  }
}\`);
const paths: string[] = [];
let after: string | null = null;
do {
  const result = await client.query(Endpoints, { id, after }).toPromise();
  const { nodes, pageInfo }: NonNullable<ResultOf<typeof Endpoints>['project']>['endpoints'] = result.data!.project!.endpoints;
  for (const node of nodes) {
    paths.push(node.path);
    // @ts-expect-error Amounts are strings.
    const price: number = node.priceUsd;
    // @ts-expect-error The query doesn't select it.
    node.upstreamUrl;
  }
  after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
} while (after !== null);

const Events = graphql(\`query ($id: ID!) {
  project(id: $id) { events(first: 10, types: [ENDPOINT_CREATED]) { nodes { timestamp payload {
    __typename ... on EndpointCreatedData { path } ... on PaymentSettledData { amountUsd }
  } } } }
}\`);
const events = await client.query(Events, { id }).toPromise();
const created = events.data!.project!.events.nodes.flatMap(({ timestamp, payload }) => {
  const time: string = timestamp;
  if (payload?.__typename !== 'EndpointCreatedData') return [];
  // @ts-expect-error Other types have it.
  payload.amountUsd;
  return time ? [payload.path] : [];
});
// @ts-expect-error The project's ID is missing.
client.query(Endpoints, {});
console.log(JSON.stringify({ paths, created: created.sort() }));
`;

const GENQL = `
import { createClient } from './genql/index';

const client = createClient({
  url: process.env.URL + '/graphql',
  headers: { Authorization: 'Bearer ' + process.env.TOKEN },
});
const id = process.env.PROJECT!;
const paths: string[] = [];
let after: string | null = null;
do {
  const page = await readPage(after);
  for (const node of page.nodes) {
    paths.push(node.path);
    // @ts-expect-error Amounts are strings.
    const price: number = node.priceUsd;
    // @ts-expect-error The query doesn't select it.
    node.upstreamUrl;
  }
  after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
} while (after !== null);

async function readPage(after: string | null) {
  const { project } = await client.query({
    project: {
      __args: { id },
      endpoints: {
        __args: { first: 2, after, orderBy: 'PATH' },
        nodes: { id: true, path: true, priceUsd: true },
        pageInfo: { hasNextPage: true, endCursor: true },
      },
    },
  });
  return project!.endpoints;
}

const events = await client.query({
  project: {
    __args: { id },
    events: {
      __args: { first: 10, types: ['ENDPOINT_CREATED'] },
      nodes: { timestamp: true, payload: { __typename: true, on_EndpointCreatedData: { path: true } } },
    },
  },
});
const created = events.project!.events.nodes.flatMap(({ payload }) =>
  payload && 'path' in payload ? [payload.path as string] : [],
);
// @ts-expect-error There is no such order.
client.query({ project: { __args: { id }, endpoints: { __args: { orderBy: 'LUCK' }, nodes: { id: true } } } }).catch(() => {});
console.log(JSON.stringify({ paths, created: created.sort() }));
`;

let app: TestApp;
let alice: TestUser;
let projectId: string;
let installed: string;
const folders: Folder[] = [];

beforeAll(async () => {
  installed = await installClients();
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  const { id, base } = await createProject(alice);
  projectId = id;
  for (const name of ['c', 'a', 'e', 'b', 'd']) await createEndpoint(alice, base, { path: `/${name}` });
}, 600_000);
afterAll(async () => {
  for (const folder of folders) await folder.close();
  await app?.stop();
});

/** Opens a folder with the server's schema and a program, and generates the types. */
async function prepare(program: string, generate: readonly string[]): Promise<Folder> {
  const compilerOptions = {
    target: 'es2024',
    module: 'preserve',
    moduleResolution: 'bundler',
    lib: ['es2024', 'dom', 'dom.iterable'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    ...(JSON.parse(options!) as { compilerOptions: object }).compilerOptions,
  };
  const folder = await openFolder(installed, {
    'program.ts': program,
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['program.ts'] }),
  });
  folders.push(folder);
  await folder.copy(join(ROOT, 'schema.graphql'), 'schema.graphql');
  expect(await folder.run(generate)).toMatchObject({ code: 0 });
  return folder;
}

test.each([
  ['gql.tada', GQL_TADA, ['node_modules/gql.tada/bin/cli.js', 'generate', 'output']],
  ['genql', GENQL, ['node_modules/@genql/cli/dist/cli.js', '--schema', 'schema.graphql', '--output', 'genql', '--esm']],
])('%s finds mistakes in strict mode, pages through a list, and reads a union', async (_name, program, generate) => {
  const folder = await prepare(program, generate);
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  expect(await folder.run([tsc, '--pretty', 'false'])).toEqual({ code: 0, stdout: '', stderr: '' });

  const rolldown = join(ROOT, 'node_modules/rolldown/bin/cli.mjs');
  const bundle = ['--platform', 'node', '--format', 'esm', '--file', 'program.mjs'];
  expect(await folder.run([rolldown, 'program.ts', ...bundle])).toMatchObject({ code: 0 });
  const env = { URL: app.url, TOKEN: alice.token, PROJECT: projectId };
  const { code, stdout, stderr } = await folder.run(['program.mjs'], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const sorted = ['/a', '/b', '/c', '/d', '/e'];
  expect(JSON.parse(stdout)).toEqual({ paths: sorted, created: sorted });
});
