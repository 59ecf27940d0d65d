import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createKey, createProject, createWebhook, EVERY_SCOPE } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice');
});
afterAll(() => app?.stop());

test('an API key cannot read or change another project, and such a request leaves its own project unchanged', async () => {
  const own = await createProject(alice, { name: 'Own' });
  const other = await createProject(alice, { name: 'Other' });
  const key = app.caller((await createKey(alice, own.base, EVERY_SCOPE)).key);
  const webhook = await createWebhook(alice, other.base);

  expect((await key.rest('GET', other.base)).status).toBe(404);
  expect((await key.rest('GET', `${other.base}/webhooks`)).status).toBe(404);
  expect((await key.rest('GET', `${other.base}/webhooks/${webhook.id}`)).status).toBe(404);
  expect((await key.rest('PATCH', other.base, { name: 'Taken' })).status).toBe(404);
  const body = { url: 'https://hooks.example.com/in', eventTypes: ['*'] };
  expect((await key.rest('POST', `${other.base}/webhooks`, body)).status).toBe(404);

  for (const { base, name } of [own, other]) expect((await alice.rest('GET', base)).body).toMatchObject({ name });
  expect((await alice.rest('GET', `${own.base}/webhooks`)).body).toMatchObject({ data: [] });
});

test('an ID of the wrong resource type is not found, and the error names the type, even if the resource belongs to someone else', async () => {
  const own = await createProject(alice);
  const bob = await app.user('bob');
  const webhook = await createWebhook(bob, (await createProject(bob)).base);
  const { status, body } = await alice.rest<{ detail: string }>('GET', `/api/projects/${webhook.id}`);
  expect({ status, detail: body.detail }).toEqual({
    status: 404,
    detail: `Not found. ${webhook.id} is the ID of a webhook, not of a project.`,
  });
  const invented = webhook.id.replace('wh_', 'key_');
  expect((await alice.rest<{ detail: string }>('GET', `${own.base}/endpoints/${invented}`)).body.detail).toBe(
    `Not found. ${invented} is the ID of an API key, not of an endpoint.`,
  );
});
