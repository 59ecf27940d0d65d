import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { topics } from '../../../src/bus/bus.ts';
import type { DeliverySettings } from '../../../src/delivery/delivery-settings.ts';
import { judge } from '../../../src/delivery/outcome/judge.ts';
import { recordOutcomes } from '../../../src/delivery/outcome/record.ts';
import { claimDue } from '../../../src/delivery/queue/claim.ts';
import { releaseHeld } from '../../../src/delivery/queue/held.ts';
import { newWebhookSecret } from '../../../src/delivery/send/signing.ts';
import type { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../support/receiver.ts';
import { FAST, openStage, type Stage, until } from '../support.ts';

let stage: Stage;
let receiver: Receiver;
let worker: DeliveryWorker | undefined;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  await worker?.stop();
  worker = undefined;
});
afterAll(() => stage.close());

const start = (settings: Partial<DeliverySettings> = {}) => {
  worker = stage.startWorker(settings);
};
/** A failure counts as quick even on a busy machine. */
const QUICK = { ...FAST.quickRetries!, maxRetries: 2, maxDurationMilliseconds: 60_000 };

function verify(secret: string, { headers, body }: ReceivedRequest): unknown {
  return new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
}

describe('a webhook delivery', () => {
  test('is signed and recorded with its attempt', async () => {
    receiver.respondNext({ statusCode: 202, body: 'thanks' });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start();
    const delivery = await stage.deliveryIs(id, 'SUCCEEDED');
    const request = receiver.requests[0]!;
    expect(request).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'Tollgate/1.2.3', 'webhook-id': delivery.eventId },
    });
    const body = verify(webhook.secret, request);
    expect(body).toMatchObject({ id: delivery.eventId, type: 'endpoint.created', projectId: stage.projectId });
    expect(body).not.toHaveProperty('test');
    expect(delivery).toMatchObject({ attemptCount: 1, retryStep: 0, statusCode: 202, errorClass: null });
    expect(delivery).toMatchObject({ nextAttemptAt: null, leasedUntil: null, completedAt: expect.any(Date) });
    expect(await stage.attempts(id)).toMatchObject([
      { number: 1, trigger: 'SCHEDULED', statusCode: 202, errorClass: null, responseBody: 'thanks' },
    ]);
  });

  test('is retried until it succeeds, always with the same ID and bytes', async () => {
    receiver.respondNext({ statusCode: 500, body: 'no' }, { statusCode: 404 });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start();
    const delivery = await stage.deliveryIs(id, 'SUCCEEDED');
    expect(receiver.requests).toHaveLength(3);
    for (const request of receiver.requests) {
      expect(request.headers['webhook-id']).toBe(delivery.eventId);
      expect(request.body).toEqual(receiver.requests[0]!.body);
      verify(webhook.secret, request);
    }
    expect(delivery).toMatchObject({ attemptCount: 3, retryStep: 2, statusCode: 200 });
    expect(await stage.attempts(id)).toMatchObject([
      { number: 1, statusCode: 500, errorClass: 'http_status', responseBody: 'no' },
      { number: 2, statusCode: 404, errorClass: 'http_status', responseBody: null },
      { number: 3, statusCode: 200, errorClass: null },
    ]);
  });

  test('fails at the end of the retry schedule', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start();
    const delivery = await stage.deliveryIs(id, 'FAILED');
    expect(delivery).toMatchObject({ reason: 'exhausted', attemptCount: 4, statusCode: 500, nextAttemptAt: null });
    expect(receiver.requests).toHaveLength(4);
  });

  test('is signed with the new and the previous secret during a rotation', async () => {
    const previous = newWebhookSecret();
    const webhook = await stage.addWebhook(receiver.url);
    const cell = { table: 'Webhook', column: 'previousSecret', rowId: webhook.id, projectId: stage.projectId };
    const rotate = (expires: string) =>
      stage.pool.query(
        `UPDATE "Webhook" SET "previousSecret" = $2, "previousSecretExpiresAt" = now() + $3::interval WHERE "id" = $1`,
        [webhook.id, stage.secretBox.seal(previous, cell), expires],
      );
    await rotate('1 hour');
    start();
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'SUCCEEDED');
    await rotate('-1 second');
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'SUCCEEDED');

    const [during, afterwards] = receiver.requests;
    verify(webhook.secret, during!);
    verify(previous, during!);
    verify(webhook.secret, afterwards!);
    expect(() => verify(previous, afterwards!)).toThrow();
  });

  test('marks a test event', async () => {
    const webhook = await stage.addWebhook(receiver.url);
    start();
    await stage.deliveryIs(await stage.addDelivery(webhook.id, {}, { test: true }), 'SUCCEEDED');
    expect(JSON.parse(receiver.requests[0]!.body.toString())).toMatchObject({ test: true });
  });

  test('fails on a redirect instead of following it', async () => {
    receiver.handle(() => ({ statusCode: 302, headers: { location: '/elsewhere' } }));
    const webhook = await stage.addWebhook(`${receiver.url}/hook`);
    const id = await stage.addDelivery(webhook.id);
    start();
    await stage.deliveryIs(id, 'FAILED');
    expect(new Set(receiver.requests.map(({ path }) => path))).toEqual(new Set(['/hook']));
    expect((await stage.attempts(id))[0]).toMatchObject({ statusCode: 302, errorClass: 'redirect' });
  });

  test('is aborted after the timeout and retried', async () => {
    receiver.handle((_request, _response, index) => (index === 0 ? undefined : {}));
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start({ timeoutMilliseconds: 100, retryScheduleSeconds: [3_600] });
    await expect.poll(() => stage.attempts(id)).toHaveLength(1);
    await expect.poll(() => stage.delivery(id)).toMatchObject({ status: 'PENDING' });
    // The short timeout is only for the request that fails.
    await stage.pool.query(`UPDATE "Webhook" SET "timeoutSeconds" = 30 WHERE "id" = $1`, [webhook.id]);
    await stage.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "id" = $1`, [id]);
    stage.bus.publish(topics.deliveriesDue);
    await stage.deliveryIs(id, 'SUCCEEDED');
    expect(await stage.attempts(id)).toMatchObject([{ statusCode: null, errorClass: 'timeout' }, { statusCode: 200 }]);
  });

  test('fails without a connection if the address is not allowed', async () => {
    const webhook = await stage.addWebhook('http://127.0.0.2:1/');
    const id = await stage.addDelivery(webhook.id);
    start({ retryScheduleSeconds: [] });
    const delivery = await stage.deliveryIs(id, 'FAILED');
    expect(delivery).toMatchObject({ errorClass: 'target_not_allowed', statusCode: null });
  });

  test('is retried if its secret cannot be decrypted, and the webhook is not marked as failing', async () => {
    const webhook = await stage.addWebhook(receiver.url, { secret: 'v1.k1.AAAA.AAAA.AAAA' });
    const id = await stage.addDelivery(webhook.id);
    start();
    await stage.deliveryIs(id, 'FAILED');
    expect(await stage.delivery(id)).toMatchObject({ attemptCount: 4, errorClass: 'internal' });
    expect(await stage.webhook(webhook.id)).toMatchObject({ failingSince: null });
    expect(receiver.requests).toHaveLength(0);
  });
});

describe('a paused webhook', () => {
  test('holds its deliveries without an attempt, even those resent manually, and sends them when it is resumed', async () => {
    const webhook = await stage.addWebhook(receiver.url, { pausedAt: new Date() });
    const ids = await stage.addDeliveries(webhook.id, 2);
    ids.push(await stage.addDelivery(webhook.id, { trigger: 'MANUAL', attemptCount: 3 }));
    start();
    const held = { status: 'PENDING', reason: 'paused', nextAttemptAt: null, retryStep: 0 };
    for (const id of ids) {
      await until(async () => (await stage.delivery(id)).nextAttemptAt === null);
      expect(await stage.delivery(id)).toMatchObject(held);
    }
    expect(receiver.requests).toEqual([]);
    await stage.pool.query(`UPDATE "Webhook" SET "pausedAt" = NULL WHERE "id" = $1`, [webhook.id]);
    expect(await releaseHeld(stage.pool, webhook.id)).toBe(3);
    for (const id of ids) await stage.deliveryIs(id, 'SUCCEEDED');
  });

  test('still gets test events', async () => {
    const webhook = await stage.addWebhook(receiver.url, { pausedAt: new Date() });
    const id = await stage.addDelivery(webhook.id, {}, { test: true });
    start();
    await stage.deliveryIs(id, 'SUCCEEDED');
  });

  test('sends a delivery if the pause ends while the delivery is being held', async () => {
    const webhook = await stage.addWebhook(receiver.url, { pausedAt: new Date() });
    const id = await stage.addDelivery(webhook.id);
    const { deliveries } = await claimDue(stage.pool, {
      limit: 10,
      retryLimit: 10,
      leaseSeconds: 30,
      capacity: new Map(),
      defaultCapacity: 10,
    });
    await stage.pool.query(`UPDATE "Webhook" SET "pausedAt" = NULL WHERE "id" = $1`, [webhook.id]);
    await recordOutcomes(stage.pool, [judge(deliveries[0]!, { attempts: [], verdict: { kind: 'hold' } })]);
    expect(await stage.delivery(id)).toMatchObject({ status: 'PENDING', nextAttemptAt: expect.any(Date) });
  });
});

describe('quick retries', () => {
  test('recover from a short failure within one claim', async () => {
    receiver.respondNext({ statusCode: 503 }, { statusCode: 500 });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start({ quickRetries: QUICK });
    const delivery = await stage.deliveryIs(id, 'SUCCEEDED');
    expect(delivery).toMatchObject({ leaseToken: 1, attemptCount: 3, retryStep: 0 });
    expect(await stage.attempts(id)).toMatchObject([
      { number: 1, statusCode: 503 },
      { number: 2, statusCode: 500 },
      { number: 3, statusCode: 200 },
    ]);
  });

  test('recover from a refused connection', async () => {
    const { port, url } = receiver;
    await receiver.close();
    const webhook = await stage.addWebhook(url);
    const id = await stage.addDelivery(webhook.id);
    start({ quickRetries: QUICK, retryScheduleSeconds: [600] });
    await until(async () => (await stage.delivery(id)).attemptCount === 3);
    expect(await stage.delivery(id)).toMatchObject({
      status: 'PENDING',
      errorClass: 'connection_refused',
      retryStep: 1,
    });
    expect(port).toBeGreaterThan(0);
  });

  test('respect a short Retry-After', async () => {
    receiver.respondNext({ statusCode: 429, headers: { 'retry-after': '1' } });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start({ quickRetries: QUICK });
    expect(await stage.deliveryIs(id, 'SUCCEEDED')).toMatchObject({ leaseToken: 1, attemptCount: 2 });
    const [first, second] = await stage.attempts(id);
    expect((second!.startedAt as Date).getTime() - (first!.startedAt as Date).getTime()).toBeGreaterThanOrEqual(999);
  });

  test('leave a slow failure to the schedule', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start({ quickRetries: { ...QUICK, maxDurationMilliseconds: 0 }, retryScheduleSeconds: [600] });
    await until(async () => (await stage.delivery(id)).attemptCount === 1);
    expect(await stage.delivery(id)).toMatchObject({ status: 'PENDING', retryStep: 1 });
  });
});

describe('Retry-After', () => {
  test('is never shortened by the schedule', async () => {
    receiver.respondNext({ statusCode: 503, headers: { 'retry-after': '3600' } });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start();
    await until(async () => (await stage.delivery(id)).attemptCount === 1);
    const { rows } = await stage.pool.query(
      `SELECT extract(epoch FROM "nextAttemptAt" - now()) AS wait FROM "Delivery" WHERE "id" = $1`,
      [id],
    );
    expect(Number(rows[0].wait)).toBeGreaterThan(3_500);
    expect(Number(rows[0].wait)).toBeLessThanOrEqual(3_600);
  });

  test('counts once if it is repeated, and doesn’t keep a delivery from succeeding', async () => {
    receiver.respondNext({ statusCode: 429, headers: { 'retry-after': ['1', '3600'] } });
    receiver.respondNext({ headers: { 'retry-after': ['1', '3600'] } });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    start();
    await stage.deliveryIs(id, 'SUCCEEDED');
    expect(await stage.attempts(id)).toMatchObject([
      { statusCode: 429, errorClass: 'http_status' },
      { statusCode: 200, errorClass: null },
    ]);
  });
});

describe('an attempt', () => {
  test('is recorded with a response that is limited in size, storable, and free of our secrets', async () => {
    const webhook = await stage.addWebhook(receiver.url);
    const response = Buffer.concat([
      Buffer.from(`a\0b ${webhook.secret} `),
      Buffer.from([0xff]),
      Buffer.alloc(90_000, 'x'),
    ]);
    receiver.respondNext({ body: response });
    const id = await stage.addDelivery(webhook.id);
    start();
    await stage.deliveryIs(id, 'SUCCEEDED');
    const [attempt] = await stage.attempts(id);
    const text = attempt!.responseBody as string;
    expect(text).toMatch(/^ab •••• \ufffdxxx/);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16_384);
  });

  test('is logged as one line, without secrets', async () => {
    receiver.respondNext({ statusCode: 500 });
    const webhook = await stage.addWebhook(`${receiver.url}/?token=hidden`);
    const id = await stage.addDelivery(webhook.id);
    start();
    const { eventId } = await stage.deliveryIs(id, 'SUCCEEDED');
    const lines = stage.lines.filter((line) => line.deliveryId === id);
    const facts = { eventId, eventType: 'endpoint.created', projectId: stage.projectId, webhookId: webhook.id };
    expect(lines).toMatchObject([
      {
        ...facts,
        number: 1,
        statusCode: 500,
        errorClass: 'http_status',
        outcome: 'PENDING',
        dueInSeconds: expect.any(Number),
      },
      { ...facts, number: 2, statusCode: 200, errorClass: null, outcome: 'SUCCEEDED', durationMs: expect.any(Number) },
    ]);
    expect(JSON.stringify(stage.lines)).not.toContain(webhook.secret);
    expect(JSON.stringify(lines)).not.toContain('hidden');
  });
});
