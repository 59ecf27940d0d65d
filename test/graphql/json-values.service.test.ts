import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, GOOD } from '../support/resources.ts';

/** Some executors take any object with a field of this name for a promise. */
const THEN = 'then';

let app: TestApp;
let receiver: Receiver;
let alice: TestUser;
let project: { id: string; base: string };

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api,worker' } });
  receiver = await startReceiver(() => ({ headers: { [THEN]: 'ignored', 'x-note': 'kept' } }));
  alice = await app.user('alice', 'ENTERPRISE');
  project = await createProject(alice);
});

afterAll(async () => {
  await app?.stop();
  await receiver?.close();
});

test('JSON with a field called `then` is returned like any other, in REST and in GraphQL', async () => {
  const example = { [THEN]: { [THEN]: 'x' }, other: [{ [THEN]: 1 }] };
  const { id, exampleResponse } = await createEndpoint(alice, project.base, { exampleResponse: example });
  expect(exampleResponse).toEqual(example);

  const list = await alice.rest<{ data: object[] }>('GET', `${project.base}/endpoints`);
  expect(list).toMatchObject({ status: 200, body: { data: [{ id, exampleResponse: example }] } });

  const { data, errors } = await alice.graphql<{ node: object }>(
    'query ($id: ID!) { node(id: $id) { ... on Endpoint { exampleResponse } } }',
    { id },
  );
  expect(errors).toBeUndefined();
  expect(data!.node).toEqual({ exampleResponse: example });
});

test('a receiver can’t hide its attempts with a response header called `then`', async () => {
  type Delivery = { id: string; status: string; attempts: { responseHeaders: object }[] };
  await createWebhook(alice, project.base, { url: receiver.url, headers: [{ name: THEN, value: 'a long secret' }] });
  await createEndpoint(alice, project.base, { path: '/other' });
  const deliveries = () => alice.rest<{ data: Delivery[] }>('GET', `${project.base}/deliveries`);
  await expect.poll(async () => (await deliveries()).body.data[0]?.status).toBe('SUCCEEDED');
  const { id } = (await deliveries()).body.data[0]!;

  const { status, body } = await alice.rest<Delivery>('GET', `${project.base}/deliveries/${id}`);
  expect(status).toBe(200);
  expect(body.attempts).toMatchObject([{ responseHeaders: { [THEN]: 'ignored', 'x-note': 'kept' } }]);
});

test('an operation’s fields can be called `then`', async () => {
  expect(await alice.graphql(`{ ${THEN}: __typename }`)).toMatchObject({ data: { [THEN]: 'Query' } });
  const created = await alice.graphql<Record<string, { project: object }>>(
    `mutation ($input: CreateProjectInput!) { ${THEN}: createProject(input: $input) { ${THEN}: project { ${THEN}: name } } }`,
    { input: { ...GOOD.project, name: 'Aliases' } },
  );
  expect(created).toMatchObject({ data: { [THEN]: { [THEN]: { [THEN]: 'Aliases' } } } });
});
