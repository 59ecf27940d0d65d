import { afterAll, beforeAll, expect, test } from 'vitest';
import { BODY_EXAMPLES } from '../../src/rest/body-examples.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { invite, join, person } from '../support/members.ts';
import { operatorsEnv, userIdOf } from '../support/operator.ts';
import { createConnector, createEndpoint, createProject, createWebhook } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let bob: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', NETWORKS: 'base,base-sepolia', ...operatorsEnv('alice') } });
  alice = await app.user('alice');
  bob = await person(app, 'bob');
});
afterAll(() => app?.stop());

const takingBodies = ROUTES.filter(({ method }) => method === 'POST' || method === 'PATCH');

test('exactly the operations with a body have an example', () => {
  expect(Object.keys(BODY_EXAMPLES).sort()).toEqual(takingBodies.map(({ operationId }) => operationId).sort());
});

// Without a worker, nothing is sent. Testing a connector would send a request; see `test/connectors`.
test.each(takingBodies.filter(({ operationId }) => operationId !== 'testConnector'))(
  'the example for $operationId is accepted',
  async ({ method, path, operationId, kind }) => {
    const { id: projectId, base } = await createProject(alice);
    const idOf: Record<string, () => Promise<string>> = {
      projectId: async () => projectId,
      endpointId: async () => (await createEndpoint(alice, base)).id,
      connectorId: async () => (await createConnector(alice, base)).id,
      webhookId: async () => (await createWebhook(alice, base)).id,
      async deliveryId() {
        const { id } = await createWebhook(alice, base);
        const { body } = await alice.rest<{ id: string }>('POST', `${base}/webhooks/${id}/test`, {});
        return body.id;
      },
      replayId: async () =>
        (await alice.rest<{ replay: { id: string } }>('POST', `${base}/replays`, { all: true })).body.replay.id,
      memberId: async () => (await join(alice, base, bob, 'VIEWER')).id,
      invitationId: async () => (await invite(alice, base, bob, 'VIEWER')).id,
      transferId: async () =>
        (await alice.rest<{ id: string }>('POST', `${base}/transfer`, { email: 'bob@example.com' })).body.id,
      userId: async () => userIdOf(await app.user(operationId)),
    };
    let url = path;
    for (const [parameter, name] of path.matchAll(/:(\w+)/g)) url = url.replace(parameter, await idOf[name!]!());
    const caller = /(Invitation|Transfer)$/.test(operationId) ? bob : alice;
    const { status, body } = await caller.rest(method, url, await bodyOf(operationId, base));
    expect(status, JSON.stringify(body)).toBe(kind === 'create' ? 201 : 200);
  },
);

/** The example of an operation. A project can only be transferred to one of its members. */
async function bodyOf(operationId: string, base: string): Promise<object | undefined> {
  if (operationId !== 'transferProject') return BODY_EXAMPLES[operationId];
  return { memberId: (await join(alice, base, bob, 'ADMIN')).id };
}
