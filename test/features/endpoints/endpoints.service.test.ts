import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createEndpoint, createProject, createWebhook, GOOD, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Event = Resource & { type: string; data: Record<string, unknown> };

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
});

/** Returns the events of the project, oldest first. */
async function events(type?: string): Promise<Event[]> {
  const path = `${base}/events?limit=100${type ? `&eventType=${type}` : ''}`;
  return (await rest.send<{ data: Event[] }>(alice, 'GET', path)).body.data.toReversed();
}
const patch = (id: string, body: object) => rest.send<Resource>(alice, 'PATCH', `${base}/endpoints/${id}`, { body });

describe("an endpoint's price", () => {
  test.each([
    ['0.01', '0.01'],
    ['0.010', '0.01'],
    ['1', '1'],
    ['1.000000', '1'],
    ['0.000001', '0.000001'],
    ['999999999999.999999', '999999999999.999999'],
  ])('written as %s is stored exactly and shown as %s', async (written, shown) => {
    const created = await createEndpoint(alice, base, { priceUsd: written });
    expect(created.priceUsd).toBe(shown);
    const { body } = await rest.send(alice, 'GET', `${base}/endpoints/${created.id}`);
    expect(body.priceUsd).toBe(shown);
  });
});

describe("the query of an endpoint's upstream URL", () => {
  const parameters = (count: number, name = 'p') => Array.from({ length: count }, (_, i) => `${name}${i}=1`).join('&');
  const MANY = `https://api.example.com/?${parameters(51)}`;

  test.each([
    [`https://api.example.com/?${parameters(50)}`, 201],
    [MANY, 422],
    [`https://api.example.com/?a${'%5B'.repeat(200)}=1`, 201],
    [`https://api.example.com/?a${'%5B'.repeat(201)}=1`, 422],
  ])('has at most 50 parameters and 200 dots and brackets (%#)', async (upstreamUrl, status) => {
    const body = { ...GOOD.endpoint, upstreamUrl };
    expect((await rest.send(alice, 'POST', `${base}/endpoints`, { body })).status).toBe(status);
  });

  test('can stay as it is if it was saved with more', async () => {
    const { id } = await createEndpoint(alice, base, {});
    await pool.query('UPDATE "Endpoint" SET "upstreamUrl" = $2 WHERE id = $1', [id, MANY]);
    expect(await patch(id, { priceUsd: '0.02' })).toMatchObject({ status: 200, body: { upstreamUrl: MANY } });
  });
});

describe("an endpoint's path", () => {
  test.each([
    ['/ab', '/%61b'],
    ['/~user', '/%7euser'],
    ['/caf%C3%A9', '/caf%c3%a9'],
    ['/same', '/same'],
  ])('%s conflicts with %s', async (first, second) => {
    await createEndpoint(alice, base, { path: first });
    const response = await rest.send(alice, 'POST', `${base}/endpoints`, { body: { ...GOOD.endpoint, path: second } });
    expect(response).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', errors: [{ pointer: '/path' }, { pointer: '/methods' }] },
    });
    expect(await events()).toHaveLength(1);
  });

  test('cannot be changed to one that is taken, and nothing else in the same request is changed', async () => {
    await createEndpoint(alice, base, { path: '/taken' });
    const { id } = await createEndpoint(alice, base, { path: '/free', priceUsd: '1' });
    const response = await patch(id, { path: '/taken', priceUsd: '2', description: 'x' });
    expect(response).toMatchObject({ status: 409, body: { errors: [{ pointer: '/path' }, { pointer: '/methods' }] } });
    const { body } = await rest.send(alice, 'GET', `${base}/endpoints/${id}`);
    expect(body).toMatchObject({ path: '/free', priceUsd: '1', description: null });
    expect(await events('endpoint.pricing_changed')).toEqual([]);
  });

  test('can be used in another project, kept in a change, and used again after deletion', async () => {
    const { id } = await createEndpoint(alice, base, { path: '/x' });
    const other = await createProject(alice);
    await createEndpoint(alice, other.base, { path: '/x' });
    expect((await patch(id, { path: '/x', description: 'same path' })).status).toBe(200);
    await rest.send(alice, 'DELETE', `${base}/endpoints/${id}`);
    await createEndpoint(alice, base, { path: '/x' });
  });

  test('is given to only one of twenty concurrent requests', async () => {
    const ask = () => rest.send(alice, 'POST', `${base}/endpoints`, { body: { ...GOOD.endpoint, path: '/wanted' } });
    const statuses = (await Promise.all(Array.from({ length: 20 }, ask))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, ...Array(19).fill(409)]);
    expect(await events('endpoint.created')).toHaveLength(1);
  });
});

