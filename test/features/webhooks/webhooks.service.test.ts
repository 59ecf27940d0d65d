import pg from 'pg';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { EVENT_PAYLOADS, EVENT_TYPES, type EventType } from '../../../src/events/types.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Page = { data: Resource[] };
type Envelope = { id: string; type: EventType; timestamp: string; projectId: string; test?: boolean; data: object };
type Secret = { secret: string; previousSecretExpiresAt: string | null };

const HOUR = 3_600_000;
/** The service uses the clock of the database, which may differ from this process by some milliseconds. */
const CLOCK_TOLERANCE_MILLISECONDS = 60_000;

let app: TestApp;
let rest: Rest;
let pool: pg.Pool;
let alice: TestUser;

beforeAll(async () => {
  app = await startTestApp({ delivery: { retryScheduleSeconds: [] } });
  rest = await openRest(app);
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

let receiver: Receiver;
let base: string;
let projectId: string;
let webhook: Resource & { secret: string };
let path: string;

beforeEach(async () => {
  receiver = await startReceiver();
  ({ base, id: projectId } = await createProject(alice));
  webhook = await createWebhook(alice, base, { url: `${receiver.url}/in` });
  path = `${base}/webhooks/${webhook.id}`;
  return () => receiver.close();
});

const read = async (at = path) => (await rest.send(alice, 'GET', at)).body;
const patch = (body: object) => rest.send<Resource>(alice, 'PATCH', path, { body });
const readHistory = async (at = path) => (await rest.send<Page>(alice, 'GET', `${at}/deliveries`)).body.data;
const resend = (id: string) => rest.send(alice, 'POST', `${base}/deliveries/${id}/resend`);
const requestTest = (body?: object) => rest.send<Resource>(alice, 'POST', `${path}/test`, { body });
const requestRotation = (body?: object) => rest.send<Secret>(alice, 'POST', `${path}/rotate-secret`, { body });

/** Sends a test event and returns its delivery. */
async function sendTest(body?: object): Promise<Resource> {
  const response = await requestTest(body);
  expect(response.status, response.text).toBe(200);
  return response.body;
}

/** Returns the delivery once it has that status. */
async function finished(id: string, status: string): Promise<Resource> {
  const delivery = () => read(`${base}/deliveries/${id}`) as Promise<Resource>;
  await expect.poll(async () => (await delivery()).status).toBe(status);
  return delivery();
}

async function rotate(body?: object): Promise<string> {
  const response = await requestRotation(body);
  expect(response.status).toBe(200);
  return response.body.secret;
}

const verify = (request: ReceivedRequest, secret: string) =>
  new StandardWebhook(secret).verify(request.body, request.headers as Record<string, string>) as Envelope;

function isSignedWith(secret: string, request: ReceivedRequest): boolean {
  try {
    return Boolean(verify(request, secret));
  } catch {
    return false;
  }
}

/** Records an event and returns the request that delivers it. */
async function nextRequest(): Promise<ReceivedRequest> {
  const before = receiver.requests.length;
  await createEndpoint(alice, base);
  await receiver.waitFor(before + 1);
  return receiver.requests[before]!;
}

/** Returns, for each secret, whether it verifies the next event. */
async function verifiedBy(...secrets: string[]): Promise<boolean[]> {
  const request = await nextRequest();
  return secrets.map((secret) => isSignedWith(secret, request));
}

describe('the signing secret', () => {
  test('is shown only when the webhook is created, and is encrypted in the database', async () => {
    const { secret, ...shown } = webhook;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await read()).toEqual(shown);
    const second = await rotate();
    const { id } = await sendTest();
    await finished(id, 'SUCCEEDED');

    const places = [path, `${base}/webhooks`, `${path}/deliveries`, `${base}/deliveries/${id}`, `${base}/events`, base];
    const responses = await Promise.all(places.map((place) => rest.send(alice, 'GET', place)));
    responses.push(await patch({ description: 'x' }));
    for (const { status, body } of responses) {
      expect(status).toBe(200);
      expect(body).not.toHaveProperty('secret');
    }
    const { data } = await alice.graphql(`{ node(id: "${webhook.id}") { ... on Webhook { id url } } }`);
    expect(data).toMatchObject({ node: { id: webhook.id } });
    const { rows } = await pool.query('SELECT t::text AS row FROM "Webhook" t WHERE "id" = $1', [webhook.id]);
    for (const text of [...responses.map((response) => response.text), JSON.stringify(data), rows[0].row]) {
      for (const hidden of [secret, second]) expect(text).not.toContain(hidden.slice(6, 30));
    }
  });

  test('differs between webhooks', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => createWebhook(alice, base)));
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(10);
  });
});

