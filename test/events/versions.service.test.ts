import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EVENT_TYPES } from '../../src/events/types.ts';
import { PAYLOAD_VERSIONS, type PayloadVersions, renderPayload } from '../../src/events/versions.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../support/resources.ts';
import { runShell } from '../support/run-shell.ts';

/** Hypothetical versions: version 2 changed `route` to `path`, and version 3 did not change `endpoint.created`. */
const VERSIONS: PayloadVersions = {
  current: 3,
  down: {
    'endpoint.created': { 2: ({ path, ...data }) => ({ ...data, route: path }) },
    'endpoint.pricing_changed': { 3: (data) => ({ ...data, v: 2 }), 2: (data) => ({ ...data, v: `${data.v}1` }) },
  },
  up: {
    'endpoint.created': { 2: ({ route, ...data }) => ({ ...data, path: route }) },
    'endpoint.pricing_changed': { 2: (data) => ({ ...data, v: 2 }), 3: (data) => ({ ...data, v: `${data.v}3` }) },
  },
};

test('every version after the first lists the event types it changed', () => {
  const named = EVENT_TYPES.flatMap((eventType) => Object.keys(PAYLOAD_VERSIONS.down[eventType] ?? {}).map(Number));
  const later = Array.from({ length: PAYLOAD_VERSIONS.current - 1 }, (_, index) => index + 2);
  expect([...new Set(named)].sort()).toEqual(later);
});

describe('a payload', () => {
  const event = { type: 'endpoint.pricing_changed', version: 3, data: '{ "v": 3 }' };

  test.each([
    [3, { version: 3, data: '{ "v": 3 }' }],
    [2, { version: 2, data: '{"v":2}' }],
    [1, { version: 1, data: '{"v":"21"}' }],
  ])('is converted to version %i step by step, and keeps its bytes if nothing changed', (wanted, rendered) => {
    expect(renderPayload(event, wanted, VERSIONS)).toEqual(rendered);
  });

  test('keeps its bytes if no version changed its event type', () => {
    const other = { ...event, type: 'payment.settled' };
    expect(renderPayload(other, 1, VERSIONS)).toEqual({ version: 1, data: event.data });
  });

  test('stays as recorded if it is older than the requested version', () => {
    expect(renderPayload({ ...event, version: 1 }, 3, VERSIONS)).toEqual({ version: 1, data: event.data });
  });
});

describe('webhooks of a service with three payload versions', () => {
  let app: TestApp;
  let alice: TestUser;
  let base: string;
  let receiver: Receiver;

  beforeAll(async () => {
    app = await startTestApp({ payloadVersions: VERSIONS });
    receiver = await startReceiver();
    alice = await app.user('alice', 'ENTERPRISE');
    ({ base } = await createProject(alice));
  });
  afterAll(async () => {
    await app?.stop();
    await receiver?.close();
  });

  /** Returns the version and data of the last request to a path on the receiver. */
  const last = (path: string) => {
    const request = receiver.requests.filter((request) => request.path === path).at(-1)!;
    return { version: request.headers['tollgate-payload-version'], data: JSON.parse(request.body.toString()).data };
  };

  test('get the version they are pinned to, which defaults to the newest and can be changed', async () => {
    const pinned = await createWebhook(alice, base, { url: `${receiver.url}/old`, payloadVersion: 1 });
    const fresh = await createWebhook(alice, base, { url: `${receiver.url}/new` });
    expect([pinned.payloadVersion, fresh.payloadVersion]).toEqual([1, 3]);

    await createEndpoint(alice, base, { path: '/a' });
    await receiver.waitFor(2);
    expect(last('/old')).toMatchObject({ version: '1', data: { route: '/a' } });
    expect(last('/old').data).not.toHaveProperty('path');
    expect(last('/new')).toMatchObject({ version: '3', data: { path: '/a' } });
    const events = await alice.rest<{ data: Resource[] }>('GET', `${base}/events`);
    expect(events.body.data).toMatchObject([{ version: 3, data: { path: '/a' } }]);

    // A resent event has the version that the webhook is pinned to now.
    const changed = await alice.rest<Resource>('PATCH', `${base}/webhooks/${pinned.id}`, { payloadVersion: 2 });
    expect(changed.body.payloadVersion).toBe(2);
    const history = await alice.rest<{ data: Resource[] }>('GET', `${base}/webhooks/${pinned.id}/deliveries`);
    const [delivery] = history.body.data;
    await expect
      .poll(async () => (await alice.rest('POST', `${base}/deliveries/${delivery!.id}/resend`)).status)
      .toBe(200);
    await receiver.waitFor(3);
    expect(last('/old')).toMatchObject({ version: '2', data: { path: '/a' } });
  });

  test('have delivery explanations with a command that sends the pinned version', async () => {
    const { base } = await createProject(alice);
    const webhook = await createWebhook(alice, base, { url: `${receiver.url}/shell`, payloadVersion: 1 });
    await createEndpoint(alice, base, { path: '/b' });
    const sent = () => receiver.requests.filter(({ path }) => path === '/shell');
    await expect.poll(() => sent().length).toBe(1);
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/webhooks/${webhook.id}/deliveries`);
    const path = `${base}/deliveries/${body.data[0]!.id}/explain`;
    const explanation = await alice.rest<{ curl: string }>('GET', path);
    const result = await runShell(explanation.body.curl, { WEBHOOK_SECRET: webhook.secret });
    expect(result).toMatchObject({ exitCode: 0 });
    expect(last('/shell')).toMatchObject({ version: '1', data: { route: '/b' } });
    expect(sent()[1]!.body.equals(sent()[0]!.body)).toBe(true);
  });

  test.each([0, 4, 1.5, '1'])('cannot be pinned to %j', async (payloadVersion) => {
    const response = await alice.rest('POST', `${base}/webhooks`, {
      url: receiver.url,
      eventTypes: ['*'],
      payloadVersion,
    });
    expect(response).toMatchObject({ status: 422, body: { errors: [{ pointer: '/payloadVersion' }] } });
  });
});
