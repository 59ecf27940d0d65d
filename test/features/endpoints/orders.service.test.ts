import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Endpoint = Resource & { path: string; priceUsd: string };
type Page = { data: Endpoint[]; nextCursor: string | null };

/** Paths and prices, in order of creation. Several endpoints have the same path or the same price. */
const ENDPOINTS = [
  ['/b', '0.02', 'GET'],
  ['/a', '0.1', 'GET'],
  ['/c', '0.02', 'GET'],
  ['/a', '0.02', 'POST'],
  ['/%C3%A9', '10', 'GET'],
  ['/a', '3', 'DELETE'],
] as const;

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  rest = await openRest(app);
  alice = await app.user('alice');
  ({ base, id: projectId } = await createProject(alice));
  for (const [path, priceUsd, method] of ENDPOINTS) {
    await createEndpoint(alice, base, { path, priceUsd, methods: [method] });
  }
});
afterAll(() => app?.stop());

const get = (query: string) => rest.send<Page>(alice, 'GET', `${base}/endpoints?${query}`);
async function all(orderBy: string, limit: number): Promise<Endpoint[]> {
  const seen: Endpoint[] = [];
  for (let after = ''; ; ) {
    const { status, body } = await get(`orderBy=${orderBy}&limit=${limit}${after && `&after=${after}`}`);
    expect(status, JSON.stringify(body)).toBe(200);
    seen.push(...body.data);
    if (!body.nextCursor) return seen;
    after = body.nextCursor;
  }
}

type Connection = { nodes: Resource[]; pageInfo: { startCursor: string; hasPreviousPage: boolean } };

async function lastBefore(orderBy: string, before: string | null): Promise<Connection> {
  const { data, errors } = await alice.graphql<{ project: { endpoints: Connection } }>(
    `query ($id: ID!, $orderBy: EndpointOrder!, $before: String) { project(id: $id) {
      endpoints(last: 2, before: $before, orderBy: $orderBy) { nodes { id } pageInfo { startCursor hasPreviousPage } } } }`,
    { id: projectId, orderBy, before },
  );
  expect(errors).toBeUndefined();
  return data!.project.endpoints;
}

test('endpoints can be sorted by path, by price, or newest first', async () => {
  const paths = (await all('PATH', 20)).map(({ path }) => path).filter((path) => path !== '/%C3%A9');
  expect(paths).toEqual(['/a', '/a', '/a', '/b', '/c']);
  expect((await all('PRICE', 20)).map(({ priceUsd }) => priceUsd)).toEqual(['10', '3', '0.1', '0.02', '0.02', '0.02']);
  expect(await all('NEWEST', 20)).toEqual((await get('')).body.data);
});

test.each(['NEWEST', 'PATH', 'PRICE'])(
  'paging by %s neither skips nor repeats any, in either direction',
  async (orderBy) => {
    const ids = (await all(orderBy, 20)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ENDPOINTS.length);
    for (const limit of [1, 2, 5]) expect((await all(orderBy, limit)).map(({ id }) => id)).toEqual(ids);
    const backward: string[] = [];
    for (let before: string | null = null; ; ) {
      const { nodes, pageInfo } = await lastBefore(orderBy, before);
      backward.unshift(...nodes.map(({ id }) => id));
      if (!pageInfo.hasPreviousPage) break;
      before = pageInfo.startCursor;
    }
    expect(backward).toEqual(ids);
  },
);

test('a page continues after an endpoint even if its price has changed', async () => {
  const { base: own } = await createProject(alice);
  for (const priceUsd of ['4', '3', '2', '1']) await createEndpoint(alice, own, { path: `/${priceUsd}`, priceUsd });
  const path = `${own}/endpoints?orderBy=PRICE&limit=2`;
  const first = await rest.send<Page>(alice, 'GET', path);
  await alice.rest('PATCH', `${own}/endpoints/${first.body.data[1]!.id}`, { priceUsd: '5' });
  const second = await rest.send<Page>(alice, 'GET', `${path}&after=${first.body.nextCursor}`);
  expect(second.body.data.map(({ path: at }) => at)).toEqual(['/2', '/1']);
});

test('a cursor for a different sort order is rejected', async () => {
  const cursors = new Map<string, string>();
  for (const orderBy of ['NEWEST', 'PATH', 'PRICE']) {
    cursors.set(orderBy, (await get(`orderBy=${orderBy}&limit=1`)).body.nextCursor!);
  }
  for (const [from, cursor] of cursors) {
    for (const orderBy of cursors.keys()) {
      const { status, body } = await get(`orderBy=${orderBy}&after=${cursor}`);
      if (from === orderBy) expect(status).toBe(200);
      else expect([status, body]).toMatchObject([422, { errors: [{ pointer: '/after' }] }]);
    }
  }
});

test.each([
  ['a NUL character', `path.${Buffer.from('/\0').toString('base64url')}`],
  ['broken UTF-8', `path.${Buffer.from([0x2f, 0xff]).toString('base64url')}`],
  ['no value', 'path.'],
])('a cursor with %s is rejected', async (_what, start) => {
  const [{ id }] = (await get('limit=1')).body.data as [Endpoint];
  const { status } = await get(`orderBy=PATH&after=${encodeURIComponent(`${start}.${id}`)}`);
  expect(status).toBe(422);
});
