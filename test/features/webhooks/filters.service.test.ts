import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import {
  createConnector,
  createEndpoint,
  createProject,
  createWebhook,
  type Resource,
} from '../../support/resources.ts';

type Delivery = Resource & { status: string; reason: string | null; eventId: string };

const PAID = { 'data.priceUsd': { gte: '1.00' } };

let app: TestApp;
let alice: TestUser;
let base: string;
let receiver: Receiver;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());
beforeEach(async () => {
  receiver = await startReceiver();
  ({ base } = await createProject(alice));
  return () => receiver.close();
});

const deliveriesOf = async (path: string) =>
  (await alice.rest<{ data: Delivery[] }>('GET', `${path}/deliveries`)).body.data;
const eventsOf = async (path: string) => (await alice.rest<{ data: Resource[] }>('GET', `${path}/events`)).body.data;
const filteredOut = async (path: string) =>
  (await alice.rest<{ filteredOut: unknown[] }>('GET', `${path}/delivery-stats`)).body.filteredOut;
const bodies = () => receiver.requests.map(({ body }) => JSON.parse(body.toString()));

describe('a webhook with a filter', () => {
  test('gets only matching events, and the other events list it as filtered out', async () => {
    const { id, filter } = await createWebhook(alice, base, { url: receiver.url, filter: PAID });
    const all = await createWebhook(alice, base);
    expect(filter).toEqual(PAID);
    await createEndpoint(alice, base, { priceUsd: '0.99' });
    await createEndpoint(alice, base, { priceUsd: '10' });
    await receiver.waitFor(1);
    expect(bodies()).toMatchObject([{ data: { priceUsd: '10' } }]);
    const [matching, other] = await eventsOf(base);
    expect((await deliveriesOf(`${base}/webhooks/${id}`)).map(({ eventId }) => eventId)).toEqual([matching!.id]);
    expect(await deliveriesOf(`${base}/webhooks/${all.id}`)).toHaveLength(2);
    expect(matching).toMatchObject({ filteredOut: [], data: { priceUsd: '10' } });
    expect(other).toMatchObject({ filteredOut: [id], data: { priceUsd: '0.99' } });
    expect(await filteredOut(base)).toEqual([{ destinationId: id, count: 1 }]);
  });

  test('gets test events even if they do not match', async () => {
    const { id } = await createWebhook(alice, base, { url: receiver.url, filter: { 'data.asset': 'EURC' } });
    await alice.rest('POST', `${base}/webhooks/${id}/test`, { eventType: 'payment.settled' });
    expect((await receiver.waitFor(1))[0]!.body.toString()).toContain('"asset":"USDC"');
  });

  test('keeps the filter until it is changed or set to null', async () => {
    const { id } = await createWebhook(alice, base, { filter: PAID });
    const patch = async (body: object) =>
      (await alice.rest<Resource>('PATCH', `${base}/webhooks/${id}`, body)).body.filter;
    expect(await patch({ description: 'x' })).toEqual(PAID);
    expect(await patch({ filter: { type: 'payment.settled' } })).toEqual({ type: 'payment.settled' });
    expect(await patch({ filter: null })).toBeNull();
  });

  test.each(['POST', 'PATCH'])(
    'is rejected by %s with a pointer to the field if the filter is invalid',
    async (method) => {
      const { id, url, eventTypes } = await createWebhook(alice, base);
      const path = method === 'POST' ? `${base}/webhooks` : `${base}/webhooks/${id}`;
      const response = await alice.rest(method, path, { url, eventTypes, filter: { or: [{ 'data.amout/usd': '1' }] } });
      const error = { pointer: '/filter/or/0/data.amout~1usd', message: expect.stringContaining('data.amout/usd') };
      expect(response).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors: [error] } });
    },
  );
});

test('a connector can have a filter, and events that do not match it list the connector', async () => {
  const fields = { type: 'n8n', config: { webhookUrl: 'https://n8n.example.com/webhook/a' }, filter: PAID };
  const { id, filter } = await createConnector(alice, base, fields);
  expect(filter).toEqual(PAID);
  await createEndpoint(alice, base, { priceUsd: '0.5' });
  expect(await deliveriesOf(`${base}/connectors/${id}`)).toEqual([]);
  expect(await eventsOf(base)).toMatchObject([{ filteredOut: [id] }]);
  expect(await filteredOut(base)).toEqual([{ destinationId: id, count: 1 }]);
  const cleared = await alice.rest<Resource>('PATCH', `${base}/connectors/${id}`, { filter: null });
  expect(cleared.body.filter).toBeNull();
  expect((await alice.rest('PATCH', `${base}/connectors/${id}`, { filter: {} })).status).toBe(422);
});

