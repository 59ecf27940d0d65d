import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectSocket } from '../../graphql/socket-client.ts';
import { caller, startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { join, person } from '../../support/members.ts';
import { operatorsEnv, userIdOf } from '../../support/operator.ts';
import { startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createKey, createProject, createWebhook } from '../../support/resources.ts';
import { type ServiceNode, startServiceNode } from '../../support/service-node.ts';

/** The error message for members of a blocked account's project. It doesn't include the operator's reason. */
const OWNER_BLOCKED =
  'The operator has blocked the account of this project’s owner, blocked-owner, so nobody can use the project. ' +
  'Your own account isn’t blocked. Ask the owner to contact the operator.';
const REASON = 'Unpaid invoice. Write to the billing team.';

const HOUR_MILLISECONDS = 3_600_000;

let app: TestApp;
/** Another process on the same database. */
let node: ServiceNode;
/** Like another process on the same database, but its streams end only because of notifications, as those of `app` do. */
let other: TestApp;

let olga: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: operatorsEnv('olga'), credentialRecheckMilliseconds: HOUR_MILLISECONDS });
  const { databaseUrl, dataDir } = app;
  node = await startServiceNode({ role: 'api', databaseUrl, dataDir });
  other = await startTestApp({
    databaseUrl,
    dataDir,
    env: { ROLES: 'api' },
    credentialRecheckMilliseconds: HOUR_MILLISECONDS,
  });
  olga = await app.user('olga');
});
afterAll(async () => {
  await other?.stop();
  await node?.end();
  await app?.stop();
});

const block = (id: string, reason = REASON) => olga.rest('POST', `/api/operator/users/${id}/block`, { reason });
const unblock = (id: string) => olga.rest('POST', `/api/operator/users/${id}/unblock`);

/** The same caller in this process and in the other one. */
const everywhere = ({ token }: TestUser) => [caller(app.url, '', token), caller(node.url, '', token)];

test('a new tier applies to the next request in every process', async () => {
  const user = await app.user('climber', 'PRO');
  const id = await userIdOf(user);
  const policies = () =>
    Promise.all(
      everywhere(user).map(async (one) => (await one.rest('GET', '/api/projects')).headers.get('ratelimit-policy')),
    );
  expect(await policies()).toEqual(['"default";q=300;w=60', '"default";q=300;w=60']);
  await olga.rest('PATCH', `/api/operator/users/${id}`, { tier: 'ENTERPRISE', requestsPerMinute: 1234 });
  expect(await policies()).toEqual(['"default";q=1234;w=60', '"default";q=1234;w=60']);
});

test('a blocked account gets 403 with the reason in every process, for its tokens and its API keys, until it is unblocked', async () => {
  const user = await app.user('blocked');
  const id = await userIdOf(user);
  const { base } = await createProject(user);
  const key = app.caller((await createKey(user, base)).key);
  const callers = [...everywhere(user), ...everywhere(key)];
  expect((await block(id)).status).toBe(200);

  for (const one of callers) {
    const { status, body } = await one.rest<Record<string, unknown>>('GET', base);
    expect([status, body]).toMatchObject([403, { code: 'ACCOUNT_BLOCKED', detail: expect.stringContaining(REASON) }]);
    const { errors } = await one.graphql('{ projects { nodes { id } } }');
    expect(errors).toMatchObject([
      { message: expect.stringContaining(REASON), extensions: { code: 'ACCOUNT_BLOCKED' } },
    ]);
  }
  expect((await olga.rest('GET', `/api/operator/users/${id}`)).body).toMatchObject({
    blockedReason: REASON,
    blockedAt: expect.any(String),
  });
  expect((await unblock(id)).status).toBe(200);
  for (const one of callers) expect((await one.rest('GET', base)).status).toBe(200);
});

