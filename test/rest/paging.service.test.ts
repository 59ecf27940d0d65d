import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../support/resources.ts';
import { openRest, type Rest, type RestResponse } from '../support/rest.ts';

type Page = { data: Resource[]; nextCursor: string | null };

let app: TestApp;
let rest: Rest;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());

const get = (path: string) => rest.send<Page>(alice, 'GET', path);

/** Returns the URL in `Link: <…>; rel="next"`, which must match `nextCursor`. */
function nextOf({ headers, body }: RestResponse<Page>): string | undefined {
  const next = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  expect(next === undefined).toBe(body.nextCursor === null);
  if (next) expect(new URL(next, app.url).searchParams.get('after')).toBe(body.nextCursor);
  return next;
}

async function walk(path: string, between: (page: Page, index: number) => Promise<unknown> = async () => {}) {
  const seen: string[] = [];
  let next: string | undefined = path;
  for (let index = 0; next; index++) {
    const page: RestResponse<Page> = await get(next);
    expect(page.status).toBe(200);
    seen.push(...page.body.data.map(({ id }) => id));
    await between(page.body, index);
    next = nextOf(page);
  }
  return seen;
}

async function createEndpoints(count: number) {
  const { base } = await createProject(alice);
  const ids: string[] = [];
  for (let index = 0; index < count; index++) ids.push((await createEndpoint(alice, base)).id);
  return { list: `${base}/endpoints`, base, ids };
}

test('pages list everything newest first, without gaps or duplicates', async () => {
  const { list, ids } = await createEndpoints(23);
  const newestFirst = ids.toReversed();
  expect(await walk(`${list}?limit=5`)).toEqual(newestFirst);
  expect(await walk(`${list}?limit=23`)).toEqual(newestFirst);
  expect(await walk(`${list}?limit=1`)).toEqual(newestFirst);
  expect(await walk(list)).toEqual(newestFirst);
});

test('a page has 20 items by default, and the last one has no next page, even if it is full', async () => {
  const { list, ids } = await createEndpoints(21);
  const first = await get(list);
  expect(first.body.data).toHaveLength(20);
  expect(first.body.nextCursor).toBe(ids[1]);
  expect((await get(`${list}?limit=21`)).body.nextCursor).toBeNull();
});

test('items that stay are listed exactly once while others are created and deleted', async () => {
  const { list, base, ids } = await createEndpoints(30);
  const gone = new Set<string>();
  const remove = async (id: string) => {
    gone.add(id);
    expect((await rest.send(alice, 'DELETE', `${list}/${id}`)).status).toBe(204);
  };
  const newestFirst = ids.toReversed();
  const seen = await walk(`${list}?limit=7`, async ({ data, nextCursor }, index) => {
    await createEndpoint(alice, base);
    await remove(data[1]!.id);
    // Removes the item that the cursor points to, and one on a later page.
    if (nextCursor && !gone.has(nextCursor)) await remove(nextCursor);
    const coming = newestFirst[7 * (index + 1) + 3];
    if (coming && !gone.has(coming)) await remove(coming);
  });
  expect(new Set(seen).size).toBe(seen.length);
  const stayed = newestFirst.filter((id) => !gone.has(id));
  expect(seen.filter((id) => stayed.includes(id))).toEqual(stayed);
});

describe('the page size and the cursor', () => {
  test.each(['0', '101', '-1', '+1', '1.5', '1e1', 'x', '', ' 1', '%00', '9'.repeat(30), '1&limit=2'])(
    'limit=%s is rejected with a pointer to /limit',
    async (limit) => {
      const response = await rest.send(alice, 'GET', `/api/projects?limit=${limit}`);
      expect(response).toMatchObject({
        status: 422,
        body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '/limit' }] },
      });
    },
  );

  test.each([
    '',
    'x',
    '%00',
    '%F0%9F%98%80',
    'wh_01jc9x2v5qe3w8k4m6n7p9r0st',
    'proj_01jc9x2v5qe3w8k4m6n7p9r0stx',
    'null',
  ])('after=%s is rejected with a pointer to /after', async (after) => {
    const response = await rest.send(alice, 'GET', `/api/projects?after=${after}`);
    expect(response).toMatchObject({
      status: 422,
      body: { code: 'VALIDATION_FAILED', errors: [{ pointer: '/after' }] },
    });
  });

  test("a cursor from another project, or for an item that doesn't exist, is only a position and reveals nothing", async () => {
    const { list, ids } = await createEndpoints(2);
    const other = await createEndpoints(1);
    expect((await get(`${list}?after=${other.ids[0]}`)).body.data.map(({ id }) => id)).toEqual(ids.toReversed());
    expect((await get(`${list}?after=ep_00000000000000000000000000`)).body).toEqual({ data: [], nextCursor: null });
  });
});