describe('rotating the signing secret', () => {
  test('signs with both secrets until the overlap ends, then only with the new one', async () => {
    const first = webhook.secret;
    expect(await verifiedBy(first)).toEqual([true]);
    const second = await rotate({ overlapHours: 2 });
    expect(second).not.toBe(first);

    const request = await nextRequest();
    expect(verify(request, second)).toEqual(verify(request, first));
    expect((request.headers['webhook-signature'] as string).split(' ')).toHaveLength(2);

    const ended = `UPDATE "Webhook" SET "previousSecretExpiresAt" = now() - interval '1 second' WHERE "id" = $1`;
    await pool.query(ended, [webhook.id]);
    expect(await verifiedBy(first, second)).toEqual([false, true]);
  });

  test('twice keeps the last two secrets', async () => {
    const second = await rotate({ overlapHours: 1 });
    const third = await rotate({ overlapHours: 1 });
    expect(await verifiedBy(webhook.secret, second, third)).toEqual([false, true, true]);
  });

  test('invalidates all old secrets immediately if there is no overlap, even during an earlier one', async () => {
    const second = await rotate({ overlapHours: 24 });
    const { body } = await requestRotation({ overlapHours: 0 });
    expect(body.previousSecretExpiresAt).toBeNull();
    expect((await read()).previousSecretExpiresAt).toBeNull();
    expect(await verifiedBy(webhook.secret, second, body.secret)).toEqual([false, false, true]);
  });

  test.each([
    [undefined, 24],
    [{ overlapHours: null }, 24],
    [{ overlapHours: 168 }, 168],
  ])('turns the body %j into an overlap of %i hours', async (body, hours) => {
    const before = Date.now();
    await rotate(body);
    const after = Date.now();
    const expiresAt = Date.parse((await read()).previousSecretExpiresAt as string);
    expect(expiresAt).toBeGreaterThan(before + hours * HOUR - CLOCK_TOLERANCE_MILLISECONDS);
    expect(expiresAt).toBeLessThan(after + hours * HOUR + CLOCK_TOLERANCE_MILLISECONDS);
  });

  test('concurrently leaves two secrets in use', async () => {
    const secrets = await Promise.all(Array.from({ length: 5 }, () => rotate()));
    expect((await verifiedBy(...secrets)).filter(Boolean)).toHaveLength(2);
  });

  test.each([-1, 169, 1.5, '1', '24', 1e9])('is rejected if the overlap is %j hours', async (overlapHours) => {
    const response = await requestRotation({ overlapHours });
    expect(response).toMatchObject({ status: 422, body: { errors: [{ pointer: '/overlapHours' }] } });
    expect(await verifiedBy(webhook.secret)).toEqual([true]);
  });
});

describe('a test event', () => {
  test.each(EVENT_TYPES)(
    'is marked, has the documented payload of %s, and goes to no other webhook',
    async (eventType) => {
      await patch({ eventTypes: ['endpoint.created'] });
      const other = await createWebhook(alice, base, { url: `${receiver.url}/other` });
      const delivery = await sendTest({ eventType });
      expect(delivery).toMatchObject({ webhookId: webhook.id, eventType });
      await finished(delivery.id, 'SUCCEEDED');

      const event = verify(receiver.requests[0]!, webhook.secret);
      expect(event).toMatchObject({
        id: receiver.requests[0]!.headers['webhook-id'],
        type: eventType,
        projectId,
        test: true,
      });
      expect(EVENT_PAYLOADS[eventType].strict().safeParse(event.data).success).toBe(true);
      expect(await read(`${base}/events/${event.id}`)).toMatchObject({ type: eventType, test: true, data: event.data });
      expect(await readHistory(`${base}/webhooks/${other.id}`)).toEqual([]);
      expect(await readHistory(base)).toHaveLength(1);
      expect(receiver.requests.map((request) => request.path)).toEqual(['/in']);
    },
  );

  test('has the first subscribed type by default', async () => {
    await patch({ eventTypes: ['payment.failed', 'payment.settled'] });
    expect(await sendTest()).toMatchObject({ eventType: 'payment.failed' });
    expect(await sendTest({ eventType: null })).toMatchObject({ eventType: 'payment.failed' });
    await patch({ eventTypes: ['customer.milestone'] });
    expect(await sendTest()).toMatchObject({ eventType: 'customer.milestone' });
  });

  test("is sent immediately, even while the webhook's circuit is open", async () => {
    await pool.query(`UPDATE "Webhook" SET "circuitOpenUntil" = now() + interval '10 minutes' WHERE "id" = $1`, [
      webhook.id,
    ]);
    await createEndpoint(alice, base);
    const reasons = async () =>
      (await pool.query(`SELECT "reason" FROM "Delivery" WHERE "webhookId" = $1`, [webhook.id])).rows;
    await expect.poll(reasons).toEqual([{ reason: 'circuit_open' }]);
    await finished((await sendTest()).id, 'SUCCEEDED');
    expect(receiver.requests).toHaveLength(1);
  });

  test('is marked, and other events have no `test` field', async () => {
    const event = verify(await nextRequest(), webhook.secret);
    expect(event).not.toHaveProperty('test');
  });
});

