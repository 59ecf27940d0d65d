import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../../src/graphql/schema.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  GOOD,
  WALLET,
} from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Entry = {
  id: string;
  projectId: string;
  action: string;
  targetId: string;
  actorKind: string;
  actorId: string;
  actorName: string;
  changes: Record<string, unknown>;
  client: string | null;
  isReported: boolean;
};
type Page = { data: Entry[] };

let app: TestApp;
let rest: Rest;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

const logOf = async (base: string, user: Pick<TestUser, 'token'> = alice) =>
  (await rest.send<Page>(user, 'GET', `${base}/audit-log`)).body.data;
const accountLog = async (user: Pick<TestUser, 'token'> = alice) =>
  (await rest.send<Page>(user, 'GET', '/api/audit-log?limit=100')).body.data;

test('every change to a resource is logged with its actor, action, target, and changes', async () => {
  const { base, id: projectId } = await createProject(alice);
  const endpoint = await createEndpoint(alice, base);
  const key = await createKey(alice, base);
  const webhook = await createWebhook(alice, base);
  const connector = await createConnector(alice, base);
  const change = async (method: string, path: string, body?: object) => {
    const { status } = await rest.send(alice, method, `${base}${path}`, { body });
    expect(status, `${method} ${path}`).toBeLessThan(300);
  };
  await change('PATCH', '', { name: 'Renamed' });
  await change('PATCH', `/endpoints/${endpoint.id}`, { priceUsd: '0.02' });
  await change('PATCH', `/webhooks/${webhook.id}`, { isActive: false });
  await change('POST', `/webhooks/${webhook.id}/rotate-secret`, {});
  await change('PATCH', `/connectors/${connector.id}`, { isActive: false });
  const { body: started } = await rest.send<{ replay: { id: string } }>(alice, 'POST', `${base}/replays`, {
    body: { all: true },
  });
  await change('DELETE', `/endpoints/${endpoint.id}`);
  await change('DELETE', `/keys/${key.id}`);
  await change('DELETE', `/webhooks/${webhook.id}`);
  await change('DELETE', `/connectors/${connector.id}`);
  const entries = await logOf(base);
  await change('DELETE', '');

  const told = (await accountLog()).filter((entry) => entry.projectId === projectId);
  expect(told.map(({ action, targetId }) => [action, targetId]).toReversed()).toEqual([
    ['project.created', projectId],
    ['endpoint.created', endpoint.id],
    ['api_key.created', key.id],
    ['webhook.created', webhook.id],
    ['connector.created', connector.id],
    ['project.updated', projectId],
    ['endpoint.updated', endpoint.id],
    ['webhook.updated', webhook.id],
    ['webhook.secret_rotated', webhook.id],
    ['connector.updated', connector.id],
    ['replay.created', started.replay.id],
    ['endpoint.deleted', endpoint.id],
    ['api_key.revoked', key.id],
    ['webhook.deleted', webhook.id],
    ['connector.deleted', connector.id],
    ['project.deleted', projectId],
  ]);
  expect(entries).toEqual(told.slice(1));
  for (const { actorKind, actorName } of told) expect([actorKind, actorName]).toEqual(['USER', 'alice']);
  const changesOf = (action: string) => told.find((entry) => entry.action === action)!.changes;
  expect(changesOf('endpoint.updated')).toEqual({ priceUsd: '0.02' });
  expect(changesOf('project.updated')).toEqual({ name: 'Renamed' });
  expect(changesOf('project.deleted')).toEqual({ name: 'Renamed' });
});

test('every mutation is logged, or is known to change no resource', () => {
  const withoutEntry = [
    'resendDelivery',
    'sendWebhookTestEvent',
    'recordTestEvent',
    'testConnector',
    'testEventFilter',
    'markNoticesRead',
    'startConnectorAuthorization',
    'previewImport',
    // An import creates and updates endpoints, and those changes are logged.
    'importEndpoints',
    // Finishing an authorization creates or updates a connector, and that change is logged.
    'finishConnectorAuthorization',
  ];
  const withEntry = ['Project', 'Endpoint', 'Webhook', 'Connector'].flatMap((name) =>
    ['create', 'update', 'delete'].map((verb) => `${verb}${name}`),
  );
  const members = ['updateMember', 'removeMember', 'transferProject', 'inviteMember', 'revokeInvitation'];
  const responses = ['acceptInvitation', 'declineInvitation', 'withdrawTransfer', 'acceptTransfer', 'declineTransfer'];
  const others = [
    'createReplay',
    'cancelReplay',
    'updateContacts',
    'updateBuyerRules',
    'denyBuyer',
    'allowBuyer',
    'copyProject',
    'verifyGatewayHost',
    'recordToolCall',
  ];
  // test/features/operator covers the entries of these mutations.
  const ofOperators = ['updateUser', 'blockUser', 'unblockUser', 'requeueDeliveries'];
  const mutations = Object.keys(schema.getMutationType()!.getFields()).sort();
  expect(mutations).toEqual(
    [
      ...withoutEntry,
      ...withEntry,
      'createApiKey',
      'revokeApiKey',
      'rotateUpstreamSecret',
      'rotateWebhookSecret',
      ...others,
      ...members,
      ...responses,
      ...ofOperators,
    ].sort(),
  );
});

