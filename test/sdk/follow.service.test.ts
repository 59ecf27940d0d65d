import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Feed, type FollowOptions, Tollgate } from '../../packages/sdk/src/index.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { GOOD, WALLET } from '../support/resources.ts';

let app: TestApp;
let alice: TestUser;
let receiver: Receiver;
let proxy: CuttableProxy;
/** Calls the service directly, and through the proxy. */
let direct: Tollgate;
let tollgate: Tollgate;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver?.close();
  await proxy?.close();
  await app?.stop();
});

beforeEach(async () => {
  await proxy?.close();
  proxy = await startCuttableProxy(app.url);
  const account = new Tollgate({ baseUrl: app.url, token: alice.token });
  const { id: projectId } = await account.projects.create({ name: 'Shop', walletAddress: WALLET });
  direct = new Tollgate({ baseUrl: app.url, token: alice.token, projectId });
  tollgate = new Tollgate({ baseUrl: proxy.url, token: alice.token, projectId });
});

let paths = 0;
const createEndpoint = async () => (await direct.endpoints.create({ ...GOOD.endpoint, path: `/p${++paths}` })).id;

/** Collects the items of a feed until `stop`. `lost` has the reason for each reconnect. */
function collect<Item>(open: (options: FollowOptions) => Feed<Item>, options: FollowOptions = {}) {
  const items: Item[] = [];
  const lost: string[] = [];
  const controller = new AbortController();
  const ready = Promise.withResolvers<void>();
  const feed = open({
    ...options,
    signal: controller.signal,
    onReady: ready.resolve,
    onReconnect: ({ code }) => lost.push(code),
  });
  const done = (async () => {
    for await (const item of feed) items.push(item);
  })();
  return {
    items,
    lost,
    feed,
    ready: ready.promise,
    done,
    async stop() {
      controller.abort();
      await done;
    },
  };
}

const endpointIdsOf = (events: { data: object }[]) =>
  events.map(({ data }) => ('endpointId' in data ? String(data.endpointId) : ''));

test('the SDK follows events, and misses and repeats none while the connection is cut again and again', async () => {
  const events = collect((options) => tollgate.events.follow({ eventType: ['endpoint.created'] }, options));
  await events.ready;
  const created = [await createEndpoint()];
  await expect.poll(() => events.items).toHaveLength(1);
  for (let cut = 0; cut < 3; cut++) {
    proxy.cut();
    created.push(await createEndpoint(), await createEndpoint());
    proxy.mend();
    created.push(await createEndpoint());
    await expect.poll(() => endpointIdsOf(events.items)).toEqual(created);
  }
  expect(events.lost.length).toBeGreaterThanOrEqual(3);
  expect(events.items[0]).toMatchObject({ type: 'endpoint.created', projectId: expect.any(String) });
  expect(await direct.events.get(events.items[0]!.id)).toEqual(events.items[0]);
  await events.stop();
});

test('the SDK misses nothing if the connection is cut before the first item', async () => {
  await createEndpoint();
  const events = collect((options) => tollgate.events.follow({ eventType: ['endpoint.created'] }, options));
  await events.ready;
  // This second feed is opened later. Once it gets an item, the service has also opened the first subscription.
  const marker = collect((options) => tollgate.events.follow({ eventType: ['endpoint.pricing_changed'] }, options));
  const priced = await direct.endpoints.list().page();
  await expect
    .poll(async () => {
      await direct.endpoints.update(priced.data[0]!.id, { priceUsd: `0.0${1 + Math.floor(Math.random() * 9)}` });
      return marker.items.length;
    })
    .toBeGreaterThan(0);
  proxy.cut();
  const created = [await createEndpoint(), await createEndpoint()];
  proxy.mend();
  await expect.poll(() => endpointIdsOf(events.items)).toEqual(created);
  await Promise.all([events.stop(), marker.stop()]);
});

test('the SDK returns existing items first if asked to, from oldest to newest, and then the new ones', async () => {
  const created = [await createEndpoint(), await createEndpoint()];
  const events = collect((options) => tollgate.events.follow({ eventType: ['endpoint.created'] }, options), {
    includeExisting: true,
  });
  await expect.poll(() => endpointIdsOf(events.items)).toEqual(created);
  proxy.cut();
  created.push(await createEndpoint());
  proxy.mend();
  await expect.poll(() => endpointIdsOf(events.items)).toEqual(created);
  await events.stop();
});