describe('a disabled webhook', () => {
  test('skips deliveries with a reason, including test events, and receives later events once it is enabled', async () => {
    expect((await patch({ isActive: false })).body).toMatchObject({
      isActive: false,
      disabledReason: null,
      disabledAt: expect.any(String),
    });
    await createEndpoint(alice, base);
    expect(await readHistory()).toMatchObject([
      {
        eventType: 'endpoint.created',
        status: 'SKIPPED',
        reason: 'disabled',
        attemptCount: 0,
        nextAttemptAt: null,
        completedAt: expect.any(String),
      },
    ]);
    expect(await sendTest()).toMatchObject({ status: 'SKIPPED', reason: 'disabled' });
    expect(receiver.requests).toEqual([]);

    await patch({ isActive: true });
    await nextRequest();
    await expect
      .poll(async () => (await readHistory()).map(({ status }) => status))
      .toEqual(['SUCCEEDED', 'SKIPPED', 'SKIPPED']);
  });

  test('shows why the service disabled it until it is enabled, then receives events again', async () => {
    receiver.respondNext({ statusCode: 410 });
    await createEndpoint(alice, base);
    await expect
      .poll(() => read())
      .toMatchObject({ isActive: false, disabledReason: 'gone', disabledAt: expect.any(String) });
    const cleared = { isActive: true, disabledReason: null, disabledAt: null, failingSince: null };
    expect((await patch({ isActive: true })).body).toMatchObject(cleared);
    expect(await verifiedBy(webhook.secret)).toEqual([true]);
  });
});

describe('resending a delivery', () => {
  test('keeps the ID and bytes of the event, and keeps counting attempts', async () => {
    receiver.respondNext({ statusCode: 400 });
    const { id } = await sendTest({ eventType: 'payment.settled' });
    await finished(id, 'FAILED');
    for (const count of [2, 3]) {
      expect((await resend(id)).status).toBe(200);
      await receiver.waitFor(count);
      await finished(id, 'SUCCEEDED');
    }
    const { attempts } = await read(`${base}/deliveries/${id}`);
    expect((attempts as { number: number }[]).toSorted((left, right) => left.number - right.number)).toMatchObject([
      { number: 1, trigger: 'MANUAL', statusCode: 400 },
      { number: 2, trigger: 'MANUAL', statusCode: 200 },
      { number: 3, trigger: 'MANUAL', statusCode: 200 },
    ]);
    const [first, ...others] = receiver.requests;
    for (const other of others) {
      expect(other.headers['webhook-id']).toBe(first!.headers['webhook-id']);
      expect(other.body).toEqual(first!.body);
      expect(isSignedWith(webhook.secret, other)).toBe(true);
    }
  });

  test('is rejected while the delivery is being sent', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    receiver.handle(() => released.then(() => ({})));
    const { id } = await sendTest();
    await receiver.waitFor(1);
    expect(await resend(id)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    release();
    await finished(id, 'SUCCEEDED');
    expect(receiver.requests).toHaveLength(1);
  });
});

describe("a webhook's event types", () => {
  test('keep their order, without duplicates', async () => {
    const eventTypes = ['payment.failed', 'payment.settled', 'payment.failed'];
    expect((await createWebhook(alice, base, { eventTypes })).eventTypes).toEqual(eventTypes.slice(0, 2));
  });

  test('are the only ones delivered to it', async () => {
    await patch({ eventTypes: ['endpoint.pricing_changed'] });
    const endpoint = await createEndpoint(alice, base, { priceUsd: '1' });
    await rest.send(alice, 'PATCH', `${base}/endpoints/${endpoint.id}`, { body: { priceUsd: '2' } });
    await receiver.waitFor(1);
    expect(await readHistory()).toMatchObject([{ eventType: 'endpoint.pricing_changed' }]);
  });
});
