import { afterAll, beforeAll, expect, test } from 'vitest';
import { BODY_EXAMPLES } from '../../src/rest/body-examples.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createConnector, createEndpoint, createProject, createWebhook } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice');
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
        (await alice.rest<{ replay: { id: string } }>('POST', `${base}/replays`, {})).body.replay.id,
    };
    let url = path;
    for (const [parameter, name] of path.matchAll(/:(\w+)/g)) url = url.replace(parameter, await idOf[name!]!());
    const { status, body } = await alice.rest(method, url, BODY_EXAMPLES[operationId]);
    expect(status, JSON.stringify(body)).toBe(kind === 'create' ? 201 : 200);
  },
);