test('the SDK continues a feed of deliveries from a cursor', async () => {
  const { id } = await direct.webhooks.create({ url: receiver.url, eventTypes: ['*'] });
  const send = async () => (await direct.webhooks.sendTestEvent(id, { eventType: 'payment.settled' })).id;
  const follow = (options: FollowOptions) => tollgate.deliveries.follow({ status: ['SUCCEEDED'] }, options);
  const first = collect(follow);
  await first.ready;
  const sent = [await send()];
  await expect.poll(() => first.items.map((delivery) => delivery.id)).toEqual(sent);
  expect(first.items[0]).toMatchObject({ eventType: 'payment.settled', status: 'SUCCEEDED', webhookId: id });
  // The first item may come from the history, which has no cursors.
  sent.push(await send());
  await expect.poll(() => first.feed.cursor).toBeDefined();
  await expect.poll(() => first.items.map((delivery) => delivery.id)).toEqual(sent);
  await first.stop();

  sent.push(await send());
  await expect.poll(() => direct.deliveries.get(sent[2]!)).toMatchObject({ status: 'SUCCEEDED' });
  const second = collect(follow, { after: first.feed.cursor! });
  await expect.poll(() => second.items.map((delivery) => delivery.id)).toEqual(sent.slice(2));
  await second.stop();
});

test('the SDK misses no events while the service restarts', async () => {
  const shared = { databaseUrl: app.databaseUrl, dataDir: app.dataDir };
  const before = await startTestApp(shared);
  const projectId = (await direct.projects.list().page()).data[0]!.id;
  const client = new Tollgate({ baseUrl: before.url, token: alice.token, projectId });
  const events = collect((options) => client.events.follow({ eventType: ['endpoint.created'] }, options));
  await events.ready;
  const created = [await createEndpoint()];
  await expect.poll(() => events.items).toHaveLength(1);
  await before.stop();
  created.push(await createEndpoint());
  const after = await startTestApp({ ...shared, env: { PORT: new URL(before.url).port } });
  created.push(await createEndpoint());
  await expect.poll(() => endpointIdsOf(events.items)).toEqual(created);
  await events.stop();
  await after.stop();
});

test('an SDK feed ends when it gets an error that waiting would not fix', async () => {
  const stranger = new Tollgate({ baseUrl: app.url, token: (await app.user('bob')).token, projectId: 'proj_none' });
  const refusal = { name: 'TollgateError', code: expect.stringMatching(/NOT_FOUND|VALIDATION_FAILED/) };
  // One feed at a time, because a feed that ends before it is awaited causes an unhandled rejection.
  const events = collect((options) => stranger.events.follow({}, options));
  await expect(events.done).rejects.toMatchObject(refusal);
  const deliveries = collect((options) => stranger.deliveries.follow({}, { ...options, after: 'x' }));
  await expect(deliveries.done).rejects.toMatchObject(refusal);
  const denied = new Tollgate({ baseUrl: app.url, apiKey: 'tg_test_wrong', projectId: 'proj_none' });
  await expect(collect((options) => denied.notices.follow(options)).done).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
  });
});

test('an SDK feed continues with a new token when the old one expires', async () => {
  const shared = { databaseUrl: app.databaseUrl, dataDir: app.dataDir };
  let aheadSeconds = 0;
  const tokenNow = () => Date.now() + aheadSeconds * 1000;
  const watchful = await startTestApp({ ...shared, credentialRecheckMilliseconds: 50, tokenNow });
  const token = () => app.issuer.sign({ subject: 'alice', tier: 'ENTERPRISE', expiresInSeconds: aheadSeconds + 600 });
  const { projectId } = (await direct.auditLog.list().page()).data[0]!;
  const client = new Tollgate({ baseUrl: watchful.url, token, projectId: projectId! });
  const events = collect((options) => client.events.follow({}, options));
  await events.ready;
  const created = [await createEndpoint()];
  // The stream is opened before the first item is looked for.
  await expect.poll(() => endpointIdsOf(events.items)).toEqual(created);
  expect(events.lost).toEqual([]);

  aheadSeconds = 3_600;
  try {
    await expect.poll(() => events.lost.length).toBeGreaterThan(0);
    created.push(await createEndpoint());
    await expect.poll(() => endpointIdsOf(events.items)).toEqual(created);
  } finally {
    await events.stop();
    await watchful.stop();
  }
});

test('leaving the loop over a feed closes its connection', async () => {
  const opened = collect((options) => tollgate.events.follow({}, options));
  await opened.ready;
  await createEndpoint();
  await expect.poll(() => opened.items.length).toBeGreaterThan(0);
  // The first item may come from the history, which has no cursors. Now the subscription is open.
  await createEndpoint();
  await expect.poll(() => opened.feed.cursor).toBeDefined();
  await opened.stop();

  await createEndpoint();
  const { projectId } = opened.items[0]!;
  const streams: AbortSignal[] = [];
  const client = new Tollgate({
    baseUrl: app.url,
    token: alice.token,
    projectId,
    fetch(url, init) {
      if (String(url).endsWith('/graphql')) streams.push(init!.signal!);
      return fetch(url, init);
    },
  });
  for await (const event of client.events.follow({}, { after: opened.feed.cursor! })) {
    expect(event.type).toBe('endpoint.created');
    expect(streams.map(({ aborted }) => aborted)).toEqual([false]);
    break;
  }
  expect(streams.map(({ aborted }) => aborted)).toEqual([true]);
});
