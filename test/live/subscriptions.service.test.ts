import { createClient as createSseClient } from 'graphql-sse';
import { createClient as createSocketClient } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const WAIT = { timeout: 60_000 };
const DELIVERIES = `subscription ($projectId: ID!, $after: String, $filter: DeliveryFilter) {
  deliveryUpdated(projectId: $projectId, after: $after, filter: $filter) {
    cursor
    delivery { id status statusCode eventType event { id type } attempts { statusCode } }
  }
}`;
const EVENTS = `subscription ($projectId: ID!, $after: String, $types: [EventType!]) {
  eventRecorded(projectId: $projectId, after: $after, types: $types) { cursor event { id type data } }
}`;

type DeliveryItem = {
  cursor: string;
  delivery: { id: string; status: string; statusCode: number | null; event: { id: string }; attempts: unknown[] };
};
type EventItem = { cursor: string; event: { id: string; type: string; data: Record<string, unknown> } };
type Subscription = { query: string; variables: Record<string, unknown> };
/** The items received so far, and a way to stop. */
type Received<Item> = { items: Item[]; isOpen: () => boolean; stop: () => Promise<void> };

let receiver: Receiver;
/** Serves the API and sends deliveries. */
let here: TestApp;
/** Another process on the same database that only serves the API. */
let there: TestApp;
let alice: TestUser;

beforeAll(async () => {
  receiver = await startReceiver();
  here = await startTestApp();
  there = await startTestApp({ databaseUrl: here.databaseUrl, dataDir: here.dataDir, env: { ROLES: 'api' } });
  alice = await here.user('alice', 'ENTERPRISE');
});

afterAll(async () => {
  await there?.stop();
  await here?.stop();
  await receiver?.close();
});

async function createProject(): Promise<string> {
  const { body } = await alice.rest<{ id: string }>('POST', '/api/projects', { name: 'Shop', walletAddress: WALLET });
  return body.id;
}

async function createWebhook(projectId: string, eventTypes = ['*']): Promise<string> {
  const body = { url: `${receiver.url}/hook`, eventTypes };
  return (await alice.rest<{ id: string }>('POST', `/api/projects/${projectId}/webhooks`, body)).body.id;
}

let paths = 0;
async function createEndpoint(projectId: string): Promise<string> {
  const body = { path: `/path-${++paths}`, upstreamUrl: 'https://api.example.com', priceUsd: '0.01' };
  return (await alice.rest<{ id: string }>('POST', `/api/projects/${projectId}/endpoints`, body)).body.id;
}

function collect<Item>(
  results: AsyncIterableIterator<{ data?: unknown; errors?: unknown }>,
  dispose: () => unknown,
): Received<Item> {
  const items: Item[] = [];
  let isOpen = false;
  const done = (async () => {
    for await (const { data, errors } of results) {
      if (errors) throw new Error(JSON.stringify(errors));
      items.push(Object.values(data as Record<string, Item>)[0]!);
      isOpen = true;
    }
  })().catch(() => {});
  return {
    items,
    isOpen: () => isOpen,
    async stop() {
      await results.return?.();
      await dispose();
      await done;
    },
  };
}