test('a disabled webhook gets a skipped delivery even for events that its filter excludes', async () => {
  const { id } = await createWebhook(alice, base, { filter: PAID });
  await alice.rest('PATCH', `${base}/webhooks/${id}`, { isActive: false });
  await createEndpoint(alice, base, { priceUsd: '0.5' });
  expect(await deliveriesOf(`${base}/webhooks/${id}`)).toMatchObject([{ status: 'SKIPPED', reason: 'disabled' }]);
  expect(await eventsOf(base)).toMatchObject([{ filteredOut: [] }]);
  expect(await filteredOut(base)).toEqual([]);
});

describe('testing an event filter', () => {
  const QUERY = `mutation ($input: TestEventFilterInput!) {
    testEventFilter(input: $input) { results { eventType eventId matches } }
  }`;

  test('evaluates the sample of every event type, and sends nothing', async () => {
    await createWebhook(alice, base, { url: receiver.url });
    const filter = { 'data.stage': { exists: true } };
    const { status, body } = await alice.rest('POST', `${base}/events/test-filter`, { filter });
    const results = EVENT_TYPES.map((eventType) => ({
      eventType,
      eventId: null,
      matches: eventType === 'payment.failed',
    }));
    expect({ status, body }).toEqual({ status: 200, body: { results } });
    expect((await alice.rest<{ data: unknown[] }>('GET', `${base}/events`)).body.data).toEqual([]);
  });

  test('evaluates a recorded event, over GraphQL and REST', async () => {
    await createEndpoint(alice, base, { priceUsd: '2' });
    const [event] = (await alice.rest<{ data: Resource[] }>('GET', `${base}/events`)).body.data;
    for (const [filter, matches] of [
      [PAID, true],
      [{ not: PAID }, false],
    ] as const) {
      const input = { filter, eventId: event!.id };
      const over = await alice.rest('POST', `${base}/events/test-filter`, input);
      expect(over.body).toEqual({ results: [{ eventType: 'endpoint.created', eventId: event!.id, matches }] });
      const { data } = await alice.graphql(QUERY, { input: { ...input, projectId: base.split('/').at(-1) } });
      const result = { eventType: 'ENDPOINT_CREATED', eventId: event!.id, matches };
      expect(data).toEqual({ testEventFilter: { results: [result] } });
    }
  });

  test('evaluates the latest events, newest first, without test events', async () => {
    const { id } = await createWebhook(alice, base, { url: receiver.url });
    for (const priceUsd of ['0.5', '2', '3']) await createEndpoint(alice, base, { priceUsd });
    await alice.rest('POST', `${base}/webhooks/${id}/test`, {});
    const ids = (await eventsOf(base)).slice(-3).map((event) => event.id);
    const tested = async (latest: number) =>
      (await alice.rest<{ results: unknown[] }>('POST', `${base}/events/test-filter`, { filter: PAID, latest })).body;
    const all = [true, true, false].map((matches, index) => ({
      eventType: 'endpoint.created',
      eventId: ids[index],
      matches,
    }));
    expect(await tested(50)).toEqual({ results: all });
    expect(await tested(2)).toEqual({ results: all.slice(0, 2) });
  });

  test('returns 404 for an event from another project', async () => {
    const other = await createProject(alice);
    await createEndpoint(alice, other.base);
    const [event] = (await alice.rest<{ data: Resource[] }>('GET', `${other.base}/events`)).body.data;
    const response = await alice.rest('POST', `${base}/events/test-filter`, { filter: PAID, eventId: event!.id });
    expect(response.status).toBe(404);
  });

  test.each([
    [{}, 422],
    [{ filter: null }, 422],
    [{ filter: { 'data.nope': 1 } }, 422],
    [{ filter: PAID, eventId: 'evt_nope' }, 404],
    [{ filter: PAID, latest: 0 }, 422],
    [{ filter: PAID, latest: 51 }, 422],
    [{ filter: PAID, latest: 1, eventId: 'evt_nope' }, 422],
  ])('is rejected with the input %j', async (body, expected) => {
    const { status } = await alice.rest('POST', `${base}/events/test-filter`, body);
    expect(status).toBe(expected);
  });
});
