import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SESSION_SETTINGS, setForSession } from '../../src/database/session-settings.ts';
import { currentRequest } from '../../src/request-context.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { FOR_TWO, OPERATIONS, type Request, WITH_VENDOR } from '../conformance/isolation-operations.ts';
import { createTenants, type Home, type OwnedType, type Tenants } from '../conformance/isolation-tenants.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { consoleDocuments } from '../support/console-documents.ts';
import { operatorsEnv } from '../support/operator.ts';
import { insertPayment } from '../support/payments.ts';
import { createEndpoint } from '../support/resources.ts';

/**
 * The number of statements for each REST route, by operation ID. Each number includes the statement that reads the
 * caller.
 */
const REST: Record<string, number> = {
  getMe: 4,
  listProjects: 2,
  createProject: 7,
  copyProject: 29,
  getProject: 2,
  updateProject: 7,
  deleteProject: 26,
  getUpstreamSecret: 2,
  rotateUpstreamSecret: 7,
  getGatewayHostStatus: 3,
  verifyGatewayHost: 4,
  getBuyerRules: 3,
  updateBuyerRules: 8,
  denyBuyer: 8,
  allowBuyer: 8,
  listEndpoints: 3,
  createEndpoint: 4,
  getEndpoint: 3,
  updateEndpoint: 15,
  deleteEndpoint: 7,
  previewImport: 5,
  importEndpoints: 9,
  listApiKeys: 3,
  createApiKey: 8,
  getApiKey: 3,
  revokeApiKey: 5,
  listConnectors: 3,
  createConnector: 7,
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
  createReplay: 12,
  getReplay: 3,
  cancelReplay: 6,
  listEvents: 3,
  getEvent: 3,
  recordTestEvent: 6,
  testEventFilter: 2,
  listPayments: 3,
  getPayment: 3,
  listCustomers: 3,
  getCustomer: 3,
  listCustomerPayments: 4,
  getRevenue: 6,
  getDeliveryStats: 4,
  exportPayments: 5,
  exportCustomers: 5,
  exportRevenue: 3,
  exportDeliveries: 5,
  exportEvents: 5,
  exportProjectAuditLog: 5,
  listProjectAuditLog: 3,
  getAuditEntry: 3,
  recordToolCall: 4,
  listAuditLog: 2,
  listAccountLog: 2,
  listMembers: 3,
  getMember: 3,
  updateMember: 9,
  removeMember: 13,
  listInvitations: 4,
  inviteMember: 18,
  getInvitation: 4,
  revokeInvitation: 8,
  listMyInvitations: 3,
  getTransfer: 4,
  withdrawTransfer: 7,
  listMyTransfers: 3,
  searchProject: 3,
  search: 3,
  listNotices: 3,
  getNotice: 3,
  markNoticesRead: 3,
  getContacts: 3,
  updateContacts: 9,
  listUsers: 2,
  getUser: 3,
  updateUser: 8,
  blockUser: 10,
  unblockUser: 10,
  listAccountHealth: 2,
  requeueDeliveries: 4,
};

/** The number of statements for each of the console's queries and mutations. */
const CONSOLE: Record<string, number> = {
  AccountLog: 2,
  ApiKeyScopes: 1,
  ApiKeys: 3,
  AllowBuyer: 8,
  AuditLog: 3,
  BuyerRules: 3,
  CancelReplay: 6,
  ConnectorTypes: 1,
  Connector: 3,
  Connectors: 3,
  CreateApiKey: 8,
  CreateConnector: 7,
  CreateEndpoint: 4,
  CreateProject: 7,
  CopyProject: 29,
  CreateReplay: 12,
  CreateWebhook: 6,
  CurrentProject: 2,
  Customers: 5,
  DenyBuyer: 8,
  DeleteConnector: 7,
  DeleteEndpoint: 7,
  DeleteProject: 26,
  DeleteWebhook: 7,
  Deliveries: 3,
  DeliveriesCursor: 4,
  Destinations: 4,
  Endpoints: 3,
  Event: 3,
  Endpoint: 3,
  EnumValues: 1,
  Events: 3,
  FilteredOut: 4,
  GatewayHostStatus: 3,
  ImportEndpoints: 9,
  Installation: 1,
  InviteMember: 16,
  LatestReplays: 3,
  Limits: 2,
  Members: 6,
  MyInvitations: 5,
  RemoveMember: 13,
  WithdrawTransfer: 7,
  RevokeInvitation: 8,
  UpdateMember: 9,
  OneDelivery: 9,
  MarkNoticesRead: 4,
  NoticeContacts: 3,
  Notices: 3,
  NoticesCursor: 4,
  Overview: 13,
  Payment: 3,
  Payments: 4,
  PaymentNetworks: 1,
  PaymentsCursor: 4,
  PreviewImport: 5,
  ProjectSettings: 2,
  Projects: 2,
  Replays: 3,
  ReplaysCursor: 4,
  Search: 3,
  ResendDelivery: 7,
  RevokeApiKey: 5,
  RotateUpstreamSecret: 7,
  RotateWebhookSecret: 7,
  SendWebhookTestEvent: 7,
  TestConnector: 7,
  TestEventFilter: 2,
  TestTargets: 4,
  UnreadNotices: 3,
  UpdateBuyerRules: 8,
  UpdateConnector: 7,
  UpdateContacts: 9,
  UpdateEndpoint: 15,
  UpdateProject: 7,
  UpdateNetworks: 7,
  UpdateWebhook: 7,
  VerifyGatewayHost: 4,
  Viewer: 2,
  Webhook: 3,
  Webhooks: 3,
};

