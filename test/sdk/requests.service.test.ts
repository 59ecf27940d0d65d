import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Tollgate, TollgateError } from '../../packages/sdk/src/index.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver, type TestResponse } from '../support/receiver.ts';
import { GOOD, WALLET } from '../support/resources.ts';

const SLACK = {
  type: 'slack' as const,
  config: { webhookUrl: 'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx' },
  eventTypes: ['*' as const],
};
const WEBHOOK = { url: 'https://hooks.example.com/in', eventTypes: ['*' as const] };

let app: TestApp;
let alice: TestUser;
let proxy: Receiver;
let tollgate: Tollgate;
let projectId: string;

beforeAll(async () => {
  app = await startTestApp();
  alice = await app.user('alice', 'ENTERPRISE');
  proxy = await startReceiver();
});
afterAll(async () => {
  await proxy?.close();
  await app?.stop();
});

beforeEach(async () => {
  const account = new Tollgate({ baseUrl: app.url, token: alice.token });
  projectId = (await account.projects.create({ name: 'Shop', walletAddress: WALLET })).id;
  tollgate = new Tollgate({ baseUrl: `${app.url}/`, token: () => alice.token, projectId });
});

/** Returns a client with a proxy that forwards, answers, or drops each request as `respond` says. */
function throughProxy(respond: (index: number, forward: () => Promise<void>) => Promise<number | 'forward' | 'drop'>) {
  const keys: unknown[] = [];
  proxy.handle(async (request, response): Promise<TestResponse | undefined> => {
    const index = keys.push(request.headers['idempotency-key']) - 1;
    let answer: Response | undefined;
    const forward = async () => {
      const { method, headers, body } = request;
      const { authorization = '', 'idempotency-key': key = '' } = headers as Record<string, string>;
      answer = await fetch(app.url + request.path, {
        method,
        headers: {
          authorization,
          ...(key && { 'idempotency-key': key }),
          ...(body.length > 0 && { 'content-type': 'application/json' }),
        },
        ...(body.length > 0 && { body: new Uint8Array(body) }),
      });
    };
    const verdict = await respond(index, forward);
    if (verdict === 'drop') {
      response.destroy();
      return undefined;
    }
    if (typeof verdict === 'number') return { statusCode: verdict, headers: { 'retry-after': '1' } };
    await forward();
    return {
      statusCode: answer!.status,
      headers: { 'content-type': answer!.headers.get('content-type') ?? '' },
      body: await answer!.text(),
    };
  });
  return { keys, client: new Tollgate({ baseUrl: proxy.url, token: alice.token, projectId }) };
}

