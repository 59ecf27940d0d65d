import { afterAll, beforeAll, expect, test } from 'vitest';
import { BODY_EXAMPLES } from '../../src/rest/body-examples.ts';
import { ROUTES } from '../../src/rest/routes.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { person } from '../support/members.ts';
import { operatorsEnv } from '../support/operator.ts';
import { routeRequests } from '../support/route-requests.ts';

let app: TestApp;
let requestFor: ReturnType<typeof routeRequests>;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', NETWORKS: 'base,base-sepolia', ...operatorsEnv('alice') } });
  requestFor = routeRequests(app, await app.user('alice'), await person(app, 'bob'));
});
afterAll(() => app?.stop());

const takingBodies = ROUTES.filter(({ method }) => method === 'POST' || method === 'PATCH');

test('exactly the operations with a body have an example', () => {
  expect(Object.keys(BODY_EXAMPLES).sort()).toEqual(takingBodies.map(({ operationId }) => operationId).sort());
});

// Without a worker, nothing is sent. Testing a connector would send a request; see `test/connectors`.
test.each(takingBodies.filter(({ operationId }) => operationId !== 'testConnector'))(
  'the example for $operationId is accepted',
  async (route) => {
    const { caller, path, body: example } = await requestFor(route);
    const { status, body } = await caller.rest(route.method, path, example);
    expect(status, JSON.stringify(body)).toBe(route.kind === 'create' ? 201 : 200);
  },
);
