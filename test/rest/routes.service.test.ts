import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  GOOD,
  type Resource,
  WALLET,
} from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

/** The documented routes. */
const DOCUMENTED = [
  'GET /api/projects',
  'POST /api/projects',
  'GET /api/projects/:projectId',
  'PATCH /api/projects/:projectId',
  'DELETE /api/projects/:projectId',
  'GET /api/projects/:projectId/endpoints',
  'POST /api/projects/:projectId/endpoints',
  'PATCH /api/projects/:projectId/endpoints/:endpointId',
  'DELETE /api/projects/:projectId/endpoints/:endpointId',
  'GET /api/projects/:projectId/keys',
  'POST /api/projects/:projectId/keys',
  'DELETE /api/projects/:projectId/keys/:keyId',
  'GET /api/projects/:projectId/connectors',
  'POST /api/projects/:projectId/connectors',
  'PATCH /api/projects/:projectId/connectors/:connectorId',
  'DELETE /api/projects/:projectId/connectors/:connectorId',
  'GET /api/projects/:projectId/webhooks',
  'POST /api/projects/:projectId/webhooks',
  'PATCH /api/projects/:projectId/webhooks/:webhookId',
  'DELETE /api/projects/:projectId/webhooks/:webhookId',
  'GET /api/projects/:projectId/webhooks/:webhookId/deliveries',
] as const;

