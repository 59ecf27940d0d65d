import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, type ReceiverHandler, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Delivery = Resource & { attemptCount: number; attempts?: Record<string, unknown>[] };

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let receiver: Receiver;
let base: string;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(() => app?.stop());
beforeEach(async () => {
  receiver = await startReceiver();
  ({ base } = await createProject(alice));
  return () => receiver.close();
});

const read = async (id: string) => (await rest.send<Delivery>(alice, 'GET', `${base}/deliveries/${id}`)).body;
const resend = (id: string) => rest.send<Delivery>(alice, 'POST', `${base}/deliveries/${id}/resend`);

/** Records an event and returns its delivery, which may not have finished. */
async function deliver(fields: object = {}): Promise<{ id: string; webhookId: string }> {
  const webhook = await createWebhook(alice, base, { url: `${receiver.url}/in`, ...fields });
  await createEndpoint(alice, base);
  const { body } = await rest.send<{ data: Delivery[] }>(alice, 'GET', `${base}/webhooks/${webhook.id}/deliveries`);
  return { id: body.data[0]!.id, webhookId: webhook.id };
}

describe('the delivery history', () => {
  test('shows the status, response time, and attempts of a delivery that succeeded', async () => {
    receiver.handle(() => ({ statusCode: 202, body: 'thanks' }));
    const { id, webhookId } = await deliver();
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    const delivery = await read(id);
    expect(delivery).toMatchObject({
      id,
      webhookId,
      connectorId: null,
      eventType: 'endpoint.created',
      reason: null,
      errorClass: null,
      statusCode: 202,
      responseTimeMs: expect.any(Number),
      attemptCount: 1,
      retryCount: 0,
      nextAttemptAt: null,
      attempts: [
        {
          number: 1,
          trigger: 'SCHEDULED',
          statusCode: 202,
          errorClass: null,
          responseBody: 'thanks',
          durationMs: expect.any(Number),
        },
      ],
    });
    const list = await rest.send<{ data: Delivery[] }>(alice, 'GET', `${base}/webhooks/${webhookId}/deliveries`);
    const { attempts: _attempts, ...row } = delivery;
    expect(list.body.data).toEqual([row]);
  });

  test('shows when a failed delivery will be retried', async () => {
    receiver.handle(() => ({ statusCode: 500, body: 'broken' }));
    const { id } = await deliver();
    await expect.poll(() => read(id)).toMatchObject({ status: 'PENDING', statusCode: 500 });
    const delivery = await read(id);
    expect(delivery).toMatchObject({ errorClass: 'http_status', nextAttemptAt: expect.any(String), completedAt: null });
    expect(delivery.attemptCount).toBe(delivery.attempts!.length);
    expect(delivery.retryCount).toBe(delivery.attemptCount - 1);
  });
});

describe('resending a delivery', () => {
  test('sends the same bytes with the same ID, and keeps counting attempts', async () => {
    const { id } = await deliver();
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    const response = await resend(id);
    expect(response).toMatchObject({ status: 200, body: { id, attemptCount: 1 } });
    const [first, second] = await receiver.waitFor(2);
    expect(second!.body.equals(first!.body)).toBe(true);
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    await expect
      .poll(() => read(id))
      .toMatchObject({
        status: 'SUCCEEDED',
        attemptCount: 2,
        retryCount: 1,
        attempts: [
          { number: 1, trigger: 'SCHEDULED' },
          { number: 2, trigger: 'MANUAL' },
        ],
      });
  });

  test('makes a failed delivery pending again', async () => {
    receiver.respondNext({ statusCode: 410 });
    const { id, webhookId } = await deliver();
    await expect.poll(() => read(id)).toMatchObject({ status: 'FAILED' });
    await rest.send(alice, 'PATCH', `${base}/webhooks/${webhookId}`, { body: { isActive: true } });
    expect((await resend(id)).status).toBe(200);
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED', attemptCount: 2, reason: null });
  });

  test('skips it again if its webhook is disabled', async () => {
    const { id, webhookId } = await deliver();
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    await rest.send(alice, 'PATCH', `${base}/webhooks/${webhookId}`, { body: { isActive: false } });
    expect((await resend(id)).status).toBe(200);
    await expect.poll(() => read(id)).toMatchObject({ status: 'SKIPPED', reason: 'disabled', attemptCount: 1 });
  });

  test('is rejected while the delivery is being sent', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const stall: ReceiverHandler = async () => {
      await released;
      return {};
    };
    receiver.handle(stall);
    const { id } = await deliver();
    await receiver.waitFor(1);
    expect(await resend(id)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    const { errors } = await alice.graphql(`mutation { resendDelivery(input: { id: "${id}" }) { delivery { id } } }`);
    expect(errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }]);
    release();
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED', attemptCount: 1 });
    expect(receiver.requests).toHaveLength(1);
  });

  test('twice at the same time sends it at least once more and counts every attempt', async () => {
    const { id } = await deliver();
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    const statuses = (await Promise.all([resend(id), resend(id), resend(id)])).map(({ status }) => status);
    expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
    await expect.poll(() => read(id)).toMatchObject({ status: 'SUCCEEDED' });
    const { attemptCount, attempts } = await read(id);
    expect(attemptCount).toBeGreaterThan(1);
    expect(attempts!.map(({ number }) => number)).toEqual(
      Array.from({ length: attemptCount }, (_, index) => index + 1),
    );
  });
});