test('the SDK creates, gets, updates, lists, and deletes every resource that supports these operations', async () => {
  const endpoint = await tollgate.endpoints.create(GOOD.endpoint);
  expect(await tollgate.endpoints.get(endpoint.id)).toEqual(endpoint);
  expect(await tollgate.endpoints.update(endpoint.id, { priceUsd: '0.02' })).toMatchObject({ priceUsd: '0.02' });

  const webhook = await tollgate.webhooks.create(WEBHOOK);
  expect(webhook.secret).toMatch(/^whsec_/);
  expect(await tollgate.webhooks.get(webhook.id)).toMatchObject({ url: WEBHOOK.url });
  expect(await tollgate.webhooks.update(webhook.id, { isPaused: true })).toMatchObject({ isPaused: true });

  const connector = await tollgate.connectors.create(SLACK);
  expect(await tollgate.connectors.get(connector.id)).toMatchObject({ type: 'slack' });
  expect(await tollgate.connectors.update(connector.id, { isActive: false })).toMatchObject({ isActive: false });

  const key = await tollgate.apiKeys.create({ name: 'CI' });
  expect(await tollgate.apiKeys.get(key.id)).toMatchObject({ name: 'CI' });

  for (const [resource, id] of [
    [tollgate.endpoints, endpoint.id],
    [tollgate.webhooks, webhook.id],
    [tollgate.connectors, connector.id],
    [tollgate.apiKeys, key.id],
  ] as const) {
    expect((await Array.fromAsync<{ id: string }>(resource.list())).map((item) => item.id)).toEqual([id]);
    await ('revoke' in resource ? resource.revoke(id) : resource.delete(id));
    expect((await resource.list().page()).data).toEqual([]);
  }

  expect(await tollgate.projects.update(projectId, { name: 'Store' })).toMatchObject({ name: 'Store' });
  expect(await tollgate.projects.get(projectId)).toMatchObject({ name: 'Store' });
  await tollgate.projects.delete(projectId);
  await expect(tollgate.projects.get(projectId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('the SDK reads everything that a project reports', async () => {
  const endpoint = await tollgate.endpoints.create(GOOD.endpoint);
  const [event] = await Array.fromAsync(tollgate.events.list({ eventType: ['endpoint.created'] }));
  expect(event).toMatchObject({ type: 'endpoint.created', data: { endpointId: endpoint.id } });
  expect(await tollgate.events.get(event!.id)).toEqual(event);
  const { results } = await tollgate.events.testFilter({
    filter: { 'data.endpointId': endpoint.id },
    eventId: event!.id,
  });
  expect(results).toEqual([{ eventId: event!.id, eventType: 'endpoint.created', matches: true }]);

  const lists = ['deliveries', 'payments', 'customers', 'replays', 'notices'] as const;
  for (const name of lists) expect((await tollgate[name].list().page()).data).toEqual([]);
  expect(await tollgate.revenue.get({ interval: 'DAY' })).toHaveProperty('buckets');
  expect(await tollgate.deliveryStats.get({})).toHaveProperty('buckets');
  expect(await tollgate.contacts.get()).toHaveProperty('emails');
  // The project has no custom domain.
  await expect(tollgate.gatewayHost.get()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect((await tollgate.auditLog.list().page()).data.length).toBeGreaterThan(0);
  expect((await tollgate.auditLog.listAllProjects({ limit: 1 }).page()).data).toHaveLength(1);
  expect(await Array.fromAsync(tollgate.connectorTypes.list())).toHaveLength(26);
});

test('the SDK runs actions on webhooks, deliveries, and replays, and explains a delivery', async () => {
  const receiver = await startReceiver();
  const webhook = await tollgate.webhooks.create({ ...WEBHOOK, url: receiver.url });
  const { id } = await tollgate.webhooks.sendTestEvent(webhook.id, { eventType: 'payment.settled' });
  await receiver.waitFor(1);
  await expect
    .poll(() => tollgate.deliveries.get(id))
    .toMatchObject({ status: 'SUCCEEDED', attempts: [{ number: 1 }] });
  expect(await tollgate.deliveries.explain(id)).toMatchObject({ deliveryId: id });
  await tollgate.deliveries.resend(id);
  await receiver.waitFor(2);
  expect(
    (await tollgate.webhooks.listDeliveries(webhook.id, { status: ['SUCCEEDED', 'RUNNING', 'PENDING'] }).page()).data,
  ).toHaveLength(1);
  expect((await tollgate.webhooks.rotateSecret(webhook.id)).secret).not.toBe(webhook.secret);
  const { replay } = await tollgate.replays.create({ filter: { webhookId: webhook.id, test: true } });
  expect(await tollgate.replays.get(replay!.id)).toMatchObject({ id: replay!.id });
  await receiver.close();
});

test('an SDK list reads further pages while you iterate, and returns each item once', async () => {
  const paths = Array.from({ length: 5 }, (_, index) => `/path-${index}`);
  for (const path of paths) await tollgate.endpoints.create({ ...GOOD.endpoint, path });
  const { keys: requests, client } = throughProxy(async () => 'forward');
  const found: string[] = [];
  for await (const { path } of client.endpoints.list({ limit: 2 })) found.push(path);
  expect(found).toEqual(paths.toReversed());
  expect(requests).toHaveLength(3);

  const first = await client.endpoints.list({ limit: 2 }).page();
  const second = await client.endpoints.list({ limit: 2, after: first.nextCursor! }).page();
  expect([...first.data, ...second.data].map(({ path }) => path)).toEqual(found.slice(0, 4));
});

describe('when a response is lost, the SDK', () => {
  test('retries a POST with the same idempotency key and creates one resource', async () => {
    const { keys, client } = throughProxy(async (index, forward) => {
      await forward();
      return index < 2 ? 'drop' : 'forward';
    });
    const { id } = await client.endpoints.create(GOOD.endpoint);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect((await Array.fromAsync(tollgate.endpoints.list())).map((endpoint) => endpoint.id)).toEqual([id]);
  });

  test('treats a DELETE as done if the retry finds nothing', async () => {
    const { id } = await tollgate.endpoints.create(GOOD.endpoint);
    const { keys, client } = throughProxy(async (index, forward) => {
      if (index === 0) await forward();
      return index === 0 ? 'drop' : 'forward';
    });
    await client.endpoints.delete(id);
    expect(keys).toHaveLength(2);
    await expect(client.endpoints.delete(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('gives up after maxRetries', async () => {
    const { keys, client } = throughProxy(async () => 'drop');
    await expect(client.projects.get(projectId, { maxRetries: 1 })).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
      status: undefined,
    });
    expect(keys).toHaveLength(2);
  });
});

test.each([429, 503])('the SDK waits for Retry-After and tries again after status %i', async (status) => {
  const times: number[] = [];
  const { client } = throughProxy(async () => {
    times.push(performance.now());
    return times.length === 1 ? status : 'forward';
  });
  expect(await client.projects.get(projectId)).toMatchObject({ id: projectId });
  expect(times).toHaveLength(2);
  expect(times[1]! - times[0]!).toBeGreaterThan(990);
});

test('the SDK reports an error with its code, status, request ID, page, and invalid fields, and does not retry it', async () => {
  const { keys, client } = throughProxy(async () => 'forward');
  const error = await client.endpoints.create({ ...GOOD.endpoint, priceUsd: 'free' }).catch((reason) => reason);
  expect(error).toBeInstanceOf(TollgateError);
  expect(error).toMatchObject({ code: 'VALIDATION_FAILED', status: 422, errors: [{ pointer: '/priceUsd' }] });
  const direct = await tollgate.endpoints.get('ep_none').catch((reason) => reason);
  expect(direct).toMatchObject({ code: 'NOT_FOUND', status: 404, requestId: expect.stringMatching(/^req_/) });
  expect(direct.documentationUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/docs\/errors#not_found$/);
  expect(keys).toHaveLength(1);
});

test('the SDK reports a response that is not from Tollgate', async () => {
  proxy.handle(() => ({ statusCode: 404, body: '<html>' }));
  const client = new Tollgate({ baseUrl: proxy.url, apiKey: 'tg_test_x', projectId });
  await expect(client.webhooks.get('wh_1')).rejects.toMatchObject({ code: 'INVALID_RESPONSE', status: 404 });
});

test.each([
  'null',
  '"page"',
  '[]',
  '{}',
  '{"data":null,"nextCursor":null}',
  '{"data":[]}',
  '{"data":[],"nextCursor":1}',
])('the SDK reports a list whose response is %s as not from Tollgate', async (body) => {
  proxy.handle(() => ({ statusCode: 200, headers: { 'content-type': 'application/json' }, body }));
  const client = new Tollgate({ baseUrl: proxy.url, apiKey: 'tg_test_x', projectId });
  const error = { name: 'TollgateError', code: 'INVALID_RESPONSE', status: 200 };
  const before = proxy.requests.length;
  await expect(client.webhooks.list().page()).rejects.toMatchObject(error);
  await expect(client.webhooks.list()[Symbol.asyncIterator]().next()).rejects.toMatchObject(error);
  await expect(client.events.follow()[Symbol.asyncIterator]().next()).rejects.toMatchObject(error);
  expect(proxy.requests.length - before).toBe(3);
});

test.each(['null', '"webhook"', '[]'])('the SDK reports a resource that is %s as not from Tollgate', async (body) => {
  proxy.handle(() => ({ statusCode: 200, headers: { 'content-type': 'application/json' }, body }));
  const client = new Tollgate({ baseUrl: proxy.url, apiKey: 'tg_test_x', projectId });
  await expect(client.webhooks.get('wh_1')).rejects.toMatchObject({ code: 'INVALID_RESPONSE', status: 200 });
});

test.each([301, 302, 307, 308])('the SDK does not follow redirects with status %i', async (statusCode) => {
  const elsewhere = await startReceiver();
  proxy.handle(({ path }) => ({ statusCode, headers: { location: `${elsewhere.url}${path}` } }));
  const before = proxy.requests.length;
  const client = new Tollgate({ baseUrl: proxy.url, token: alice.token, projectId });
  const rejection = { code: 'INVALID_RESPONSE', status: statusCode, message: expect.stringContaining(elsewhere.url) };
  await expect(client.endpoints.create(GOOD.endpoint)).rejects.toMatchObject(rejection);
  await expect(client.events.export().file('csv')).rejects.toMatchObject(rejection);
  await expect(client.events.follow({}, { after: 'cursor' })[Symbol.asyncIterator]().next()).rejects.toMatchObject(
    rejection,
  );
  expect(proxy.requests.length - before).toBe(3);
  expect(elsewhere.requests).toEqual([]);
  await elsewhere.close();
});

test('an SDK request ends when its time is up or its signal is aborted', async () => {
  proxy.handle(() => undefined);
  const client = new Tollgate({ baseUrl: proxy.url, token: alice.token, projectId, maxRetries: 0 });
  await expect(client.webhooks.get('wh_1', { timeoutSeconds: 0.1 })).rejects.toMatchObject({ code: 'TIMED_OUT' });
  const controller = new AbortController();
  const running = client.webhooks.get('wh_1', { signal: controller.signal });
  controller.abort(new Error('no longer needed'));
  await expect(running).rejects.toThrow('no longer needed');
});

test('an API key works in the SDK, and a missing project ID or credential is reported before a request', async () => {
  const { key } = await tollgate.apiKeys.create({ name: 'CI' });
  const client = new Tollgate({ baseUrl: app.url, apiKey: key });
  expect((await client.webhooks.list({}, { projectId }).page()).data).toEqual([]);
  expect(() => client.webhooks.get('wh_1')).toThrow('projectId is missing.');
  expect(() => new Tollgate({ baseUrl: app.url })).toThrow('Set either apiKey or token.');
});
