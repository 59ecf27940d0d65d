import pg from 'pg';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EVENT_KINDS, EVENT_PAYLOADS, type EventKind } from '../../../src/events/kinds.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Page = { data: Resource[] };
type Envelope = { id: string; type: EventKind; timestamp: string; projectId: string; test?: boolean; data: object };

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let receiver: Receiver;
let alice: TestUser;
let base: string;
let projectId: string;

beforeAll(async () => {
  receiver = await startReceiver();
  app = await startTestApp();
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
  await receiver?.close();
});

let paths = 0;
let url: string;
let path: string;
beforeEach(async () => {
  ({ base, id: projectId } = await createProject(alice));
  path = `/hook${++paths}`;
  url = receiver.url + path;
});

const patch = (id: string, body: object) => rest.send<Resource>(alice, 'PATCH', `${base}/webhooks/${id}`, { body });
const act = (id: string, action: string, body?: object) =>
  rest.send<Resource & { secret: string }>(alice, 'POST', `${base}/webhooks/${id}/${action}`, { body });
const history = async (id: string) =>
  (await rest.send<Page>(alice, 'GET', `${base}/webhooks/${id}/deliveries`)).body.data;
/** What arrived here, once there are that many. */
async function arrived(count: number): Promise<ReceivedRequest[]> {
  const here = () => receiver.requests.filter((request) => request.path === path);
  await expect.poll(() => here().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(count);
  return here();
}
const verify = (request: ReceivedRequest, secret: string) =>
  new StandardWebhook(secret).verify(request.body, request.headers as Record<string, string>) as Envelope;

describe('the signing secret', () => {
  test('is shown when it is made, never again, and is encrypted where it is kept', async () => {
    const { secret, ...shown } = await createWebhook(alice, base, { url });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const one = await rest.send(alice, 'GET', `${base}/webhooks/${shown.id}`);
    expect(one.body).toEqual(shown);
    const changed = await patch(shown.id, { description: 'x' });
    const { data } = await alice.graphql(`{ node(id: "${shown.id}") { ... on Webhook { id url } } }`);
    const { rows } = await pool.query('SELECT t::text AS row FROM "Webhook" t WHERE "id" = $1', [shown.id]);
    for (const text of [one.text, changed.text, JSON.stringify(data), rows[0].row]) {
      expect(text).not.toContain(secret.slice(6, 30));
    }
  });

  test('is another one for every webhook', async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, () => createWebhook(alice, base, { url, eventTypes: ['*'] })),
    );
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(10);
  });
});

