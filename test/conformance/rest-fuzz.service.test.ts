import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONNECTOR_TYPES } from '../../src/connectors/definition.ts';
import type { RestRoute } from '../../src/rest/routes/route.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import type { TestApp, TestUser } from '../support/app.ts';
import { hostileFilter, hostileJson, hostileText } from '../support/hostile-text.ts';
import { GOOD } from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';
import { openFuzzTarget, QUIET_CONNECTOR } from './fuzz-target.ts';

/** For a longer run: `FUZZ_RUNS=5000 npx vitest run test/conformance/rest-fuzz`. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 60);
const TIMEOUT_MILLISECONDS = 180_000 + RUNS * 1_000;
/**
 * Imports read each document in a new process, which takes most of a second. `features/imports/openapi/hostile.test.ts`
 * reads hostile documents without a new process.
 */
const runsOf = (operationId: string): number => (/import/i.test(operationId) ? Math.ceil(RUNS / 4) : RUNS);

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let ids: Record<string, string>;
/** Whether a request body matches the OpenAPI document. */
let isDocumented: (route: RestRoute, body: unknown) => boolean;

beforeAll(async () => {
  ({ app, alice, ids } = await openFuzzTarget());
  rest = await openRest(app);

  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
  ajv.addSchema(rest.openapi.document, 'openapi');
  isDocumented = ({ path, method }, body) => {
    const template = path.replaceAll(/:(\w+)/g, '{$1}').replaceAll('/', '~1');
    const pointer = `/paths/${template}/${method.toLowerCase()}/requestBody/content/application~1json/schema`;
    const parts = pointer.split('/').map(encodeURIComponent);
    return ajv.validate({ $ref: `openapi#${parts.join('/')}` }, body) as boolean;
  };
});
afterAll(() => app?.stop());

const pathOf = (route: RestRoute, overrides: Record<string, string> = {}) =>
  route.path.replaceAll(/:(\w+)/g, (_all, name: string) => overrides[name] ?? ids[name]!);

const FILTER = { not: { 'data.path': { in: ['/a'], contains: '/' } }, or: [{ 'data.path': '/b' }] };
const OPENAPI = 'openapi: 3.1.0\nservers: [{ url: "https://api.example.com" }]\npaths: { /a: { get: {} } }\n';
const GOOD_BODIES: Record<string, Record<string, unknown>> = {
  createProject: GOOD.project,
  updateProject: GOOD.project,
  updateBuyerRules: { deniedWallets: [GOOD.project.walletAddress], period: 'HOUR', maxRequests: 5, maxSpendUsd: '1' },
  denyBuyer: { walletAddress: GOOD.project.walletAddress },
  allowBuyer: { walletAddress: GOOD.project.walletAddress },
  createEndpoint: { ...GOOD.endpoint, description: 'x' },
  updateEndpoint: { ...GOOD.endpoint, description: 'x', isActive: true },
  previewImport: { document: OPENAPI, upstreamUrl: 'https://api.example.com', priceUsd: '1' },
  importEndpoints: { document: OPENAPI, priceUsd: '1', items: [{ path: '/a', methods: ['GET'] }] },
  createApiKey: { ...GOOD.key, environment: 'TEST' },
  createConnector: GOOD.connector,
  updateConnector: { config: QUIET_CONNECTOR.config, eventTypes: ['*'], filter: FILTER, isActive: true },
  createWebhook: { ...GOOD.webhook, description: 'x', filter: FILTER },
  updateWebhook: { ...GOOD.webhook, description: 'x', isActive: true },
  rotateUpstreamSecret: { overlapHours: 1 },
  rotateWebhookSecret: { overlapHours: 1 },
  sendWebhookTestEvent: { eventType: 'payment.settled' },
  recordTestEvent: { eventType: 'payment.settled' },
  testEventFilter: { filter: { 'data.amountUsd': { gte: '1' }, or: [{ type: 'payment.settled' }] } },
  testConnector: { eventType: 'payment.settled' },
  updateMember: { role: 'VIEWER' },
  transferProject: { memberId: 'mem_00000000000000000000000000' },
  inviteMember: { email: 'guest@example.com', role: 'VIEWER' },
  markNoticesRead: { ids: ['ntc_00000000000000000000000000'] },
  copyProject: { ...GOOD.project, mode: 'TEST' },
  updateContacts: {
    emails: ['a@example.com'],
    slackUrl: 'https://hooks.slack.com/services/T0/B0/x',
    weeklyDigest: true,
  },
  updateUser: { tier: 'ENTERPRISE', requestsPerMinute: 100, tierSetBy: 'OPERATOR' },
  blockUser: { reason: 'Unpaid invoice.' },
  requeueDeliveries: { from: '2026-01-02T03:04:05Z', maxPerSecond: 5, dryRun: true },
  createReplay: { filter: { status: ['FAILED'], eventTypes: ['payment.settled'], test: true }, maxPerSecond: 5 },
  recordToolCall: { tool: 'list_payments', arguments: { limit: 5 } },
};
const WITHOUT_BODY = [
  'resendDelivery',
  'cancelReplay',
  'verifyGatewayHost',
  'acceptInvitation',
  'declineInvitation',
  'acceptTransfer',
  'declineTransfer',
  'unblockUser',
];
const writes = ROUTES.filter(({ method }) => method === 'POST' || method === 'PATCH');