/** These statements belong to whichever request opens a new connection. */
const SETTINGS = setForSession(SESSION_SETTINGS);
/** Hints may be sent together with hints from other requests. */
const isOfRequest = (text: string) => text !== SETTINGS && !text.includes('pg_notify');

let app: TestApp;
let tenants: Tenants;
let sql: pg.Pool;
let requests = 0;
const sent = new Map<string, string[]>();

beforeAll(async () => {
  // Without a worker, only requests change anything.
  app = await startTestApp({ env: { ROLES: 'api', ...operatorsEnv('bob') } });
  tenants = await createTenants(app);
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
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
  await sql?.end();
  await app?.stop();
});

/** Sends a request as the home's owner, and returns the statements that the service sent to the database. */
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
      authorization: `Bearer ${tenants.bob.token}`,
      'x-request-id': requestId,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  if (isGraphQL) expect(JSON.parse(text).errors).toBeUndefined();
  return statements;
}

/** Returns the request for an operation on the resources in the home. */
function requestOf(name: string, { ids }: Home): Request {
  const operation = OPERATIONS.find((each) => each.name === name)!;
  const slots = operation.slots.filter((slot) => slot.name !== 'eventId' || !slot.isOptional);
  const idOf = (type: OwnedType) => (type === 'User' ? tenants.subordinateId : ids[type]);
  return operation.request(Object.fromEntries(slots.map((slot) => [slot.name, idOf(slot.type)])));
}

const inputOf = (request: Request) => (request.kind === 'graphql' ? request.variables : {});

/** Returns values for all variables that the console's queries require. */
function variablesOf(name: string, { ids }: Home) {
  const { Delivery: OneDelivery, Webhook, Connector, Endpoint } = ids;
  const id = { OneDelivery, Webhook, Connector, Endpoint }[name] ?? ids.Project;
  return {
    projectId: ids.Project,
    eventId: ids.Event,
    paymentId: ids.Payment,
    id,
    from: new Date(Date.now() - 86_400_000).toISOString(),
    utcFrom: new Date(Date.now() - 86_400_000).toISOString(),
    interval: 'DAY',
    payments: {},
    orderBy: name === 'Endpoints' ? 'PRICE' : 'TOTAL',
    name: 'EventType',
    query: 'mark',
  };
}

const routes = ROUTES.map(({ operationId, method, path }) => ({ operationId, route: `${method} ${path}` })).filter(
  ({ route }) => !FOR_TWO.has(route),
);

describe('the number of SQL statements for a REST request', () => {
  test.each(routes)('$operationId', async ({ operationId, route }) => {
    const home = await tenants.furnish(operationId.toLowerCase());
    const statements = await statementsOf(requestOf(route, home));
    expect(statements.length, statements.join('\n')).toBe(REST[operationId]);
  });
});

/**
 * The number of statements for a list of three items, with all their related resources. Fewer items need just as many.
 */
const EXPANDED: Record<string, { path: string; expand: string; count: number }> = {
  payments: { path: 'payments', expand: 'endpoint,customer', count: 5 },
  deliveries: { path: 'deliveries', expand: 'event,attempts,webhook,connector', count: 7 },
};

test.each(Object.entries(EXPANDED))(
  'expanding %s takes one statement for each resource, not for each item',
  async (_list, asked) => {
    const { path, expand, count } = asked;
    const home = await tenants.furnish('expanded');
    const base = `/api/projects/${home.ids.Project}`;
    const request = { kind: 'rest', method: 'GET', path: `${base}/${path}?expand=${expand}` } as const;
    for (const mark of ['second', 'third']) {
      const endpoint = await createEndpoint(tenants.bob, base);
      await insertPayment(sql, { projectId: home.ids.Project, endpointId: endpoint.id, mark });
    }
    const statements = await statementsOf(request);
    expect(statements.length, statements.join('\n')).toBe(count);
  },
);

const documents = (await consoleDocuments()).filter(
  ({ field }) => !WITH_VENDOR.has(field) && !FOR_TWO.has(`mutation ${field}`),
);

describe('the number of SQL statements for a console document', () => {
  test.each(documents.filter(({ type }) => type !== 'subscription'))('$type $name', async (document) => {
    const { name, type, query, field } = document;
    const home = await tenants.furnish(name.toLowerCase());
    const variables = type === 'mutation' ? inputOf(requestOf(`mutation ${field}`, home)) : variablesOf(name, home);
    const statements = await statementsOf({ kind: 'graphql', query, variables, isStream: false });
    expect(statements.length, statements.join('\n')).toBe(CONSOLE[name]);
  });
});

test('every number is for an existing route or document', () => {
  expect(Object.keys(REST).sort()).toEqual(routes.map(({ operationId }) => operationId).sort());
  const names = documents.filter(({ type }) => type !== 'subscription').map(({ name }) => name);
  expect(Object.keys(CONSOLE).sort()).toEqual(names.sort());
});
