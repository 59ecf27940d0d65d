import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createConnector, createProject, createWebhook, type Resource } from '../../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  alice = await app.user('alice', 'ENTERPRISE');
  ({ base, id: projectId } = await createProject(alice));
});
afterAll(() => app?.stop());

const DESTINATIONS = [
  ['a webhook', 'webhooks', (values: Record<string, unknown> = {}) => createWebhook(alice, base, values)],
  ['a connector', 'connectors', (values: Record<string, unknown> = {}) => createConnector(alice, base, values)],
] as const;

describe.each(DESTINATIONS)('the name of %s', (_what, collection, create) => {
  let path: string;
  beforeAll(async () => {
    path = `${base}/${collection}/${(await create()).id}`;
  });
  const patch = (name: unknown) => alice.rest<Resource>('PATCH', path, { name });

  test('is null until one is given, and null removes it', async () => {
    expect((await alice.rest<Resource>('GET', path)).body.name).toBeNull();
    expect(await patch('  Books, Zürich ')).toMatchObject({ status: 200, body: { name: 'Books, Zürich' } });
    expect((await alice.rest<Resource>('PATCH', path, { isPaused: false })).body.name).toBe('Books, Zürich');
    expect((await patch(null)).body.name).toBeNull();
  });

  test("can be set at creation, and doesn't have to be unique", async () => {
    expect(await create({ name: 'Twin' })).toMatchObject({ name: 'Twin' });
    expect(await create({ name: 'Twin' })).toMatchObject({ name: 'Twin' });
  });

  test('is recorded in the audit log', async () => {
    const { id } = await create({ name: 'Logged' });
    await alice.rest('PATCH', `${base}/${collection}/${id}`, { name: 'Renamed' });
    const { body } = await alice.rest<{ data: { changes: { name: string } }[] }>(
      'GET',
      `${base}/audit-log?targetId=${id}`,
    );
    expect(body.data.map(({ changes }) => changes.name)).toEqual(['Renamed', 'Logged']);
  });

  test.each([
    ['', "Can't be empty."],
    ['   ', "Can't be empty."],
    ['x'.repeat(61), 'Must be at most 60 characters.'],
    ['two\nlines', 'Must not contain control characters.'],
  ])("can't be %j", async (name, message) => {
    expect(await patch(name)).toMatchObject({
      status: 422,
      body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '/name', message }] },
    });
  });

  test('filters the list by any part of it, regardless of case and without wildcards', async () => {
    const { id } = await create({ name: '100% of Sales_EU' });
    const found = async (text: string) => {
      const query = `query ($id: ID!, $name: String!) { project(id: $id) { list: ${collection}(filter: { name: $name }) { totalCount nodes { id name } } } }`;
      const { data } = await alice.graphql(query, { id: projectId, name: text });
      return (data as { project: { list: { totalCount: number; nodes: Resource[] } } }).project.list;
    };
    for (const text of ['100% of', 'sales_eu', 'SALES']) {
      expect(await found(text), text).toEqual({ totalCount: 1, nodes: [{ id, name: '100% of Sales_EU' }] });
    }
    for (const text of ['100%Sales', 'of_Sales_EU']) expect((await found(text)).totalCount, text).toBe(0);
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/${collection}?name=of%20sales`);
    expect(body.data.map((each) => each.id)).toEqual([id]);
  });
});
