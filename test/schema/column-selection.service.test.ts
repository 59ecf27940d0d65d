import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { insertPayment } from '../support/payments.ts';
import { createEndpoint, createProject, type Resource } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let project: Resource & { base: string };
let endpoint: Resource;

const EXAMPLE = { exampleResponse: { text: 'x'.repeat(1_000) }, inputSchema: { query: { type: 'object' } } };

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  for (const name of ['One', 'Two']) {
    project = await createProject(alice, { name });
    endpoint = await createEndpoint(alice, project.base, EXAMPLE);
  }
});
afterAll(() => app?.stop());

/** Runs a document and returns its data and the text of the statements that read this table. */
async function run(table: string, query: string) {
  const spy = vi.spyOn(pg.Client.prototype, 'query');
  const { data, errors } = await alice.graphql<Record<string, unknown>>(query);
  const texts = spy.mock.calls.map(([sent]) =>
    typeof sent === 'string' ? sent : (sent as unknown as { text: string }).text,
  );
  spy.mockRestore();
  expect(errors).toBeUndefined();
  return { data, reads: texts.filter((text) => text.includes(`"${table}"`)) };
}

const ENDPOINT_COLUMNS = ['inputSchema', 'exampleResponse', 'upstreamHeaders', 'secretUpstreamHeaders', 'description'];

const lists = [
  { table: 'Endpoint', list: 'endpoints', columns: ENDPOINT_COLUMNS },
  { table: 'Endpoint', list: 'endpoints(orderBy: PATH)', columns: ENDPOINT_COLUMNS },
  { table: 'Endpoint', list: 'endpoints(orderBy: PRICE)', columns: ENDPOINT_COLUMNS },
  { table: 'Event', list: 'events', columns: ['data', 'filteredOut', 'traceContext'] },
  { table: 'Webhook', list: 'webhooks', columns: ['url', 'description', 'filter', 'credentials', 'secretCredentials'] },
  { table: 'Connector', list: 'connectors', columns: ['config', 'filter', 'secretConfig', 'memory'] },
  { table: 'AuditEntry', list: 'auditLog', columns: ['changes', 'previous'] },
];

test.each(lists)('$list reads large columns only if a document selects them', async ({ table, list, columns }) => {
  const { reads } = await run(table, `{ projects { nodes { ${list} { nodes { id } } } } }`);
  expect(reads.length).toBeGreaterThan(0);
  expect(columns.filter((column) => reads.some((text) => text.includes(`"${column}"`)))).toEqual([]);
});

test('projects reads only the columns that a document selects', async () => {
  const { reads } = await run('Project', '{ projects { nodes { name } } }');
  const listed = reads.filter((text) => text.includes('"name"'));
  expect(listed).toHaveLength(1);
  expect(listed[0]).not.toMatch(/"(upstreamHeaders|secretUpstreamHeaders|description|iconUrl)"/);
});

test('a page of payments reads only the columns of its endpoints that a document selects', async () => {
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  await insertPayment(pool, { projectId: project.id, endpointId: endpoint.id, mark: 'paid' });
  await pool.end();
  const document = `{ project(id: "${project.id}") { payments { nodes { endpoint { path } } } } }`;
  const { reads, data } = await run('Endpoint', document);
  expect(data).toEqual({ project: { payments: { nodes: [{ endpoint: { path: endpoint.path } }] } } });
  expect(reads.join(' ')).not.toContain('"exampleResponse"');
});

test('node, nodes, and an endpoint by its ID read only the columns that a document selects', async () => {
  for (const field of [`node(id: "${endpoint.id}")`, `nodes(ids: ["${endpoint.id}"])`]) {
    const { reads, data } = await run('Endpoint', `{ found: ${field} { ... on Endpoint { path } } }`);
    expect([data!.found].flat()).toEqual([{ path: endpoint.path }]);
    expect(reads.join(' ')).not.toContain('"exampleResponse"');
  }
});

test('a large column is read for the field that selects it', async () => {
  const { data } = await run('Endpoint', `{ node(id: "${endpoint.id}") { ... on Endpoint { id exampleResponse } } }`);
  expect(data!.node).toEqual({ id: endpoint.id, exampleResponse: EXAMPLE.exampleResponse });
});
