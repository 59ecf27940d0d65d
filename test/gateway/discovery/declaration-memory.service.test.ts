import { afterAll, beforeAll, expect, test } from 'vitest';
import { METHODS } from '../../../src/features/endpoints/methods.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { type ServiceNode, startServiceNode } from '../../support/service-node.ts';
import { createShop, NETWORK } from '../support.ts';

const HEAP_MEGABYTES = 256;
const ENDPOINTS = 6;

let app: TestApp;
let gateway: ServiceNode;

beforeAll(async () => {
  app = await startTestApp();
  const unused = 'http://127.0.0.1:9';
  gateway = await startServiceNode({
    role: 'gateway',
    databaseUrl: app.databaseUrl,
    dataDir: app.dataDir,
    maxHeapMegabytes: HEAP_MEGABYTES,
    env: { NETWORK: NETWORK.id, FACILITATOR_URL: unused, RPC_URL: unused },
  });
});

afterAll(async () => {
  await gateway?.end('SIGKILL');
  await app?.stop();
});

test('what buyers read about a few endpoints takes little memory, no matter what names their schemas contain', async () => {
  const fields = Object.fromEntries(Array.from({ length: 320 }, (_, index) => [`field-${index}`, { 900: 1 }]));
  const part = { type: 'object', properties: fields };
  const endpoint = {
    upstreamUrl: 'https://api.example.com/',
    methods: METHODS,
    inputSchema: { query: part, headers: part, body: part },
    exampleResponse: {},
  };
  const paths = Array.from({ length: ENDPOINTS }, (_, index) => `/${index}`);
  const shop = await createShop(
    app,
    await app.user('seller'),
    Object.fromEntries(paths.map((path) => [path, endpoint])),
  );
  const statuses: number[] = [];
  for (const path of paths) {
    for (const method of METHODS) {
      const response = await fetch(`${gateway.url}/gateway/${shop.projectId}${path}`, { method });
      await response.arrayBuffer();
      statuses.push(response.status);
    }
  }
  expect(statuses).toEqual(paths.flatMap(() => METHODS.map(() => 402)));
  expect(gateway.isRunning()).toBe(true);
});