/** A valid body in which something is replaced or added. */
function nearMiss(good: Record<string, unknown>): fc.Arbitrary<unknown> {
  const names = Object.keys(good);
  if (names.length === 0) return hostileJson();
  const replaced = fc
    .tuple(fc.constantFrom(...names), fc.oneof(hostileJson(), hostileText()))
    .map(([name, value]) => ({ ...good, [name]: value }));
  const added = fc.tuple(hostileText(20), hostileJson()).map(([name, value]) => ({ ...good, [name]: value }));
  const listed = fc
    .tuple(fc.constantFrom(...names), fc.array(fc.oneof(fc.constantFrom('*', 'payment.settled'), hostileText(20))))
    .map(([name, value]) => ({ ...good, [name]: value }));
  const nested = fc
    .tuple(fc.constantFrom(...names), hostileText(20), hostileJson())
    .map(([name, key, value]) => ({ ...good, [name]: { ...Object(good[name]), [key]: value } }));
  const filtered = hostileFilter().map((filter) => ({ ...good, ...(names.includes('filter') && { filter }) }));
  return fc.oneof(replaced, added, listed, nested, filtered);
}

async function send(route: RestRoute, body: unknown): Promise<void> {
  const { status } = await rest.send(alice, route.method, pathOf(route), { body: JSON.stringify(body) });
  // Actions without a request body accept null.
  if (status < 300 && body !== null) expect(isDocumented(route, body), JSON.stringify(body)).toBe(true);
}

describe('any JSON gets a documented response, and nothing undocumented is accepted', () => {
  test.each(writes.map((route) => ({ route, name: `${route.method} ${route.path}` })))(
    '$name',
    async ({ route }) => {
      expect([...Object.keys(GOOD_BODIES), ...WITHOUT_BODY]).toContain(route.operationId);
      const bodies = fc.oneof(hostileJson(), nearMiss(GOOD_BODIES[route.operationId] ?? {}));
      await fc.assert(
        fc.asyncProperty(bodies, (body) => send(route, body)),
        { numRuns: runsOf(route.operationId) },
      );
    },
    TIMEOUT_MILLISECONDS,
  );
});

/** Returns one copy of the value for each of its strings, with NUL appended to that string. */
function withNul(value: unknown): unknown[] {
  if (typeof value === 'string') return [`${value}\0`];
  if (Array.isArray(value)) return value.flatMap((item, index) => withNul(item).map((bad) => value.with(index, bad)));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => withNul(item).map((bad) => ({ ...value, [name]: bad })));
}

test.each(Object.entries(GOOD_BODIES))('a NUL in any text in the body of %s is rejected', async (operationId, good) => {
  const route = writes.find((candidate) => candidate.operationId === operationId)!;
  for (const body of withNul(good)) {
    const { status } = await rest.send(alice, route.method, pathOf(route), { body: JSON.stringify(body) });
    expect(status, JSON.stringify(body)).toBe(422);
  }
});

describe('any text in a text field gets a documented response', () => {
  const fields = Object.entries(GOOD_BODIES).flatMap(([operationId, good]) =>
    Object.entries(good).flatMap(([field, value]) => (typeof value === 'string' ? [{ operationId, field }] : [])),
  );

  test.each(fields)(
    '$field of $operationId',
    async ({ operationId, field }) => {
      const route = writes.find((candidate) => candidate.operationId === operationId)!;
      const good = GOOD_BODIES[operationId]!;
      // Some text comes before or after the valid value, to get past the first check.
      const texts = fc.tuple(hostileText(), fc.constantFrom('', 'before', 'behind')).map(([text, place]) => {
        if (place === 'before') return `${good[field]}${text}`;
        return place === 'behind' ? `${text}${good[field]}` : text;
      });
      await fc.assert(
        fc.asyncProperty(texts, (text) => send(route, { ...good, [field]: text })),
        { numRuns: runsOf(operationId) },
      );
    },
    TIMEOUT_MILLISECONDS,
  );
});

