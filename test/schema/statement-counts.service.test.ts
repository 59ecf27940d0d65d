import { graphql } from 'graphql';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.ts';
import { type Database, openDatabase } from '../../src/database/client.ts';
import { behindWall } from '../../src/database/tenant-client.ts';
import { createApiKeyService } from '../../src/features/api-keys/service.ts';
import { createConnectorService } from '../../src/features/connectors/service.ts';
import { createCustomerService } from '../../src/features/customers/service.ts';
import { createDeliveryService } from '../../src/features/deliveries/service.ts';
import { createEndpointService } from '../../src/features/endpoints/service.ts';
import { createPaymentService } from '../../src/features/payments/service.ts';
import { createProjectService } from '../../src/features/projects/service.ts';
import { createWebhookService } from '../../src/features/webhooks/service.ts';
import { schema } from '../../src/graphql/schema.ts';
import { newId } from '../../src/ids.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { WALLET } from '../support/resources.ts';

const PROJECTS = 5;
const ROWS = 3;

let database: TestDatabase;
let db: Database;
let viewer: Viewer;
let projectId: string;
let webhookId: string;
/** Endpoints, deliveries, and payments. */
const ids: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, poolSize: 5, log: pino({ level: 'silent' }) });
  const userId = newId('User');
  await db.prisma.user.create({ data: { id: userId, issuer: 'https://issuer.example.com', subject: 'alice' } });
  viewer = { kind: 'user', userId, tier: 'PRO', requestsPerMinute: null, expiresAt: new Date(Date.now() + 3_600_000) };
  for (let index = 0; index < PROJECTS; index++) await createProjectWithRows(userId);
});

afterAll(async () => {
  await db?.close();
  await database?.drop();
});

async function createProjectWithRows(userId: string): Promise<void> {
  const project = await db.prisma.project.create({
    data: { id: newId('Project'), userId, name: 'Shop', walletAddress: WALLET },
  });
  projectId = project.id;
  const webhook = await db.prisma.webhook.create({
    data: { id: newId('Webhook'), projectId, url: 'https://hooks.example.com', eventTypes: ['*'], secret: 'sealed' },
  });
  webhookId = webhook.id;
  const customer = await db.prisma.customer.create({
    data: { id: newId('Customer'), projectId, walletAddress: WALLET, paymentCount: 1, lastPaymentAt: new Date() },
  });
  for (let row = 0; row < ROWS; row++) await createRows({ customerId: customer.id, row });
}

async function createRows({ customerId, row }: { customerId: string; row: number }): Promise<void> {
  const upstreamUrl = 'https://api.example.com';
  const endpoint = await db.prisma.endpoint.create({
    data: { id: newId('Endpoint'), projectId, path: `/${row}`, upstreamUrl, priceAtomic: 10_000 },
  });
  const key = { name: 'CI', environment: 'TEST' as const, hash: newId('ApiKey'), last4: 'abcd' };
  await db.prisma.apiKey.create({ data: { id: newId('ApiKey'), projectId, ...key } });
  await db.prisma.connector.create({
    data: { id: newId('Connector'), projectId, type: 'slack', config: {}, secretConfig: 'sealed', eventTypes: ['*'] },
  });
  const event = await db.prisma.event.create({
    data: { id: newId('Event'), projectId, type: 'endpoint.created', data: {} },
  });
  const about = { eventId: event.id, eventType: event.type };
  const delivery = await db.prisma.delivery.create({
    data: { id: newId('Delivery'), projectId, webhookId, ...about, status: 'SUCCEEDED', attemptCount: 1 },
  });
  await db.prisma.attempt.create({
    data: {
      id: newId('Attempt'),
      deliveryId: delivery.id,
      number: 1,
      trigger: 'SCHEDULED',
      startedAt: new Date(),
      durationMs: 12,
      statusCode: 200,
    },
  });
  const payment = await db.prisma.payment.create({
    data: {
      id: newId('Payment'),
      projectId,
      endpointId: endpoint.id,
      endpointPath: endpoint.path,
      method: 'GET',
      customerId,
      x402Version: 2,
      network: 'eip155:8453',
      asset: 'USDC',
      assetAddress: WALLET.toLowerCase(),
      payer: WALLET.toLowerCase(),
      payTo: WALLET.toLowerCase(),
      nonce: newId('Payment'),
      amountAtomic: 10_000,
      validAfter: new Date(),
      validBefore: new Date(),
      requestFingerprint: 'none',
    },
  });
  ids.push(endpoint.id, delivery.id, payment.id);
}