test('an API key is logged as the actor, and can read only the log of its project', async () => {
  const { base, id: projectId } = await createProject(alice);
  await createProject(alice);
  const { id, key } = await createKey(alice, base, { name: 'deploy' });
  const program = { ...alice, token: key };
  await rest.send(program, 'POST', `${base}/endpoints`, { body: { ...GOOD.endpoint, path: '/by-key' } });
  const [entry] = await logOf(base, program);
  expect(entry).toMatchObject({
    action: 'endpoint.created',
    actorKind: 'API_KEY',
    actorId: id,
    actorName: 'deploy',
    changes: { path: '/by-key' },
  });
  expect(new Set((await accountLog(program)).map((each) => each.projectId))).toEqual(new Set([projectId]));
});

test('users cannot see the audit logs of other users', async () => {
  const mallory = await app.user('mallory');
  const { base } = await createProject(alice);
  expect((await rest.send(mallory, 'GET', `${base}/audit-log`)).status).toBe(404);
  expect(await accountLog(mallory)).toEqual([]);
});

test('a rejected or failed change is not logged', async () => {
  const { base } = await createProject(alice);
  await createEndpoint(alice, base, { path: '/taken' });
  const before = (await logOf(base)).length;
  const refused = await rest.send(alice, 'POST', `${base}/endpoints`, { body: { ...GOOD.endpoint, path: '/taken' } });
  expect(refused.status).toBe(409);
  const invalid = await rest.send(alice, 'PATCH', base, { body: { walletAddress: '0x1' } });
  expect(invalid.status).toBe(422);
  expect(await logOf(base)).toHaveLength(before);
});

test('an entry about large values takes little space', async () => {
  const { base, id: projectId } = await createProject(alice);
  const { id } = await createWebhook(alice, base, { url: 'https://hooks.example' });
  for (const letter of ['a', 'b', 'a', 'b']) {
    const body = { description: letter.repeat(1_000), url: `https://hooks.example/${letter.repeat(2_000)}` };
    expect(await rest.send(alice, 'PATCH', `${base}/webhooks/${id}`, { body })).toMatchObject({ status: 200 });
  }
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  const { rows } = await pool.query(
    `SELECT octet_length("changes"::text) + coalesce(octet_length("previous"::text), 0) AS "bytes"
     FROM "AuditEntry" WHERE "projectId" = $1 AND "action" = 'webhook.updated'`,
    [projectId],
  );
  await pool.end();
  expect(rows).toHaveLength(4);
  for (const { bytes } of rows) expect(bytes).toBeLessThan(1_500);
});

test('entries can be filtered by action and target, and are paginated', async () => {
  const { base } = await createProject(alice);
  const first = await createEndpoint(alice, base);
  await createEndpoint(alice, base);
  await rest.send(alice, 'PATCH', `${base}/endpoints/${first.id}`, { body: { priceUsd: '3' } });
  const read = async (query: string) => (await rest.send<Page>(alice, 'GET', `${base}/audit-log?${query}`)).body;
  expect((await read('action=endpoint.created')).data).toHaveLength(2);
  expect((await read(`targetId=${first.id}`)).data.map(({ action }) => action)).toEqual([
    'endpoint.updated',
    'endpoint.created',
  ]);
  expect((await read('limit=1')).data).toHaveLength(1);
});

