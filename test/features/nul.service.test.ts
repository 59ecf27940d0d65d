import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createConnector, createProject, createWebhook, GOOD } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let project: { id: string; base: string };

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  project = await createProject(alice);
});
afterAll(() => app?.stop());

/** Every request that compares a field with text, and the error's pointer. */
const FILTERS: [name: string, filter: object, pointer: string][] = [
  ...['eq', 'ne', 'startsWith', 'contains'].map((operator): [string, object, string] => [
    operator,
    { 'data.path': { [operator]: 'a\0b' } },
    `/filter/data.path/${operator}`,
  ]),
  ['in', { 'data.path': { in: ['/a', '\0'] } }, '/filter/data.path/in/1'],
  ['a plain value', { 'data.path': '\0' }, '/filter/data.path'],
  ['not, and, or', { not: { and: [{ or: [{ 'data.path': '\0' }] }] } }, '/filter/not/and/0/or/0/data.path'],
];

test.each(FILTERS)(
  'a NUL character in a filter is rejected with a pointer to it: %s',
  async (_name, filter, pointer) => {
    const webhook = await createWebhook(alice, project.base);
    const refused = { code: 'VALIDATION_FAILED', errors: [{ pointer, message: 'Must not contain NUL characters.' }] };
    for (const [method, path, body] of [
      ['POST', `${project.base}/webhooks`, { ...GOOD.webhook, filter }],
      ['PATCH', `${project.base}/webhooks/${webhook.id}`, { filter }],
      ['POST', `${project.base}/connectors`, { ...GOOD.connector, filter }],
    ] as const) {
      expect(await alice.rest(method, path, body)).toMatchObject({ status: 422, body: refused });
    }

    const extensions = { code: 'VALIDATION_FAILED', field: pointer, retryable: false };
    const byVariable = 'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { webhook { id } } }';
    const input = { projectId: project.id, url: GOOD.webhook.url, eventTypes: ['ALL'], filter };
    expect((await alice.graphql(byVariable, { input })).errors).toMatchObject([{ extensions }]);
  },
);

test('a NUL character in the name of a field is rejected', async () => {
  const connector = await createConnector(alice, project.base);
  const config = { ...GOOD.connector.config, '\0': null };
  for (const [method, path, body] of [
    ['PATCH', `${project.base}/connectors/${connector.id}`, { config }],
    ['POST', `${project.base}/connectors`, { ...GOOD.connector, config }],
  ] as const) {
    const message = 'Field names: Must not contain NUL characters.';
    const refused = { code: 'VALIDATION_FAILED', errors: [{ pointer: '/config', message }] };
    expect(await alice.rest(method, path, body)).toMatchObject({ status: 422, body: refused });
  }
});

test('a NUL character in a GraphQL literal is rejected', async () => {
  const text = 'description: "before\\u0000behind"';
  const webhook = `projectId: "${project.id}", url: "${GOOD.webhook.url}", eventTypes: [ALL]`;
  const { errors } = await alice.graphql(
    `mutation { createWebhook(input: { ${webhook}, ${text} }) { webhook { id } } }`,
  );
  expect(errors).toMatchObject([{ extensions: { code: 'VALIDATION_FAILED', field: '/description' } }]);
});
