import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startServiceNode } from '../support/service-node.ts';

type Role = 'api' | 'gateway' | 'worker';
type Started = { modules: string[]; residentMegabytes: number };

let directory: string;
let database: TestDatabase;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tollgate-roles-'));
  database = await createTestDatabase();
});

afterAll(async () => {
  await database.drop();
  await rm(directory, { recursive: true });
});

/** Starts a process with only this role. Returns its loaded modules and its memory once it is ready. */
async function start(role: Role): Promise<Started> {
  const loadedModulesFile = join(directory, role);
  const options = { role, databaseUrl: database.url, dataDir: directory, loadedModulesFile };
  // A build has few modules.
  const node = await startServiceNode({ ...options, program: resolve(import.meta.dirname, '../../src/main.ts') });
  const metrics = await (await fetch(`${node.url}/metrics`)).text();
  const modules = (await readFile(loadedModulesFile, 'utf8')).split('\n');
  await node.end();
  const [, bytes] = /^process_resident_memory_bytes (\d+)$/m.exec(metrics) ?? [];
  return { modules, residentMegabytes: Number(bytes) / 2 ** 20 };
}

const packages = (...names: string[]) => names.map((name) => `/node_modules/${name}/`);
const GRAPHQL = [
  ...packages('graphql', 'graphql-yoga', 'graphql-ws', 'ws', '@pothos', '@envelop', '@escape.tech'),
  ...['/src/graphql/', '/src/rest/', '/src/roles/api.ts'],
];
const EXPLORER = packages('@graphql-yoga/render-graphiql');
const PAYMENTS = ['/src/roles/gateway.ts', '/src/gateway/payment/pay.ts'];
const CHAIN_CLIENT = packages('viem');
const DELIVERIES = ['/src/roles/worker.ts', '/src/delivery/worker.ts'];
const SANDBOX = ['/src/sandbox/'];
const TRACING_SDK = packages('@opentelemetry/sdk-trace', '@opentelemetry/exporter-trace-otlp-http');
/** Prisma's query compiler takes 50 MB once the first query is made. */
const QUERY_COMPILER = ['/query_compiler_'];

describe('a process loads only the modules that its role needs', () => {
  const NEEDLESS: [role: Role, modules: string[], atMostMegabytes: number][] = [
    [
      'worker',
      [...GRAPHQL, ...EXPLORER, ...PAYMENTS, ...CHAIN_CLIENT, ...SANDBOX, ...TRACING_SDK, ...QUERY_COMPILER],
      230,
    ],
    ['gateway', [...GRAPHQL, ...EXPLORER, ...DELIVERIES, ...SANDBOX, ...TRACING_SDK, ...QUERY_COMPILER], 230],
    ['api', [...EXPLORER, ...PAYMENTS, ...DELIVERIES, ...SANDBOX, ...TRACING_SDK, ...QUERY_COMPILER], 310],
  ];

  const seen = new Set<string>();

  test.each(NEEDLESS)('%s', async (role, needless, atMostMegabytes) => {
    const { modules, residentMegabytes } = await start(role);
    for (const url of modules) seen.add(url);
    expect(modules.some((url) => url.endsWith(`/src/roles/${role}.ts`))).toBe(true);
    expect(modules.filter((url) => needless.some((part) => url.includes(part)))).toEqual([]);
    expect(residentMegabytes).toBeGreaterThan(0);
    expect(residentMegabytes).toBeLessThan(atMostMegabytes);
  });

  test('the checked modules are loaded by the roles that need them', () => {
    const wanted = [...GRAPHQL, ...PAYMENTS, ...CHAIN_CLIENT, ...DELIVERIES];
    expect(wanted.filter((part) => ![...seen].some((url) => url.includes(part)))).toEqual([]);
  });

  test('the checked modules that no role loads exist', () => {
    const root = resolve(import.meta.dirname, '../..');
    expect([...EXPLORER, ...SANDBOX, ...TRACING_SDK].filter((part) => !existsSync(join(root, part)))).toEqual([]);
  });
});
