import pg from 'pg';
import { Webhook as Verifier } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../support/resources.ts';

type Attempt = { number: number; trigger: string; statusCode: number | null };
type Delivery = Resource & { status: string; reason: string | null; attempts: Attempt[] };

let app: TestApp;
let pool: pg.Pool;
let alice: TestUser;
let base: string;
let receiver: Receiver;
let webhook: Resource & { secret: string };
let path: string;

beforeAll(async () => {
  app = await startTestApp({ delivery: { retryScheduleSeconds: [] } });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  receiver = await startReceiver();
  ({ base } = await createProject(alice));
  webhook = await createWebhook(alice, base, { url: `${receiver.url}/in` });
  path = `${base}/webhooks/${webhook.id}`;
  return () => receiver.close();
});

const patch = (body: object) => alice.rest<Resource>('PATCH', path, body);
const deliveryOf = async (id: string) => (await alice.rest<Delivery>('GET', `${base}/deliveries/${id}`)).body;
const resend = (id: string) => alice.rest<Delivery>('POST', `${base}/deliveries/${id}/resend`);

/** Sends a test event and returns its delivery as it was answered. */
async function sendTest(body?: object): Promise<Delivery> {
  const answer = await alice.rest<Delivery>('POST', `${path}/test`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}

/** The delivery, once it is in that state. */
async function settled(id: string, status: string): Promise<Delivery> {
  await expect.poll(async () => (await deliveryOf(id)).status, { timeout: 10_000 }).toBe(status);
  return deliveryOf(id);
}

async function rotate(body?: object): Promise<string> {
  const answer = await alice.rest<{ secret: string }>('POST', `${path}/rotate-secret`, body);
  expect(answer.status).toBe(200);
  return answer.body.secret;
}

/** Which of the secrets a receiver can verify the next event with. */
async function verifiedBy(...secrets: string[]): Promise<boolean[]> {
  const before = receiver.requests.length;
  await createEndpoint(alice, base);
  await receiver.waitFor(before + 1);
  return secrets.map((secret) => isSignedBy(secret, receiver.requests[before]!));
}

function isSignedBy(secret: string, { body, headers }: ReceivedRequest): boolean {
  try {
    new Verifier(secret).verify(body.toString(), headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

describe('the signing secret', () => {
  test('is shown when it is made, and nowhere else', async () => {
    const second = await rotate();
    const { id } = await sendTest();
    await settled(id, 'SUCCEEDED');
    const places = [path, `${base}/webhooks`, `${path}/deliveries`, `${base}/deliveries/${id}`, `${base}/events`];
    const answers = await Promise.all(places.map((place) => alice.rest('GET', place)));
    answers.push(await patch({ description: 'x' }), await alice.rest('GET', base));
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      for (const secret of [webhook.secret, second]) expect(JSON.stringify(body)).not.toContain(secret.slice(6));
      expect(body).not.toHaveProperty('secret');
    }
  });

  test('after a rotation signs beside the old one, until the overlap ends', async () => {
    const first = webhook.secret;
    expect(await verifiedBy(first)).toEqual([true]);
    const second = await rotate();
    expect(second).not.toBe(first);
    expect(await verifiedBy(first, second)).toEqual([true, true]);

    const ended = `UPDATE "Webhook" SET "previousSecretExpiresAt" = now() - interval '1 second' WHERE "id" = $1`;
    await pool.query(ended, [webhook.id]);
    expect(await verifiedBy(first, second)).toEqual([false, true]);
  });

  test('after two rotations is one of the last two', async () => {
    const second = await rotate({ overlapHours: 1 });
    const third = await rotate({ overlapHours: 1 });
    expect(await verifiedBy(webhook.secret, second, third)).toEqual([false, true, true]);
  });

  test('after a rotation without overlap is the new one alone, also when there was an overlap before', async () => {
    const second = await rotate({ overlapHours: 24 });
    const third = await rotate({ overlapHours: 0 });
    expect(await verifiedBy(webhook.secret, second, third)).toEqual([false, false, true]);
    expect((await alice.rest<Resource>('GET', path)).body.previousSecretExpiresAt).toBeNull();
  });

  test.each([
    [undefined, 24],
    [{ overlapHours: null }, 24],
    [{ overlapHours: 168 }, 168],
  ])('rotated with %j overlaps for %i hours', async (body, hours) => {
    const before = Date.now();
    await rotate(body);
    const { previousSecretExpiresAt } = (await alice.rest<Resource>('GET', path)).body;
    const overlap = new Date(previousSecretExpiresAt as string).getTime() - hours * 3_600_000;
    expect(overlap).toBeGreaterThanOrEqual(before);
    expect(overlap).toBeLessThanOrEqual(Date.now());
  });

  test.each([-1, 169, 1.5, '1'])('is not rotated with an overlap of %j hours', async (overlapHours) => {
    const answer = await alice.rest('POST', `${path}/rotate-secret`, { overlapHours });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/overlapHours' }] } });
    expect(await verifiedBy(webhook.secret)).toEqual([true]);
  });
});

describe('a test event', () => {
  test('is of the kind that was chosen, subscribed to or not, and says that it is a test', async () => {
    await patch({ eventTypes: ['endpoint.created'] });
    await settled((await sendTest({ eventType: 'payment.failed' })).id, 'SUCCEEDED');
    expect(JSON.parse(receiver.requests[0]!.body.toString())).toMatchObject({ type: 'payment.failed', test: true });
    expect(isSignedBy(webhook.secret, receiver.requests[0]!)).toBe(true);
  });

  test('is of a kind it is subscribed to when none was chosen', async () => {
    await patch({ eventTypes: ['customer.milestone'] });
    expect(await sendTest()).toMatchObject({ eventType: 'customer.milestone' });
  });

  test('is sent at once though the webhook is left alone for its failures', async () => {
    await pool.query(`UPDATE "Webhook" SET "circuitOpenUntil" = now() + interval '10 minutes' WHERE "id" = $1`, [
      webhook.id,
    ]);
    await createEndpoint(alice, base);
    const reasons = `SELECT "reason" FROM "Delivery" WHERE "webhookId" = $1`;
    const expected = [{ reason: 'circuit_open' }];
    await expect
      .poll(async () => (await pool.query(reasons, [webhook.id])).rows, { timeout: 10_000 })
      .toEqual(expected);
    await settled((await sendTest()).id, 'SUCCEEDED');
    expect(receiver.requests).toHaveLength(1);
  });

  test('reaches no other webhook', async () => {
    await using other = await startReceiver();
    await createWebhook(alice, base, { url: other.url });
    await settled((await sendTest()).id, 'SUCCEEDED');
    const list = await alice.rest<{ data: unknown[] }>('GET', `${base}/deliveries`);
    expect(list.body.data).toHaveLength(1);
    expect(other.requests).toEqual([]);
  });

  test('alone carries the mark', async () => {
    await createEndpoint(alice, base);
    const [request] = await receiver.waitFor(1);
    expect(JSON.parse(request!.body.toString())).not.toHaveProperty('test');
  });
});

describe('a disabled webhook', () => {
  test('has a skipped delivery of each event, that says why', async () => {
    expect((await patch({ isActive: false })).body).toMatchObject({ isActive: false, disabledReason: null });
    await createEndpoint(alice, base);
    const { body } = await alice.rest<{ data: Delivery[] }>('GET', `${path}/deliveries`);
    expect(body.data).toMatchObject([{ eventType: 'endpoint.created', status: 'SKIPPED', reason: 'disabled' }]);
    expect(await sendTest()).toMatchObject({ status: 'SKIPPED', reason: 'disabled' });
    expect(receiver.requests).toEqual([]);
  });

  test('that was disabled by the service forgets why when it is switched on, and gets events again', async () => {
    receiver.answerNext({ statusCode: 410 });
    await createEndpoint(alice, base);
    const webhookNow = async () => (await alice.rest<Resource>('GET', path)).body;
    await expect.poll(webhookNow).toMatchObject({ isActive: false, disabledReason: 'gone' });
    expect((await webhookNow()).disabledAt).not.toBeNull();

    const cleared = { isActive: true, disabledReason: null, disabledAt: null, failingSince: null };
    expect((await patch({ isActive: true })).body).toMatchObject(cleared);
    expect(await verifiedBy(webhook.secret)).toEqual([true]);
  });
});

describe('sending again', () => {
  test('keeps the id and the bytes of the event, and goes on counting attempts', async () => {
    receiver.answerNext({ statusCode: 400 });
    const { id } = await sendTest({ eventType: 'payment.settled' });
    await settled(id, 'FAILED');
    for (const count of [2, 3]) {
      expect((await resend(id)).status).toBe(200);
      await receiver.waitFor(count);
      await settled(id, 'SUCCEEDED');
    }
    const { attempts } = await deliveryOf(id);
    expect(attempts.toSorted((left, right) => left.number - right.number)).toMatchObject([
      { number: 1, trigger: 'MANUAL', statusCode: 400 },
      { number: 2, trigger: 'MANUAL', statusCode: 200 },
      { number: 3, trigger: 'MANUAL', statusCode: 200 },
    ]);
    const [first, ...others] = receiver.requests;
    for (const other of others) {
      expect(other.headers['webhook-id']).toBe(first!.headers['webhook-id']);
      expect(other.body).toEqual(first!.body);
      expect(isSignedBy(webhook.secret, other)).toBe(true);
    }
  });

  test('is refused while it is being sent', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    receiver.handle(() => released.then(() => ({})));
    const { id } = await sendTest();
    await receiver.waitFor(1);
    expect(await resend(id)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    release();
    await settled(id, 'SUCCEEDED');
    expect(receiver.requests).toHaveLength(1);
  });
});