test('a block closes the account’s sockets and event streams in every process, and no others', async () => {
  const user = await app.user('connected');
  const id = await userIdOf(user);
  const { base, id: projectId } = await createProject(user);
  const { key } = await createKey(user, base);
  const urls = [app.url, other.url];
  const sockets = await Promise.all(urls.flatMap((url) => [user.token, key].map((token) => connectSocket(url, token))));
  const others = await Promise.all(urls.map((url) => connectSocket(url, olga.token)));
  const query = `subscription { eventRecorded(projectId: "${projectId}") { cursor } }`;
  const streams = await Promise.all(
    urls.map((url) =>
      fetch(`${url}/graphql`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${user.token}`,
          accept: 'text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ query }),
      }),
    ),
  );
  await block(id);
  for (const socket of sockets) expect(await socket.closed).toMatchObject({ code: 4403 });
  for (const stream of streams) await expect(stream.text()).rejects.toThrow('terminated');
  for (const { socket } of others) expect(socket.readyState).toBe(socket.OPEN);
  for (const socket of others) await socket.close();

  await expect(connectSocket(node.url, user.token)).rejects.toThrow('4403');
});

test('deliveries of a blocked account continue, because they report what buyers have paid for', async () => {
  const user = await app.user('supplier');
  const id = await userIdOf(user);
  const { base } = await createProject(user);
  const held = Promise.withResolvers<{ statusCode: number }>();
  await using receiver = await startReceiver(() => held.promise);
  await createWebhook(user, base, { url: receiver.url, retrySchedule: 'SHORT' });
  await createEndpoint(user, base);
  await receiver.waitFor(1);
  await block(id);
  receiver.handle(() => ({ statusCode: 204 }));
  held.resolve({ statusCode: 500 });
  await receiver.waitFor(2);
  await unblock(id);
  const statuses = async () =>
    (await user.rest<{ data: { status: string; attemptCount: number }[] }>('GET', `${base}/deliveries`)).body.data;
  await expect.poll(statuses).toMatchObject([{ status: 'SUCCEEDED', attemptCount: 2 }]);
});

test('an operator resends an account’s failed deliveries, even if the account is blocked', async () => {
  const user = await app.user('backlogged');
  const id = await userIdOf(user);
  const { base } = await createProject(user);
  await using receiver = await startReceiver(() => ({ statusCode: 410 }));
  await createWebhook(user, base, { url: receiver.url });
  await createEndpoint(user, base);
  const statuses = async () =>
    (await user.rest<{ data: { status: string }[] }>('GET', `${base}/deliveries`)).body.data.map(
      ({ status }) => status,
    );
  await expect.poll(statuses).toEqual(['FAILED']);
  // The response 410 also disabled the webhook.
  const { body: webhooks } = await user.rest<{ data: { id: string }[] }>('GET', `${base}/webhooks`);
  await user.rest('PATCH', `${base}/webhooks/${webhooks.data[0]!.id}`, { isActive: true });
  receiver.handle(() => ({ statusCode: 204 }));
  await block(id);
  const { status, body } = await olga.rest('POST', `/api/operator/users/${id}/requeue`, {});
  expect([status, body]).toEqual([200, { total: 1, replayCount: 1 }]);
  await receiver.waitFor(2);
  await unblock(id);
  await expect.poll(statuses).toEqual(['SUCCEEDED']);
});

test('blocking a user again changes only the reason', async () => {
  const id = await userIdOf(await app.user('twice'));
  const first = (await block(id)).body as { blockedAt: string };
  expect((await block(id, 'Something else.')).body).toMatchObject({
    blockedAt: first.blockedAt,
    blockedReason: 'Something else.',
  });
});

test('nobody can use a blocked account’s projects through a membership, until it is unblocked', async () => {
  const owner = await person(app, 'blocked-owner', 'ENTERPRISE');
  const member = await person(app, 'member-of-blocked', 'ENTERPRISE');
  const id = await userIdOf(owner);
  const { base } = await createProject(owner);
  await join(owner, base, member, 'ADMIN');
  const own = await createProject(member);
  const { id: webhookId } = await createWebhook(owner, base);
  const socket = await connectSocket(app.url, member.token);
  await block(id);
  for (const one of everywhere(member)) {
    const test = await one.rest('POST', `${base}/webhooks/${webhookId}/test`, { eventType: 'endpoint.created' });
    const reading = await one.rest('GET', base);
    const search = await one.rest<{ data: unknown[] }>('GET', `/api/search?q=${webhookId}`);
    for (const { status, body } of [test, reading]) {
      expect([status, body]).toMatchObject([403, { code: 'ACCOUNT_BLOCKED', detail: OWNER_BLOCKED }]);
    }
    expect(search.body.data).toEqual([]);
    expect((await one.rest('GET', own.base)).status).toBe(200);
  }
  const query = 'query ($id: ID!) { project(id: $id) { id } }';
  const asked = await member.graphql(query, { id: base.split('/').at(-1)! });
  expect(asked).toMatchObject({ errors: [{ message: OWNER_BLOCKED, extensions: { code: 'ACCOUNT_BLOCKED' } }] });
  expect((await (await app.user('stranger-of-blocked')).rest('GET', base)).status).toBe(404);
  expect((await socket.closed).code).toBe(1012);
  await unblock(id);
  for (const one of everywhere(member)) expect((await one.rest('GET', base)).status).toBe(200);
});