/** Runs a document and returns its data and the number of statements it sent to the database. */
async function run(source: string, variableValues: Record<string, unknown> = {}) {
  const unused = {} as never;
  const services = {
    projects: createProjectService({
      db: behindWall(db),
      bus: unused,
      networks: [],
      hostRules: { ownHosts: undefined, production: false },
      upstreamAllow: unused,
      secretBox: unused,
    }),
    endpoints: createEndpointService({
      db: behindWall(db),
      bus: unused,
      events: unused,
      egressAllow: unused,
      secretBox: unused,
    }),
    apiKeys: createApiKeyService({ db: behindWall(db), bus: unused, keyring: unused, networks: [] }),
    webhooks: createWebhookService({
      db: behindWall(db),
      bus: unused,
      events: unused,
      secretBox: unused,
      webhookAllow: unused,
    }),
    connectors: createConnectorService({
      db: behindWall(db),
      bus: unused,
      events: unused,
      secretBox: unused,
      egressAllow: unused,
      probe: unused,
      requireNoHold: unused,
    }),
    deliveries: createDeliveryService({
      db: behindWall(db),
      bus: unused,
      secretBox: unused,
      userAgent: '',
      connectors: unused,
      retryScheduleSeconds: [],
    }),
    payments: createPaymentService({ db: behindWall(db) }),
    customers: createCustomerService({ db: behindWall(db) }),
  };
  const contextValue = { viewer, services, requestId: 'req_test', prisma: db.prisma };
  const query = vi.spyOn(pg.Client.prototype, 'query');
  const { data, errors } = await graphql({ schema, source, variableValues, contextValue });
  const texts = query.mock.calls.map(([statement]) => {
    const sent = statement as unknown as string | { text: string };
    return typeof sent === 'string' ? sent : sent.text;
  });
  query.mockRestore();
  expect(errors).toBeUndefined();
  return { data, statements: texts.filter((text) => /^\s*(SELECT|WITH)/.test(text)).length };
}

// One statement reads the projects. Configuration lists take two statements, no matter how many projects there are.
// History lists take one statement for each project, and one for each relation on such a page.
describe('the number of SQL statements for a document', () => {
  test.each([
    {
      what: 'the nested query of the README, for five projects',
      statements: 13,
      source: `{ projects(first: 5) { nodes {
        name
        endpoints(first: 5) { nodes { path priceUsd } }
        deliveries(first: 5) { nodes { eventType status attempts { number startedAt } } }
      } } }`,
    },
    {
      what: 'four configuration lists under each of five projects',
      statements: 9,
      source: `{ projects(first: 5) { nodes {
        endpoints { nodes { path } } webhooks { nodes { url } } connectors { nodes { type } } apiKeys { nodes { name } }
      } } }`,
    },
    {
      what: 'deliveries with their attempts and events, under each of five projects',
      statements: 16,
      source: `{ projects(first: 5) { nodes {
        deliveries { edges { node { id webhookId event { data } attempts { number } } } }
      } } }`,
    },
    {
      what: 'a page of deliveries with their attempts and events',
      statements: 4,
      source: `query ($projectId: ID!) { project(id: $projectId) {
        deliveries { nodes { id webhookId event { data } attempts { number } } }
      } }`,
    },
    {
      what: 'a page of payments with their customers',
      statements: 3,
      source: `query ($projectId: ID!) { project(id: $projectId) {
        payments { nodes { id endpointId endpointPath customer { walletAddress } } }
      } }`,
    },
    {
      what: 'the deliveries of one webhook with their attempts',
      statements: 4,
      source: `query ($projectId: ID!, $webhookId: ID!) { project(id: $projectId) {
        webhook(id: $webhookId) { url deliveries { nodes { id attempts { number } } } }
      } }`,
    },
    {
      what: 'four configuration lists with their totals under each of five projects',
      statements: 13,
      source: `{ projects(first: 5) { nodes {
        endpoints { totalCount } webhooks { totalCount } connectors { totalCount } apiKeys { totalCount }
      } } }`,
    },
    {
      what: 'nodes of three types by their IDs, with related objects',
      statements: 5,
      source: `query ($ids: [ID!]!) { nodes(ids: $ids) {
        id
        ... on Endpoint { path } ... on Payment { customer { walletAddress } }
        ... on Delivery { event { type } }
      } }`,
    },
    {
      what: 'only a project',
      statements: 1,
      source: 'query ($projectId: ID!) { project(id: $projectId) { name } }',
    },
  ])('$what: $statements', async ({ source, statements }) => {
    const result = await run(source, { projectId, webhookId, ids });
    expect(result.statements).toBe(statements);
  });
});
