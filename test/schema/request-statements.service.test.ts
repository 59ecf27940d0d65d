import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SESSION_SETTINGS, setForSession } from '../../src/database/session-settings.ts';
import { currentRequest } from '../../src/request-context.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { OPERATIONS, type Request, WITH_VENDOR } from '../conformance/isolation-operations.ts';
import { createTenants, type Home, type Tenants } from '../conformance/isolation-tenants.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { consoleDocuments } from '../support/console-documents.ts';

/** The statements of each REST route, by operation ID. Each includes the one that reads the caller. */
const REST: Record<string, number> = {
  listProjects: 2,
  createProject: 5,
  getProject: 2,
  updateProject: 7,
  deleteProject: 19,
  listEndpoints: 3,
  createEndpoint: 3,
  getEndpoint: 3,
  updateEndpoint: 13,
  deleteEndpoint: 6,
  listApiKeys: 3,
  createApiKey: 6,
  getApiKey: 3,
  revokeApiKey: 5,
  listConnectors: 3,
  createConnector: 8,
  getConnector: 3,
  updateConnector: 7,
  deleteConnector: 7,
  listConnectorDeliveries: 4,
  testConnector: 7,
  listConnectorTypes: 1,
  listWebhooks: 3,
  createWebhook: 6,
  getWebhook: 3,
  updateWebhook: 7,
  deleteWebhook: 7,
  listWebhookDeliveries: 4,
  rotateWebhookSecret: 7,
  sendWebhookTestEvent: 7,
  listDeliveries: 3,
  getDelivery: 4,
  explainDelivery: 7,
  resendDelivery: 4,
  listReplays: 3,
  createReplay: 10,
  getReplay: 3,
  cancelReplay: 6,
  listEvents: 3,
  getEvent: 3,
  testEventFilter: 2,
  listPayments: 3,
  getPayment: 3,
  listCustomers: 3,
  getCustomer: 3,
  listCustomerPayments: 4,
  getRevenue: 7,
  getDeliveryStats: 5,
  listProjectAuditLog: 3,
  getAuditEntry: 3,
  listAuditLog: 2,
  listNotices: 3,
  getNotice: 3,
  markNoticesRead: 3,
  getContacts: 3,
  updateContacts: 9,
};

/** The statements of each of the console's queries and mutations. */
const CONSOLE: Record<string, number> = {
  ApiKeys: 3,
  AuditLog: 3,
  CancelReplay: 6,
  ConnectorTypes: 1,
  Connectors: 3,
  CreateApiKey: 6,
  CreateConnector: 8,
  CreateEndpoint: 3,
  CreateProject: 5,
  CreateReplay: 10,
  CreateWebhook: 6,
  CurrentProject: 2,
  Customers: 3,
  DeleteConnector: 7,
  DeleteEndpoint: 6,
  DeleteProject: 19,
  DeleteWebhook: 7,
  Deliveries: 3,
  DeliveriesToOne: 4,
  Destinations: 4,
  Endpoints: 3,
  Event: 3,
  EventTypes: 1,
  Events: 3,
  FilteredOut: 5,
  Limits: 2,
  OneDelivery: 9,
  MarkNoticesRead: 4,
  NoticeContacts: 3,
  Notices: 3,
  Overview: 15,
  Payment: 3,
  Payments: 4,
  ProjectSettings: 2,
  Projects: 2,
  Replays: 3,
  ResendDelivery: 4,
  RevokeApiKey: 5,
  RotateWebhookSecret: 7,
  SendWebhookTestEvent: 7,
  TestConnector: 7,
  UnreadNotices: 3,
  UpdateConnector: 7,
  UpdateContacts: 9,
  UpdateEndpoint: 13,
  UpdateProject: 7,
  UpdateWebhook: 7,
  Viewer: 2,
  Webhooks: 3,
};

/** A new connection gets its settings from whichever request opens it. */
const SETTINGS = setForSession(SESSION_SETTINGS);
/** Hints may be sent together with those of other requests. */
const isOfRequest = (text: string) => text !== SETTINGS && !text.includes('pg_notify');