describe('rotating the secret', () => {
  test('signs by both until the overlap ends, then by the new one alone', async () => {
    const { id, secret: old } = await createWebhook(alice, base, { url });
    const rotated = await act(id, 'rotate-secret', { overlapHours: 2 });
    expect(rotated.status).toBe(200);
    const { secret, previousSecretExpiresAt } = rotated.body;
    expect(secret).not.toBe(old);
    expect(Date.parse(previousSecretExpiresAt as string) - Date.now()).toBeGreaterThan(1.9 * 3_600_000);

    await act(id, 'test');
    const [during] = await arrived(1);
    expect(verify(during!, secret)).toEqual(verify(during!, old));
    expect((during!.headers['webhook-signature'] as string).split(' ')).toHaveLength(2);

    await pool.query(`UPDATE "Webhook" SET "previousSecretExpiresAt" = now() - interval '1 second' WHERE "id" = $1`, [
      id,
    ]);
    await act(id, 'test');
    const after = (await arrived(2))[1]!;
    verify(after, secret);
    expect(() => verify(after, old)).toThrow();
  });

  test('with no overlap ends the old one at once', async () => {
    const { id, secret: old } = await createWebhook(alice, base, { url });
    const { body } = await act(id, 'rotate-secret', { overlapHours: 0 });
    expect(body.previousSecretExpiresAt).toBeNull();
    await act(id, 'test');
    const [request] = await arrived(1);
    verify(request!, body.secret);
    expect(() => verify(request!, old)).toThrow();
  });

  test('overlaps by a day unless told otherwise, and twice keeps the last two', async () => {
    const { id, secret: first } = await createWebhook(alice, base, { url });
    const second = (await act(id, 'rotate-secret')).body;
    const hours = (Date.parse(second.previousSecretExpiresAt as string) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(24);
    const third = (await act(id, 'rotate-secret')).body;
    await act(id, 'test');
    const [request] = await arrived(1);
    for (const { secret } of [second, third]) verify(request!, secret);
    expect(() => verify(request!, first)).toThrow();
  });

  test('by several at once leaves the last answer’s secret in use', async () => {
    const { id } = await createWebhook(alice, base, { url });
    const answers = await Promise.all(Array.from({ length: 5 }, () => act(id, 'rotate-secret')));
    await act(id, 'test');
    const [request] = await arrived(1);
    const valid = answers.filter(({ body }) => {
      try {
        return Boolean(verify(request!, body.secret));
      } catch {
        return false;
      }
    });
    expect(valid).toHaveLength(2);
  });

  test.each([-1, 169, 1.5, '24', 1e9])('refuses an overlap of %j hours', async (overlapHours) => {
    const { id } = await createWebhook(alice, base, { url });
    const answer = await act(id, 'rotate-secret', { overlapHours });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/overlapHours' }] } });
  });
});

describe('a test event', () => {
  test.each(EVENT_KINDS)(
    'of %s is marked, has its documented payload, and is not sent to others',
    async (eventType) => {
      const { id, secret } = await createWebhook(alice, base, { url, eventTypes: ['endpoint.created'] });
      const other = await createWebhook(alice, base, { url: `${receiver.url}/other`, eventTypes: ['*'] });
      const answer = await act(id, 'test', { eventType });
      expect(answer).toMatchObject({ status: 200, body: { webhookId: id, eventType } });
      const [request] = await arrived(1);
      const event = verify(request!, secret);
      expect(event).toMatchObject({ id: request!.headers['webhook-id'], type: eventType, projectId, test: true });
      expect(EVENT_PAYLOADS[eventType].strict().safeParse(event.data).success).toBe(true);
      const recorded = await rest.send(alice, 'GET', `${base}/events/${event.id}`);
      expect(recorded.body).toMatchObject({ type: eventType, test: true, data: event.data });
      expect(await history(other.id)).toEqual([]);
    },
  );

  test('is of the first kind it is subscribed to unless told otherwise', async () => {
    const { id } = await createWebhook(alice, base, { url, eventTypes: ['payment.failed', 'payment.settled'] });
    expect((await act(id, 'test')).body.eventType).toBe('payment.failed');
    expect((await act(id, 'test', { eventType: null })).body.eventType).toBe('payment.failed');
  });

  test('of a real event there is no mark', async () => {
    const { secret } = await createWebhook(alice, base, { url });
    await createEndpoint(alice, base);
    const [request] = await arrived(1);
    expect(verify(request!, secret).test ?? false).toBe(false);
  });
});

describe('a webhook that is switched off', () => {
  test('has its deliveries passed over, with the reason, and gets those that follow when it is on again', async () => {
    const { id } = await createWebhook(alice, base, { url });
    expect((await patch(id, { isActive: false })).body).toMatchObject({
      ...{ isActive: false, disabledReason: null, disabledAt: expect.any(String) },
    });
    await createEndpoint(alice, base);
    const [skipped] = await history(id);
    expect(skipped).toMatchObject({ status: 'SKIPPED', reason: 'disabled', attemptCount: 0, nextAttemptAt: null });
    expect(skipped!.completedAt).not.toBeNull();

    await patch(id, { isActive: true });
    await createEndpoint(alice, base);
    await arrived(1);
    await expect.poll(async () => (await history(id)).map(({ status }) => status)).toEqual(['SUCCEEDED', 'SKIPPED']);
  });

  test('by the service says why, and forgets it when it is switched on by hand', async () => {
    receiver.answerNext({ statusCode: 410 });
    const { id } = await createWebhook(alice, base, { url });
    await createEndpoint(alice, base);
    const read = async () => (await rest.send(alice, 'GET', `${base}/webhooks/${id}`)).body;
    await expect.poll(read).toMatchObject({ isActive: false, disabledReason: 'gone', disabledAt: expect.any(String) });
    expect((await patch(id, { isActive: true })).body).toMatchObject({
      ...{ isActive: true, disabledReason: null, disabledAt: null, failingSince: null },
    });
  });
});

test('kinds of events are kept in order, each once', async () => {
  const eventTypes = ['payment.failed', 'payment.settled', 'payment.failed'];
  expect((await createWebhook(alice, base, { url, eventTypes })).eventTypes).toEqual(eventTypes.slice(0, 2));
});

test('only what it is subscribed to reaches a webhook', async () => {
  const { id } = await createWebhook(alice, base, { url, eventTypes: ['endpoint.pricing_changed'] });
  const endpoint = await createEndpoint(alice, base, { priceUsd: '1' });
  await rest.send(alice, 'PATCH', `${base}/endpoints/${endpoint.id}`, { body: { priceUsd: '2' } });
  await arrived(1);
  expect(await history(id)).toMatchObject([{ eventType: 'endpoint.pricing_changed' }]);
});