describe('endpoint.created', () => {
  test('is recorded once with the endpoint, and delivered to each subscribed webhook', async () => {
    const webhooks = [
      await createWebhook(alice, base),
      await createWebhook(alice, base, { eventTypes: ['endpoint.created'] }),
    ];
    await createWebhook(alice, base, { eventTypes: ['endpoint.pricing_changed'] });
    const created = await createEndpoint(alice, base, { path: '/a', description: 'A' });
    const recorded = await events();
    expect(recorded).toMatchObject([
      {
        type: 'endpoint.created',
        version: 1,
        test: false,
        projectId,
        data: {
          endpointId: created.id,
          path: '/a',
          upstreamUrl: GOOD.endpoint.upstreamUrl,
          priceUsd: '0.01',
          description: 'A',
        },
      },
    ]);
    const { body } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/deliveries`);
    expect(body.data.map(({ webhookId }) => webhookId).sort()).toEqual(webhooks.map(({ id }) => id).sort());
    expect(new Set(body.data.map(({ eventId }) => eventId))).toEqual(new Set([recorded[0]!.id]));
  });
});

describe('forwarded headers', () => {
  test('are empty by default, can be replaced and emptied, and are in the audit log', async () => {
    const { id, forwardedHeaders } = await createEndpoint(alice, base, { path: '/a' });
    expect(forwardedHeaders).toEqual([]);
    const listed = await createEndpoint(alice, base, { path: '/b', forwardedHeaders: ['X-A', 'x-a', 'x-b'] });
    expect(listed.forwardedHeaders).toEqual(['x-a', 'x-b']);
    expect((await patch(id, { forwardedHeaders: ['X-C'] })).body.forwardedHeaders).toEqual(['x-c']);
    expect((await patch(id, { path: '/c' })).body.forwardedHeaders).toEqual(['x-c']);
    expect((await patch(id, { forwardedHeaders: [] })).body.forwardedHeaders).toEqual([]);
    const { data } = await alice.graphql<{
      project: { auditLog: { nodes: { changes: object; previous: object }[] } };
    }>('query ($id: ID!) { project(id: $id) { auditLog(first: 3) { nodes { changes previous } } } }', {
      id: projectId,
    });
    expect(data!.project.auditLog.nodes).toMatchObject([
      { changes: { forwardedHeaders: [] }, previous: { forwardedHeaders: ['x-c'] } },
      { changes: { path: '/c' } },
      { changes: { forwardedHeaders: ['x-c'] }, previous: { forwardedHeaders: [] } },
    ]);
  });

  test.each([
    [['x-fine', 'X-Forwarded-For'], '/forwardedHeaders/1'],
    [['x_a'], '/forwardedHeaders/0'],
    [[1], '/forwardedHeaders/0'],
    [null, '/forwardedHeaders'],
    ['x-a', '/forwardedHeaders'],
    [Array.from({ length: 33 }, (_, index) => `x-${index}`), '/forwardedHeaders'],
  ])('cannot be %j', async (forwardedHeaders, pointer) => {
    const { id } = await createEndpoint(alice, base, { path: '/a' });
    const { status, body } = await patch(id, { forwardedHeaders });
    expect(status).toBe(422);
    expect((body as unknown as { errors: object[] }).errors).toMatchObject([{ pointer }]);
  });
});

describe('endpoint.pricing_changed', () => {
  test('is recorded once, with the old and the new price', async () => {
    const { id } = await createEndpoint(alice, base, { path: '/a', priceUsd: '0.5' });
    await patch(id, { priceUsd: '0.75', path: '/b' });
    expect(await events('endpoint.pricing_changed')).toMatchObject([
      { data: { endpointId: id, path: '/b', previousPriceUsd: '0.5', priceUsd: '0.75' } },
    ]);
  });

  test.each<[string, object]>([
    ['the same price', { priceUsd: '0.5' }],
    ['the same price with other digits', { priceUsd: '0.500000' }],
    ['another description', { description: 'x' }],
    ['another path', { path: '/elsewhere' }],
    ['an empty change', {}],
    ['disabling the endpoint', { isActive: false }],
  ])('is not recorded for %s', async (_name, change) => {
    const { id } = await createEndpoint(alice, base, { priceUsd: '0.5' });
    expect((await patch(id, change)).status).toBe(200);
    expect(await events('endpoint.pricing_changed')).toEqual([]);
  });

  test('reports the price that each of twenty concurrent changes replaced', async () => {
    const { id } = await createEndpoint(alice, base, { priceUsd: '100' });
    const prices = Array.from({ length: 20 }, (_, index) => String(index + 1));
    const responses = await Promise.all(prices.map((priceUsd) => patch(id, { priceUsd })));
    expect(responses.map(({ status, body }) => [status, body.priceUsd])).toEqual(prices.map((price) => [200, price]));

    const changes = (await events('endpoint.pricing_changed')).map(({ data }) => data);
    expect(changes.map(({ priceUsd }) => priceUsd).toSorted()).toEqual(prices.toSorted());
    let current = '100';
    for (const { previousPriceUsd, priceUsd } of changes) {
      expect(previousPriceUsd).toBe(current);
      current = priceUsd as string;
    }
    const { body } = await rest.send(alice, 'GET', `${base}/endpoints/${id}`);
    expect(body.priceUsd).toBe(current);
  });
});

describe('a change and its event are one transaction', () => {
  async function withTrigger<T>(table: string, run: () => Promise<T>): Promise<T> {
    await pool.query(`
      CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
      CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON "${table}" DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse()`);
    try {
      return await run();
    } finally {
      await pool.query(`DROP TRIGGER refuse ON "${table}"`);
    }
  }
  const counts = async () => ({
    events: (await events()).length,
    endpoints: (await rest.send<{ data: [] }>(alice, 'GET', `${base}/endpoints`)).body.data.length,
    deliveries: (await rest.send<{ data: [] }>(alice, 'GET', `${base}/deliveries`)).body.data.length,
  });

  test.each(['Event', 'Endpoint', 'Delivery'])('nothing is stored when the commit fails on %s', async (table) => {
    await createWebhook(alice, base);
    const { id } = await createEndpoint(alice, base, { path: '/first', priceUsd: '1' });
    const before = await counts();
    await withTrigger(table, async () => {
      const created = await alice.rest('POST', `${base}/endpoints`, { ...GOOD.endpoint, path: '/second' });
      const changed = await alice.rest('PATCH', `${base}/endpoints/${id}`, { priceUsd: '2' });
      for (const { status, body } of [created, changed]) {
        expect(status).toBe(500);
        expect(JSON.stringify(body)).not.toContain('refused');
      }
    });
    expect(await counts()).toEqual(before);
    expect((await rest.send(alice, 'GET', `${base}/endpoints/${id}`)).body.priceUsd).toBe('1');
  });

  test('a rejected change records nothing', async () => {
    const { id } = await createEndpoint(alice, base, { path: '/first', priceUsd: '1' });
    for (const body of [{ priceUsd: '-1' }, { priceUsd: '2', path: 'x' }, { priceUsd: '2', colour: 'red' }]) {
      expect((await patch(id, body)).status).toBe(422);
    }
    expect(await events()).toHaveLength(1);
  });
});

test("null or spaces remove an endpoint's description", async () => {
  const { id } = await createEndpoint(alice, base, { description: 'x' });
  expect((await patch(id, { description: null })).body.description).toBeNull();
  await patch(id, { description: 'y' });
  expect((await patch(id, { description: '  ' })).body.description).toBeNull();
});