let app: TestApp;
let tenants: Tenants;
let requests = 0;
const sent = new Map<string, string[]>();

beforeAll(async () => {
  // Without a worker, only requests change anything.
  app = await startTestApp({ env: { ROLES: 'api' } });
  tenants = await createTenants(app);
  const { query } = pg.Client.prototype;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const [statement] = args as [string | { text: string }];
    const text = typeof statement === 'string' ? statement : statement.text;
    if (isOfRequest(text)) sent.get(currentRequest()?.requestId ?? '')?.push(text);
    return query.apply(this, args as Parameters<typeof query>);
  } as typeof query);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await tenants?.close();
  await app?.stop();
});

/** Sends a request as the home's owner, and returns the statements that it sent to the database. */
async function statementsOf(request: Request): Promise<string[]> {
  requests += 1;
  const requestId = `statements-${requests}`;
  const statements: string[] = [];
  sent.set(requestId, statements);
  const isGraphQL = request.kind === 'graphql';
  const body = isGraphQL ? { query: request.query, variables: request.variables } : request.body;
  const response = await fetch(app.url + (isGraphQL ? '/graphql' : request.path), {
    method: isGraphQL ? 'POST' : request.method,
    headers: {
      ...{ authorization: `Bearer ${tenants.bob.token}`, 'x-request-id': requestId },
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  if (isGraphQL) expect(JSON.parse(text).errors).toBeUndefined();
  return statements;
}

/** The request of an operation, for what is in the home. */
function requestOf(name: string, { ids }: Home): Request {
  const operation = OPERATIONS.find((each) => each.name === name)!;
  const slots = operation.slots.filter((slot) => slot.name !== 'eventId' || !slot.isOptional);
  return operation.request(Object.fromEntries(slots.map((slot) => [slot.name, ids[slot.type]])));
}

const inputOf = (request: Request) => (request.kind === 'graphql' ? request.variables : {});

/** Values for all variables that the console's queries require. */
function variablesOf(name: string, { ids }: Home) {
  const id = { OneDelivery: ids.Delivery, DeliveriesToOne: ids.Webhook }[name] ?? ids.Project;
  return {
    ...{ projectId: ids.Project, eventId: ids.Event, paymentId: ids.Payment, id },
    ...{ from: new Date(Date.now() - 86_400_000).toISOString(), interval: 'DAY', payments: {} },
    ...{ orderBy: 'TOTAL', isWebhook: true },
  };
}

describe('the number of SQL statements for a REST request', () => {
  test.each(ROUTES.map(({ operationId, method, path }) => ({ operationId, route: `${method} ${path}` })))(
    '$operationId',
    async ({ operationId, route }) => {
      const home = await tenants.furnish(operationId.toLowerCase());
      const statements = await statementsOf(requestOf(route, home));
      expect(statements.length, statements.join('\n')).toBe(REST[operationId]);
    },
  );
});

const documents = (await consoleDocuments()).filter(({ field }) => !WITH_VENDOR.has(field));

describe('the number of SQL statements for a document of the console', () => {
  test.each(documents.filter(({ type }) => type !== 'subscription'))('$type $name', async (document) => {
    const { name, type, query, field } = document;
    const home = await tenants.furnish(name.toLowerCase());
    const variables = type === 'mutation' ? inputOf(requestOf(`mutation ${field}`, home)) : variablesOf(name, home);
    const statements = await statementsOf({ kind: 'graphql', query, variables, isStream: false });
    expect(statements.length, statements.join('\n')).toBe(CONSOLE[name]);
  });
});

test('every number belongs to a route or a document', () => {
  expect(Object.keys(REST).sort()).toEqual(ROUTES.map(({ operationId }) => operationId).sort());
  const names = documents.filter(({ type }) => type !== 'subscription').map(({ name }) => name);
  expect(Object.keys(CONSOLE).sort()).toEqual(names.sort());
});
