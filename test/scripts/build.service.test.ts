import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import {
  buildClientSchema,
  buildSchema,
  type GraphQLSchema,
  getIntrospectionQuery,
  type IntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDevIssuer } from '../../src/auth/dev-issuer.ts';
import { caller, type TestUser } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { INHERITED } from '../support/inherited.ts';
import { openMcp } from '../support/mcp.ts';
import { buildServer, NODE } from '../support/programs.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { type ServiceNode, startServiceNode } from '../support/service-node.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

let installed: string;
let dataDir: string;
let database: TestDatabase;
let receiver: Receiver;
let nodes: Record<'api' | 'gateway' | 'worker', ServiceNode>;
let user: TestUser;

/** Builds the server into a folder with the same contents as the container image. */
beforeAll(async () => {
  installed = await mkdtemp(join(tmpdir(), 'tollgate-installed-'));
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-data-'));
  await buildServer(join(installed, 'dist/server'));
  for (const folder of ['dist/console', 'prisma/migrations'])
    await cp(join(ROOT, folder), join(installed, folder), { recursive: true });

  database = await createTestDatabase();
  receiver = await startReceiver();
  const start = (role: ServiceNode['role']) =>
    startServiceNode({ role, databaseUrl: database.url, dataDir, program: program('main') });
  nodes = { api: await start('api'), gateway: await start('gateway'), worker: await start('worker') };
  const issuer = await openDevIssuer({ dataDir });
  user = caller(nodes.api.url, 'ada', await issuer.sign({ subject: 'ada', tier: 'PRO' }));
});

afterAll(async () => {
  for (const node of Object.values(nodes ?? {})) await node.end();
  await receiver?.close();
  await database?.drop();
  for (const folder of [installed, dataDir]) await rm(folder, { recursive: true });
});

const program = (name: string) => join(installed, 'dist/server', `${name}.mjs`);

async function megabytesOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) / 2 ** 20;
}

describe('the built server, in a folder without packages', () => {
  test('is small', async () => {
    expect((await readdir(installed)).sort()).toEqual(['dist', 'prisma']);
    expect(await megabytesOf(installed)).toBeLessThan(40);
  });

  test('has no character outside Latin-1, so V8 needs only one byte for each', async () => {
    const files = (await readdir(join(installed, 'dist/server'))).filter((name) => name.endsWith('.mjs'));
    const texts = await Promise.all(files.map((name) => readFile(join(installed, 'dist/server', name), 'utf8')));
    expect(files.filter((_name, index) => /[^\0-\xff]/.test(texts[index]!))).toEqual([]);
  });

  test('has the same schema as the source', async () => {
    const { data } = await user.graphql<IntrospectionQuery>(
      getIntrospectionQuery({ specifiedByUrl: true, oneOf: true }),
    );
    const textOf = (schema: GraphQLSchema) => printSchema(lexicographicSortSchema(schema));
    const committed = await readFile(join(ROOT, 'schema.graphql'), 'utf8');
    expect(textOf(buildClientSchema(data!))).toBe(textOf(buildSchema(committed)));
  });

  test('sells a request and delivers an event about it', async () => {
    const walletAddress = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    const project = await user.rest<{ id: string }>('POST', '/api/projects', { name: 'Built', walletAddress });
    expect(project.status).toBe(201);
    const { id } = project.body;
    const webhook = { url: `${receiver.url}/hook`, eventTypes: ['endpoint.created'] };
    expect((await user.rest('POST', `/api/projects/${id}/webhooks`, webhook)).status).toBe(201);
    const endpoint = { path: '/joke', upstreamUrl: receiver.url, priceUsd: '0.001' };
    expect((await user.rest('POST', `/api/projects/${id}/endpoints`, endpoint)).status).toBe(201);

    const [delivered] = await receiver.waitFor(1);
    expect(JSON.parse(delivered!.body.toString())).toMatchObject({ type: 'endpoint.created', data: { path: '/joke' } });
    const statusOfPaidRoute = async () => (await fetch(`${nodes.gateway.url}/gateway/${id}/joke`)).status;
    await expect.poll(statusOfPaidRoute).toBe(402);
  });

  test('reads an OpenAPI document in YAML', async () => {
    const walletAddress = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    const { body: project } = await user.rest<{ id: string }>('POST', '/api/projects', {
      name: 'Imported',
      walletAddress,
    });
    const document = 'openapi: 3.1.0\nservers: [{ url: "https://api.example.com" }]\npaths: { /a: { get: {} } }\n';
    const path = `/api/projects/${project.id}/endpoints/import/preview`;
    const { status, body } = await user.rest('POST', path, { document });
    expect({ status, body }).toMatchObject({ status: 200, body: { items: [{ path: '/a', status: 'NEW' }] } });
  });

  test('has the MCP server, in a file that no role loads', async () => {
    const walletAddress = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    const project = await user.rest<{ id: string }>('POST', '/api/projects', { name: 'Built', walletAddress });
    const env = { TOLLGATE_URL: nodes.api.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: project.body.id };
    await using mcp = await openMcp(env, undefined, program('cli'));
    expect(await mcp.call('get_project')).toMatchObject({ isError: false, structured: { name: 'Built' } });
    const names = await readdir(join(installed, 'dist/server'));
    const texts = await Promise.all(names.map((name) => readFile(join(installed, 'dist/server', name), 'utf8')));
    const protocol = names.filter((_, index) => texts[index]!.includes('notifications/tools/list_changed'));
    expect(protocol).toEqual([expect.stringMatching(/^serve-/)]);
    const importing = names.filter((_, index) => texts[index]!.includes(protocol[0]!));
    expect(importing).toEqual(['cli.mjs']);
  });

  test('serves the console and the explorer', async () => {
    for (const path of ['/console/', '/graphql']) {
      const page = await fetch(nodes.api.url + path, { headers: { accept: 'text/html' } });
      expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    }
  });

  test('rotates secrets', async () => {
    const env = { ...INHERITED, NODE_ENV: 'test', DATABASE_URL: database.url, DATA_DIR: dataDir };
    const { stdout } = await run(NODE, [program('rotate-secrets')], { env });
    expect(JSON.parse(stdout)).toMatchObject({ remaining: 0 });
  });
});