test(
  'any connector config gets a documented response',
  async () => {
    const { body } = await rest.send<{ data: { type: string; fields: { name: string; example: string | null }[] }[] }>(
      ...([alice, 'GET', '/api/connector-types'] as const),
    );
    expect(body.data.map(({ type }) => type).sort()).toEqual([...CONNECTOR_TYPES].sort());
    const create = writes.find(({ operationId }) => operationId === 'createConnector')!;
    const bodies = fc
      .tuple(fc.constantFrom(...body.data), fc.infiniteStream(fc.tuple(fc.nat(5), hostileJson(), hostileText())))
      .map(([{ type, fields }, values]) => {
        const config = fields.map(({ name, example }) => {
          const [choice, json, text] = values.next().value as [number, unknown, string];
          return [name, choice < 3 ? (example ?? 'x'.repeat(32)) : choice === 3 ? json : (example ?? '') + text];
        });
        return { type, config: Object.fromEntries(config), eventTypes: ['*'] };
      });
    await fc.assert(
      fc.asyncProperty(bodies, (request) => send(create, request)),
      { numRuns: RUNS * 5 },
    );
  },
  TIMEOUT_MILLISECONDS,
);

describe('every request gets a documented response, no matter what text it contains', () => {
  const encoded = (text: string) => encodeURIComponent(text.toWellFormed());
  const withParameters = ROUTES.filter(({ path }) => path.includes(':'));

  test(
    'in the path',
    async () => {
      const cases = fc.tuple(fc.constantFrom(...withParameters), hostileText(100), fc.nat());
      const property = fc.asyncProperty(cases, async ([route, text, index]) => {
        fc.pre(text.length < 3_000 && !['', '.', '..'].includes(text));
        const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
        const path = pathOf(route, { [names[index % names.length]!]: encoded(text) });
        const request = route.method === 'GET' || route.method === 'DELETE' ? {} : { body: {} };
        const { status } = await rest.send(alice, route.method, path, request);
        expect([404, 422]).toContain(status);
      });
      await fc.assert(property, { numRuns: RUNS * 5 });
    },
    TIMEOUT_MILLISECONDS,
  );

  const lists = ROUTES.filter(({ kind, query }) => kind === 'list' || query);

  test.each(lists.map((route) => ({ route, name: `${route.method} ${route.path}` })))(
    'in each parameter of $name',
    async ({ route }) => {
      for (const name of ['limit', 'after', ...Object.keys(route.query ?? {})]) {
        for (const text of ['\0', 'x', 'proj_\0', '\uffff', '9'.repeat(400)]) {
          await rest.send(alice, 'GET', `${pathOf(route)}?${name}=${encoded(text)}`);
        }
      }
    },
  );

  test(
    'in the query',
    async () => {
      const own = new Set(lists.flatMap(({ query = {} }) => Object.keys(query)));
      const names = ['limit', 'after', ...own, 'x', '__proto__'];
      const values = fc.oneof(
        hostileText(100),
        fc.constantFrom(...Object.values({ one: '1', kind: 'payment.settled' })),
      );
      const pairs = fc.array(fc.tuple(fc.constantFrom(...names), values), { maxLength: 4 });
      const property = fc.asyncProperty(fc.constantFrom(...lists), pairs, async (route, query) => {
        const text = query.map(([name, value]) => `${name}=${encoded(value)}`).join('&');
        fc.pre(text.length < 8_000);
        await rest.send(alice, 'GET', `${pathOf(route)}?${text}`);
      });
      await fc.assert(property, { numRuns: RUNS * 5 });
    },
    TIMEOUT_MILLISECONDS,
  );
});

test('everything created during fuzzing is still readable', async () => {
  for (const route of ROUTES.filter(({ kind }) => kind === 'list' || kind === 'all')) {
    const query = route.path.endsWith('/search') ? '?q=weather' : route.kind === 'list' ? '?limit=100' : '';
    const { status } = await rest.send(alice, 'GET', pathOf(route) + query);
    expect(status, route.path).toBe(200);
  }
});