describe('the delivery history', () => {
  let base: string;
  let webhookId: string;
  let statuses: Record<string, string[]>;

  beforeAll(async () => {
    ({ base } = await createProject(alice));
    // Nothing is sent, because deliveries to a disabled webhook are skipped immediately.
    const webhook = await createWebhook(alice, base);
    webhookId = webhook.id;
    await rest.send(alice, 'PATCH', `${base}/webhooks/${webhookId}`, { body: { isActive: false } });
    for (let index = 0; index < 3; index++) await createEndpoint(alice, base, { path: `/priced${index}` });
    const { body } = await get(`${base}/endpoints`);
    for (const { id } of body.data) {
      await rest.send(alice, 'PATCH', `${base}/endpoints/${id}`, { body: { priceUsd: '0.5' } });
    }
    const all = await get(`${base}/deliveries`);
    const ofKind = (kind: string) => all.body.data.filter(({ eventType }) => eventType === kind).map(({ id }) => id);
    statuses = { created: ofKind('endpoint.created'), changed: ofKind('endpoint.pricing_changed') };
    expect([statuses.created!.length, statuses.changed!.length]).toEqual([3, 3]);
  });

  test('links to the next page keep the filters', async () => {
    const path = `${base}/webhooks/${webhookId}/deliveries?limit=1&eventType=endpoint.created&status=SKIPPED&since=2020-01-01T00:00:00Z`;
    expect(await walk(path)).toEqual(statuses.created);
  });

  test.each([
    ['eventType=endpoint.created', 3],
    ['eventType=endpoint.created&eventType=endpoint.pricing_changed', 6],
    ['eventType=endpoint.created,endpoint.pricing_changed', 6],
    ['eventType=payment.settled', 0],
    ['status=SKIPPED', 6],
    ['status=SUCCEEDED&status=FAILED', 0],
    ['status=SUCCEEDED,SKIPPED', 6],
    ['status=skipped&status=Failed', 6],
    ['from=2020-01-01T00:00:00Z&to=2999-01-01T00:00:00Z', 6],
    ['to=2020-01-01T00:00:00Z', 0],
    ['since=2999-01-01T00:00:00Z', 0],
    ['since=2020-01-01T00:00:00%2B14:00', 6],
  ])('%s finds %i', async (query, count) => {
    for (const list of ['deliveries', `webhooks/${webhookId}/deliveries`]) {
      expect((await get(`${base}/${list}?${query}`)).body.data).toHaveLength(count);
    }
  });

  test.each([
    ['eventType=nope', '/eventType/0'],
    ['eventType=endpoint.created,*', '/eventType/1'],
    ['eventType=', '/eventType/0'],
    ['status=succeded', '/status/0'],
    ['to=tomorrow', '/to'],
    ['status=SKIPPED&status=%00', '/status/1'],
    ['since=yesterday', '/since'],
    ['since=2026-13-01T00:00:00Z', '/since'],
    ['since=2026-01-01', '/since'],
    ['since=2026-01-01T00:00:00', '/since'],
    ['since=0000-01-01T00:00:00Z', '/since'],
    ['since=2026-01-02T03:04:05.1234567890Z', '/since'],
  ])('%s is rejected with a pointer to %s', async (query, pointer) => {
    const response = await rest.send(alice, 'GET', `${base}/deliveries?${query}`);
    expect(response).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
  });

  test('all invalid values are reported together', async () => {
    const response = await rest.send(alice, 'GET', `${base}/deliveries?status=a&eventType=b&since=c&limit=0&after=d`);
    const pointers = (response.body.errors as { pointer: string }[]).map(({ pointer }) => pointer);
    expect(pointers).toEqual(expect.arrayContaining(['/limit', '/status/0', '/eventType/0', '/since']));
  });
});
