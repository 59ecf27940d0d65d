import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createConnector, createProject, createWebhook, type Resource } from '../../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let base: string;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
  ({ base } = await createProject(alice));
});
afterAll(() => app?.stop());

const DESTINATIONS = [
  ['a webhook', 'webhooks', () => createWebhook(alice, base)],
  ['a connector', 'connectors', () => createConnector(alice, base)],
] as const;

describe.each(DESTINATIONS)('maxPerSecond of %s', (_what, collection, create) => {
  let path: string;
  beforeAll(async () => {
    path = `${base}/${collection}/${(await create()).id}`;
  });
  const patch = (maxPerSecond: unknown) => alice.rest<Resource>('PATCH', path, { maxPerSecond });

  test.each([0.01, 0.33, 0.5, 1, 20, 999.99, 1000, null])('can be %s, and is read as it was written', async (rate) => {
    expect(await patch(rate)).toMatchObject({ status: 200, body: { maxPerSecond: rate } });
    expect((await alice.rest<Resource>('GET', path)).body.maxPerSecond).toBe(rate);
  });

  test.each([
    [0, 'Must be at least 0.01.'],
    [-1, 'Must be at least 0.01.'],
    [1000.01, 'Must be at most 1000.'],
    [0.333, 'Must have at most two decimal places.'],
  ])("can't be %s", async (rate, message) => {
    expect(await patch(rate)).toMatchObject({
      status: 422,
      body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '/maxPerSecond', message }] },
    });
  });

  test("can't be text", async () => {
    expect((await patch('0.5')).status).toBe(422);
  });

  test('is a Float in GraphQL, which accepts whole numbers', async () => {
    const [type, id] = [collection === 'webhooks' ? 'Webhook' : 'Connector', path.split('/').at(-1)];
    const update = `mutation ($input: Update${type}Input!) { update${type}(input: $input) { changed: ${type.toLowerCase()} { maxPerSecond } } }`;
    for (const maxPerSecond of [2, 0.25]) {
      const { data } = await alice.graphql(update, { input: { id, maxPerSecond } });
      expect(data).toMatchObject({ [`update${type}`]: { changed: { maxPerSecond } } });
    }
  });
});