test('the audit log contains no secrets', async () => {
  const { base } = await createProject(alice, { walletAddress: WALLET });
  const { secret } = await createWebhook(alice, base);
  const { key } = await createKey(alice, base);
  const connector = await createConnector(alice, base);
  const renewed = GOOD.connector.config.webhookUrl.replace('abcdefgh', 'hgfedcba');
  await rest.send(alice, 'PATCH', `${base}/connectors/${connector.id}`, { body: { config: { webhookUrl: renewed } } });
  const text = JSON.stringify(await logOf(base));
  for (const value of [secret, key, GOOD.connector.config.webhookUrl, renewed]) expect(text).not.toContain(value);
  expect(text).toContain('"webhookUrl":"••••');
});

test('an entry names the program that made the change, unless the name in the request is malformed', async () => {
  const { base } = await createProject(alice);
  const names = ['mcp/create_endpoint', 'deploy-script', 'a/b/c', '', '<script>', `${'x'.repeat(33)}`];
  for (const [index, name] of names.entries()) {
    const body = { ...GOOD.endpoint, path: `/by-${index}` };
    const headers = { 'tollgate-client': name };
    expect((await rest.send(alice, 'POST', `${base}/endpoints`, { body, headers })).status).toBe(201);
  }
  const clients = (await logOf(base)).map(({ client }) => client).toReversed();
  expect(clients).toEqual([null, 'mcp/create_endpoint', 'deploy-script', null, null, null, null]);
});

test('a program can record its tool calls, with arguments of limited size, and only in its own project', async () => {
  const { base, id: projectId } = await createProject(alice);
  const other = await createProject(alice);
  const { key } = await createKey(alice, base, { name: 'assistant' });
  const program = { ...alice, token: key };
  const record = (body: object, at = base) => rest.send(program, 'POST', `${at}/audit-log/tool-calls`, { body });
  expect(await record({ tool: 'list_payments', arguments: { status: ['FAILED'] } })).toMatchObject({
    status: 200,
    body: { tool: 'list_payments' },
  });
  expect((await logOf(base, program))[0]).toMatchObject({
    action: 'mcp.tool_called',
    targetId: projectId,
    actorName: 'assistant',
    changes: { tool: 'list_payments', arguments: { status: ['FAILED'] } },
  });
  for (const body of [
    { tool: 'Drop tables' },
    { tool: 'a', arguments: [] },
    { tool: 'a', arguments: { a: 'x'.repeat(2_000) } },
  ]) {
    expect((await record(body)).status, JSON.stringify(body).slice(0, 60)).toBe(422);
  }
  expect((await record({ tool: 'list_payments' }, other.base)).status).toBe(404);
  const recorded = (await logOf(base)).filter(({ action }) => action === 'mcp.tool_called');
  expect(recorded).toHaveLength(1);
  expect((await logOf(other.base)).map(({ action }) => action)).toEqual(['project.created']);
});

test('a viewer can record calls, which are marked as reported by the client, unlike the actions of the service', async () => {
  const [owner, viewer] = [await person(app, 'reported-on'), await person(app, 'reporting-viewer')];
  const { base } = await createProject(owner);
  await join(owner, base, viewer, 'VIEWER');
  const { status } = await viewer.rest('POST', `${base}/audit-log/tool-calls`, { tool: 'delete_project' });
  expect(status).toBe(200);
  const entries = (await logOf(base, owner)).map(({ action, actorName, isReported }) => [
    action,
    actorName,
    isReported,
  ]);
  expect(entries).toEqual([
    ['mcp.tool_called', 'reporting-viewer', true],
    ['invitation.accepted', 'reporting-viewer', false],
    ['invitation.created', 'reported-on', false],
    ['project.created', 'reported-on', false],
  ]);
});

test('a caller can record a limited number of calls within an hour, and others are not affected', async () => {
  const [owner, viewer] = [await person(app, 'crowded'), await person(app, 'crowding-viewer')];
  const { base, id: projectId } = await createProject(owner);
  await join(owner, base, viewer, 'VIEWER');
  const record = (user: TestUser) => user.rest('POST', `${base}/audit-log/tool-calls`, { tool: 'list_payments' });
  expect((await record(viewer)).status).toBe(200);
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  await pool.query(
    `INSERT INTO "AuditEntry" SELECT (jsonb_populate_record(entry, jsonb_build_object('id', new_id('aud')))).*
     FROM "AuditEntry" entry, generate_series(1, 999) WHERE entry."projectId" = $1 AND "action" = 'mcp.tool_called'`,
    [projectId],
  );
  await pool.end();
  const refused = await record(viewer);
  expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
  expect((await record(owner)).status).toBe(200);
});