/** The common client for each transport. */
const TRANSPORTS = {
  'graphql-ws'<Item>(app: TestApp, subscription: Subscription, token = alice.token): Received<Item> {
    const client = createSocketClient({
      url: `${app.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { Authorization: `Bearer ${token}` },
      retryAttempts: 0,
    });
    return collect(client.iterate(subscription), () => client.dispose());
  },
  'graphql-sse'<Item>(app: TestApp, subscription: Subscription, token = alice.token): Received<Item> {
    const headers = { authorization: `Bearer ${token}` };
    const client = createSseClient({ url: `${app.url}/graphql`, headers, retryAttempts: 0 });
    return collect(client.iterate(subscription), () => client.dispose());
  },
};

/** Creates events until the subscription sends one, because neither protocol confirms a subscription. */
async function on<Item>(received: Received<Item>, projectId: string): Promise<Received<Item>> {
  await expect
    .poll(async () => {
      await createEndpoint(projectId);
      return received.isOpen();
    }, WAIT)
    .toBe(true);
  return received;
}

const RANK = ['PENDING', 'RUNNING', 'SUCCEEDED'];

describe.each(Object.entries(TRANSPORTS))('over %s', (_name, subscribe) => {
  test('a delivery is shown in every status, in order, until it succeeds', async () => {
    const projectId = await createProject();
    await createWebhook(projectId);
    const received = subscribe<DeliveryItem>(here, { query: DELIVERIES, variables: { projectId } });
    await on(received, projectId);
    await createEndpoint(projectId);
    const latest = () => new Map(received.items.map(({ delivery }) => [delivery.id, delivery]));
    await expect
      .poll(() => [...latest().values()].at(-1), WAIT)
      .toMatchObject({ status: 'SUCCEEDED', statusCode: 200, attempts: [{ statusCode: 200 }] });
    await expect.poll(() => [...latest().values()].every(({ status }) => status === 'SUCCEEDED'), WAIT).toBe(true);
    for (const id of latest().keys()) {
      const ranks = received.items
        .filter(({ delivery }) => delivery.id === id)
        .map(({ delivery }) => RANK.indexOf(delivery.status));
      expect(ranks).toEqual([...new Set(ranks)].sort());
    }
    await received.stop();
  });

  test('changes in one process are shown by another', async () => {
    const projectId = await createProject();
    await createWebhook(projectId);
    const variables = { projectId };
    const events = subscribe<EventItem>(there, { query: EVENTS, variables });
    const deliveries = subscribe<DeliveryItem>(there, { query: DELIVERIES, variables });
    await on(events, projectId);
    await on(deliveries, projectId);
    const endpointId = await createEndpoint(projectId);
    await expect
      .poll(() => events.items.at(-1)?.event, WAIT)
      .toMatchObject({ type: 'ENDPOINT_CREATED', data: { endpointId } });
    const eventId = events.items.at(-1)!.event.id;
    await expect
      .poll(() => deliveries.items.filter(({ delivery }) => delivery.event.id === eventId).at(-1)?.delivery, WAIT)
      .toMatchObject({ status: 'SUCCEEDED' });
    await Promise.all([events.stop(), deliveries.stop()]);
  });

  test('reconnecting to another process with a cursor shows exactly the missed events', async () => {
    const projectId = await createProject();
    const first = subscribe<EventItem>(here, { query: EVENTS, variables: { projectId } });
    await on(first, projectId);
    const told = await alice.graphql<{ project: { events: { nodes: { id: string }[] } } }>(
      'query ($id: ID!) { project(id: $id) { events(first: 100) { nodes { id } } } }',
      { id: projectId },
    );
    const newest = told.data!.project.events.nodes[0]!.id;
    await expect.poll(() => first.items.at(-1)?.event.id, WAIT).toBe(newest);
    const { cursor } = first.items.at(-1)!;
    await first.stop();

    const missed = [await createEndpoint(projectId), await createEndpoint(projectId), await createEndpoint(projectId)];
    const second = subscribe<EventItem>(there, { query: EVENTS, variables: { projectId, after: cursor } });
    await expect.poll(() => second.items.length, WAIT).toBe(3);
    missed.push(await createEndpoint(projectId));
    await expect.poll(() => second.items.map(({ event }) => event.data.endpointId), WAIT).toEqual(missed);
    await second.stop();
  });

  test('an API key can subscribe to its own project', async () => {
    const projectId = await createProject();
    const { body } = await alice.rest<{ key: string }>('POST', `/api/projects/${projectId}/keys`, { name: 'Key' });
    const received = subscribe<EventItem>(here, { query: EVENTS, variables: { projectId } }, body.key);
    await on(received, projectId);
    await received.stop();
  });

  test('filters limit what a subscription sends', async () => {
    const projectId = await createProject();
    await createWebhook(projectId, ['endpoint.created']);
    const filter = { status: ['SUCCEEDED'], eventTypes: ['ENDPOINT_CREATED'] };
    const deliveries = subscribe<DeliveryItem>(here, { query: DELIVERIES, variables: { projectId, filter } });
    const variables = { projectId, types: ['ENDPOINT_PRICING_CHANGED'] };
    const events = subscribe<EventItem>(here, { query: EVENTS, variables });
    await on(deliveries, projectId);
    await expect
      .poll(async () => {
        const endpointId = await createEndpoint(projectId);
        await alice.rest('PATCH', `/api/projects/${projectId}/endpoints/${endpointId}`, { priceUsd: '0.02' });
        return events.isOpen();
      }, WAIT)
      .toBe(true);
    expect(new Set(deliveries.items.map(({ delivery }) => delivery.status))).toEqual(new Set(['SUCCEEDED']));
    expect(new Set(events.items.map(({ event }) => event.type))).toEqual(new Set(['ENDPOINT_PRICING_CHANGED']));
    await Promise.all([deliveries.stop(), events.stop()]);
  });
});
