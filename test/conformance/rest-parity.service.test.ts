import { type GraphQLObjectType, getNamedType, isEnumType, isLeafType, isNonNullType, isObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { schema } from '../../src/graphql/schema.ts';
import { AUTHORITY, CLIENT_CERTIFICATE, CLIENT_KEY } from '../egress/authority.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { invite, join, person } from '../support/members.ts';
import { createNotice } from '../support/notices.ts';
import { createPayment } from '../support/payments.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  type Resource,
} from '../support/resources.ts';
import { openRest, type Rest } from '../support/rest.ts';

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let paths: Record<string, string>;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
  const { base, id } = await createProject(alice);
  projectId = id;
  const webhook = await createWebhook(alice, base, {
    headers: [{ name: 'X-Key', value: 'key' }],
    authentication: { type: 'BASIC', username: 'tollgate', password: 'password' },
    clientCertificate: { certificate: CLIENT_CERTIFICATE, privateKey: CLIENT_KEY },
    certificateAuthority: AUTHORITY,
  });
  const endpoint = await createEndpoint(alice, base);
  const { body } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/deliveries`);
  const delivery = body.data[0]!;
  const payment = await createPayment(app, { projectId, endpointId: endpoint.id, mark: 'weather' });
  const replay = await rest.send<{ replay: Resource }>(alice, 'POST', `${base}/replays`, { body: { all: true } });
  const audit = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/audit-log`);
  await rest.send(alice, 'POST', `${base}/transfer`, { body: { email: 'heir@example.com' } });
  paths = {
    ProjectTransfer: `${base}/transfer`,
    Project: base,
    Endpoint: `${base}/endpoints/${endpoint.id}`,
    ApiKey: `${base}/keys/${(await createKey(alice, base)).id}`,
    Webhook: `${base}/webhooks/${webhook.id}`,
    Connector: `${base}/connectors/${(await createConnector(alice, base)).id}`,
    Delivery: `${base}/deliveries/${delivery.id}`,
    Event: `${base}/events/${delivery.eventId}`,
    Payment: `${base}/payments/${payment.paymentId}`,
    Customer: `${base}/customers/${payment.customerId}`,
    Replay: `${base}/replays/${replay.body.replay.id}`,
    AuditEntry: `${base}/audit-log/${audit.body.data[0]!.id}`,
    ProjectMember: `${base}/members/${(await join(alice, base, await person(app, 'dana'), 'ADMIN')).id}`,
    Invitation: `${base}/invitations/${(await invite(alice, base, 'carol@example.com', 'VIEWER')).id}`,
    Notice: `${base}/notices/${await createNotice(app, { projectId, subjectId: webhook.id })}`,
  };
});
afterAll(() => app?.stop());

/**
 * Fields that REST leaves out: one that only people can see, and a count that would have to be computed for every
 * project.
 */
const GRAPHQL_ONLY = new Set([
  'Project.upstreamSecret',
  'Project.previousUpstreamSecretExpiresAt',
  'Project.unreadNoticeCount',
  'Project.remainingWebhooks',
  'Project.remainingConnectors',
]);

/** The types of the caller, which REST shows together in `GET /api/me`. */
const CALLER = new Set(['User', 'Viewer']);
/** The types that have their own identifiers: those that implement the Node interface. */
const NODES = Object.values(schema.getTypeMap())
  .filter(isObjectType)
  .filter((type) => type.getInterfaces().some(({ name }) => name === 'Node') && !CALLER.has(type.name))
  .map(({ name }) => name);

/** Fields that contain objects and that REST includes. */
const NESTED: Readonly<Record<string, string>> = {
  Endpoint: 'upstreamHeaders { name value }',
  Project: 'upstreamHeaders { name value urlPrefix }',
  Webhook: `headers { name value }
    authentication { type username password token tokenUrl clientId clientSecret scope }
    clientCertificate { certificate expiresAt privateKey }`,
};

/** A field's value in REST, where enum values have their own spelling. */
function restValue(type: GraphQLObjectType, field: string, value: unknown): unknown {
  const named = getNamedType(type.getFields()[field]!.type);
  if (!isEnumType(named) || value === null) return value;
  const spell = (name: unknown) => named.getValue(name as string)!.value;
  return Array.isArray(value) ? value.map(spell) : spell(value);
}

test('every resource type is compared', () => {
  expect(Object.keys(paths).sort()).toEqual(NODES.toSorted());
});

describe.each(NODES)('a resource of type %s', (name) => {
  const type = schema.getType(name);
  if (!isObjectType(type)) throw new Error(`${name} is not an object`);
  const leaves = Object.values(type.getFields())
    .filter(({ type: field }) => isLeafType(getNamedType(field)))
    .filter((field) => !GRAPHQL_ONLY.has(`${name}.${field.name}`));

  test('has the same fields with the same values over REST and GraphQL', async () => {
    const one = await rest.send<Resource>(alice, 'GET', paths[name]!);
    expect(one.status).toBe(200);
    const selection = [...leaves.map((field) => field.name), NESTED[name] ?? ''].join(' ');
    const { data, errors } = await alice.graphql<{ node: Record<string, unknown> }>(
      `query ($id: ID!) { node(id: $id) { ... on ${name} { ${selection} } } }`,
      { id: one.body.id },
    );
    expect(errors).toBeUndefined();
    // REST can leave out fields that contain other objects, or replace them with IDs.
    const { attempts: _attempts, ...fields } = one.body;
    const inRest = Object.entries(data!.node).map(([field, value]) => [field, restValue(type, field, value)]);
    expect(fields).toEqual(Object.fromEntries(inRest));
  });

  test('uses the documented enum values in REST and enum names in GraphQL', async () => {
    const { body } = await rest.send<Resource>(alice, 'GET', paths[name]!);
    for (const { name: field, type: fieldType } of leaves) {
      const named = getNamedType(fieldType);
      if (!isEnumType(named)) continue;
      const allowed = new Set<unknown>(named.getValues().map(({ value }) => value));
      if (!isNonNullType(fieldType)) allowed.add(null);
      for (const value of [body[field]].flat()) expect(allowed).toContain(value);
    }
  });
});

test('lists have the same items in the same order', async () => {
  for (const [list, field] of Object.entries({ endpoints: 'endpoints', keys: 'apiKeys', webhooks: 'webhooks' })) {
    for (let count = 0; count < 3; count++) {
      if (list === 'endpoints') await createEndpoint(alice, paths.Project!);
      else if (list === 'keys') await createKey(alice, paths.Project!);
      else await createWebhook(alice, paths.Project!);
    }
    const page = await rest.send<{ data: Resource[]; nextCursor: string }>(
      ...([alice, 'GET', `${paths.Project}/${list}?limit=2`] as const),
    );
    const { data } = await alice.graphql<{ project: Record<string, { nodes: Resource[]; pageInfo: object }> }>(
      `query ($id: ID!) { project(id: $id) { ${field}(first: 2) { nodes { id } pageInfo { endCursor hasNextPage } } } }`,
      { id: projectId },
    );
    const connection = data!.project[field]!;
    expect(connection.nodes.map(({ id }) => id)).toEqual(page.body.data.map(({ id }) => id));
    expect(connection.pageInfo).toEqual({ endCursor: page.body.nextCursor, hasNextPage: true });
  }
});