const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`));
const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
const stamps = { createdAt: time, updatedAt: time };

const UNPAUSED = { isPaused: false, pausedReason: null, pausedAt: null };
const PINNED = {
  payloadVersion: 1,
  ordering: 'NONE',
  orderingEscapeAfterAttempts: 4,
  headers: [],
  authentication: null,
  clientCertificate: null,
  certificateAuthority: null,
  timeoutSeconds: 15,
  retrySchedule: 'STANDARD',
};

/** Every field of each resource. Responses have exactly these fields. */
const FIELDS = {
  projects: {
    id: id('proj'),
    name: 'Shop',
    walletAddress: WALLET,
    gatewayHost: null,
    slug: null,
    defaultHost: null,
    gatewayUrl: null,
    milestonesUsd: ['1', '10', '100', '1000', '10000'],
    timeZone: 'UTC',
    description: null,
    iconUrl: null,
    contact: null,
    upstreamHeaders: [],
    mode: 'TEST',
    networks: [],
    viewerRole: 'OWNER',
    ...stamps,
  },
  endpoints: {
    id: id('ep'),
    projectId: id('proj'),
    ...GOOD.endpoint,
    path: expect.stringMatching(/^\//),
    description: null,
    isActive: true,
    forwardedHeaders: [],
    upstreamHeaders: [],
    methods: ['GET', 'HEAD', 'POST'],
    warnings: [],
    ...stamps,
    mimeType: null,
    inputSchema: null,
    exampleResponse: null,
    tags: [],
    protocol: 'HTTP',
    settlement: 'AFTER_RESPONSE',
    timeoutSeconds: null,
  },
  keys: {
    id: id('key'),
    projectId: id('proj'),
    name: 'CI',
    environment: 'TEST',
    prefix: 'tg_test_',
    last4: expect.stringMatching(/^\w{4}$/),
    scopes: ['READ', 'DELIVERIES', 'WRITE'],
    allowedAddresses: [],
    expiresAt: null,
    createdById: id('usr'),
    lastUsedAt: null,
    createdAt: time,
  },
  connectors: {
    id: id('con'),
    projectId: id('proj'),
    name: null,
    type: 'slack',
    config: { webhookUrl: '••••uvwx' },
    eventTypes: ['*'],
    filter: null,
    isActive: true,
    disabledReason: null,
    disabledAt: null,
    ...UNPAUSED,
    nextProbeAt: null,
    credentialExpiresAt: null,
    failingSince: null,
    circuitOpenUntil: null,
    maxPerSecond: null,
    ...stamps,
  },
  webhooks: {
    id: id('wh'),
    projectId: id('proj'),
    name: null,
    ...GOOD.webhook,
    filter: null,
    ...PINNED,
    description: null,
    isActive: true,
    ...UNPAUSED,
    disabledReason: null,
    disabledAt: null,
    failingSince: null,
    previousSecretExpiresAt: null,
    ...stamps,
    circuitOpenUntil: null,
    maxPerSecond: null,
  },
};
type Kind = keyof typeof FIELDS;

/** The request body for each documented route that takes one, and the fields it must change. */
const BODIES: Partial<Record<(typeof DOCUMENTED)[number], { body: object; becomes: object }>> = {
  'POST /api/projects': { body: GOOD.project, becomes: {} },
  'PATCH /api/projects/:projectId': {
    body: {
      name: 'Kiosk',
      walletAddress: '0x1f98431c8ad98523631ae4a59f267346ea31f984',
      gatewayHost: 'Kiosk.example',
      milestonesUsd: ['20', '0.5'],
      timeZone: 'asia/kathmandu',
    },
    becomes: {
      name: 'Kiosk',
      walletAddress: '0x1F98431c8aD98523631AE4a59f267346ea31F984',
      gatewayHost: 'kiosk.example',
      gatewayUrl: 'https://kiosk.example',
      milestonesUsd: ['0.5', '20'],
      timeZone: 'Asia/Kathmandu',
    },
  },
  'POST /api/projects/:projectId/endpoints': {
    body: { ...GOOD.endpoint, path: '/new', description: 'Now' },
    becomes: { path: '/new', description: 'Now' },
  },
  'PATCH /api/projects/:projectId/endpoints/:endpointId': {
    body: { path: '/b', upstreamUrl: 'https://b.example.com/', priceUsd: '2', description: 'B', isActive: false },
    becomes: {
      path: '/b',
      upstreamUrl: 'https://b.example.com/',
      priceUsd: '2',
      description: 'B',
      isActive: false,
      warnings: [expect.stringContaining('1 USD')],
    },
  },
  'POST /api/projects/:projectId/keys': {
    body: GOOD.key,
    becomes: { key: expect.stringMatching(/^tg_test_\w{49}$/) },
  },
  'POST /api/projects/:projectId/connectors': { body: GOOD.connector, becomes: {} },
  'PATCH /api/projects/:projectId/connectors/:connectorId': {
    body: {
      config: { webhookUrl: 'https://hooks.slack.com/services/T00000000/B00000000/zyxwvutsrqponmlkjihgfedc' },
      name: 'Sales',
      eventTypes: ['payment.settled', 'payment.failed'],
      isActive: false,
    },
    becomes: {
      config: { webhookUrl: '••••fedc' },
      name: 'Sales',
      eventTypes: ['payment.settled', 'payment.failed'],
      isActive: false,
      disabledAt: time,
    },
  },
  'POST /api/projects/:projectId/webhooks': {
    body: GOOD.webhook,
    becomes: { secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/) },
  },
  'PATCH /api/projects/:projectId/webhooks/:webhookId': {
    body: {
      url: 'https://b.example.com/in',
      eventTypes: ['payment.failed'],
      isActive: false,
      name: 'B',
      description: 'B',
    },
    becomes: {
      url: 'https://b.example.com/in',
      eventTypes: ['payment.failed'],
      isActive: false,
      name: 'B',
      description: 'B',
      disabledAt: time,
    },
  },
};

/** Fields that are shown only once, in the response to the request that creates the resource. */
const ONCE = new Set(['key', 'secret']);

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let ids: Record<string, string>;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
});
afterAll(() => app?.stop());

let users = 0;
beforeEach(async () => {
  users += 1;
  alice = await app.user(`alice-${users}`);
  const { base, id: projectId } = await createProject(alice);
  const endpoint = await createEndpoint(alice, base);
  ids = {
    ':projectId': projectId,
    ':endpointId': endpoint.id,
    ':keyId': (await createKey(alice, base)).id,
    ':connectorId': (await createConnector(alice, base)).id,
    ':webhookId': (await createWebhook(alice, base)).id,
  };
});

const pathOf = (template: string) => template.replaceAll(/:\w+/g, (name) => ids[name]!);
const split = (route: string) => route.split(' ') as [method: string, template: string];
const kindOf = (template: string) => template.split('/').findLast((part) => part in FIELDS) as Kind;

describe('a documented route works as documented', () => {
  const ofMethod = (method: string) => DOCUMENTED.filter((route) => route.startsWith(`${method} `));
  const ofItem = ['GET /api/projects/:projectId'];
  const lists = ofMethod('GET').filter((route) => !ofItem.includes(route));

  test.each(ofItem)('%s returns the resource', async (route) => {
    const response = await rest.send(alice, 'GET', pathOf(split(route)[1]));
    expect(response).toMatchObject({ status: 200, body: FIELDS.projects });
  });

  test.each(lists)('%s returns a page', async (route) => {
    const template = split(route)[1];
    const response = await rest.send(alice, 'GET', pathOf(template));
    const expected = template.endsWith('/deliveries') ? [] : [FIELDS[kindOf(template)]];
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ data: expected, nextCursor: null });
    expect(response.headers.get('link')).toBeNull();
  });

  test.each(ofMethod('POST'))('%s creates a resource and returns its location', async (route) => {
    const path = pathOf(split(route)[1]);
    const { body, becomes } = BODIES[route]!;
    const created = await rest.send<Resource>(alice, 'POST', path, { body });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({ ...FIELDS[kindOf(path)], ...becomes });
    const location = created.headers.get('location')!;
    expect(location).toBe(`${path}/${created.body.id}`);

    const stored = await rest.send(alice, 'GET', location);
    expect(stored.status).toBe(200);
    const kept = Object.entries(created.body).filter(([name]) => !ONCE.has(name));
    expect(stored.body).toEqual(Object.fromEntries(kept));
  });

  test.each(ofMethod('PATCH'))('%s changes only the given fields', async (route) => {
    const path = pathOf(split(route)[1]);
    const { body, becomes } = BODIES[route]!;
    const before = await rest.send(alice, 'GET', path);
    const untouched = await rest.send(alice, 'PATCH', path, { body: {} });
    expect(untouched).toMatchObject({ status: 200, body: { ...before.body, updatedAt: time } });

    const changed = await rest.send(alice, 'PATCH', path, { body });
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({ ...before.body, ...becomes, updatedAt: time });
    expect((await rest.send(alice, 'GET', path)).body).toEqual(changed.body);
  });

  test.each(ofMethod('DELETE'))('%s deletes the resource, and only once', async (route) => {
    const path = pathOf(split(route)[1]);
    const deleted = await rest.send(alice, 'DELETE', path);
    expect(deleted).toMatchObject({ status: 204, text: '' });
    expect((await rest.send(alice, 'GET', path)).status).toBe(404);
    expect((await rest.send(alice, 'DELETE', path)).status).toBe(404);
  });
});

test('ROUTES has every documented route, and each route once', () => {
  const table = ROUTES.map(({ method, path }) => `${method} ${path}`);
  expect(table).toEqual(expect.arrayContaining([...DOCUMENTED]));
  expect(new Set(table).size).toBe(table.length);
  expect(new Set(ROUTES.map(({ operationId }) => operationId)).size).toBe(ROUTES.length);
});

test('every path parameter is used as a variable or an input field', () => {
  for (const { method, path, document, fromPath = {} } of ROUTES) {
    const parameters = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
    const variables = document.definitions.flatMap((definition) =>
      definition.kind === 'OperationDefinition'
        ? (definition.variableDefinitions ?? []).map(({ variable }) => variable.name.value)
        : [],
    );
    const used = method === 'GET' ? variables : Object.keys(fromPath);
    expect(used, `${method} ${path}`).toEqual(expect.arrayContaining(parameters));
  }
});

const PREFIXES: Record<string, string> = {
  project: 'proj',
  endpoint: 'ep',
  key: 'key',
  connector: 'con',
  webhook: 'wh',
  delivery: 'dlv',
  event: 'evt',
  user: 'usr',
  member: 'mem',
  invitation: 'inv',
  transfer: 'trf',
};
const BODIES_BY_PATH: Record<string, object> = {
  ...Object.fromEntries(
    Object.entries(BODIES).flatMap(([route, { body }]) => (route.startsWith('POST') ? [[split(route)[1], body]] : [])),
  ),
  '/api/projects/:projectId/endpoints/import': { document: 'openapi: 3.1.0', items: [{ path: '/a' }] },
  '/api/projects/:projectId/transfer': { memberId: 'mem_01jc9x2v5qe3w8k4m6n7p9r0st' },
  '/api/projects/:projectId/invitations': { email: 'bob@example.com', role: 'VIEWER' },
  '/api/projects/:projectId/audit-log/tool-calls': { tool: 'list_payments' },
  '/api/operator/users/:userId/block': { reason: 'Unpaid invoice.' },
  '/api/projects/:projectId/copy': { ...GOOD.project, mode: 'TEST' },
  '/api/projects/:projectId/buyer-rules/deny': { walletAddress: GOOD.project.walletAddress },
  '/api/projects/:projectId/buyer-rules/allow': { walletAddress: GOOD.project.walletAddress },
  '/api/projects/:projectId/events/test': { eventType: 'payment.settled' },
  '/api/projects/:projectId/events/test-filter': { filter: { type: 'payment.settled' } },
};

const CHANGES_BY_PATH: Record<string, object> = {
  '/api/projects/:projectId/members/:memberId': { role: 'VIEWER' },
};

test.each(ROUTES.filter(({ path }) => path.includes(':')).map(({ method, path }) => [method, path]))(
  '%s %s returns 404 for IDs that do not exist',
  async (method, path) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : BODIES_BY_PATH[path as string];
    const missing = path!.replaceAll(
      /:(\w+)Id/g,
      (_all, name: string) => `${PREFIXES[name]}_01jc9x2v5qe3w8k4m6n7p9r0st`,
    );
    const query = path!.endsWith('/search') ? '?q=weather' : '';
    const response = await rest.send(alice, method!, missing + query, {
      body: method === 'PATCH' ? (CHANGES_BY_PATH[path!] ?? {}) : body,
    });
    expect(response).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  },
);
