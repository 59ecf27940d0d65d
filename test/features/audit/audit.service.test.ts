import { afterAll, beforeAll, expect, test } from 'vitest';
import { schema } from '../../../src/graphql/schema.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
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
  const { body: started } = await rest.send<{ replay: { id: string } }>(alice, 'POST', `${base}/replays`, { body: {} });
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
    'testConnector',
    'testEventFilter',
    'markNoticesRead',
    'startConnectorAuthorization',
    // It creates or updates a connector, which is logged.
    'finishConnectorAuthorization',
  ];
  const withEntry = ['Project', 'Endpoint', 'Webhook', 'Connector'].flatMap((name) =>
    ['create', 'update', 'delete'].map((verb) => `${verb}${name}`),
  );
  const others = ['createReplay', 'cancelReplay', 'updateContacts'];
  const mutations = Object.keys(schema.getMutationType()!.getFields()).sort();
  expect(mutations).toEqual(
    [...withoutEntry, ...withEntry, 'createApiKey', 'revokeApiKey', 'rotateWebhookSecret', ...others].sort(),
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

test('entries can be filtered by action and target, and paged', async () => {
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
