import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHealth } from '../../../src/delivery/outcome/health.ts';
import type { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage, until } from '../support.ts';

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

async function setFailingSince(webhookId: string, interval: string): Promise<void> {
  await stage.pool.query(`UPDATE "Webhook" SET "failingSince" = now() - $2::interval WHERE "id" = $1`, [
    webhookId,
    interval,
  ]);
}

/** Adds deliveries that ran out of retries, each one the given interval ago. */
async function addGivenUp(webhookId: string, ...intervals: string[]): Promise<void> {
  for (const interval of intervals) {
    const values = { status: 'FAILED', reason: 'exhausted', nextAttemptAt: null, retryStep: 3 };
    const id = await stage.addDelivery(webhookId, values);
    await stage.pool.query(`UPDATE "Delivery" SET "completedAt" = now() - $2::interval WHERE "id" = $1`, [
      id,
      interval,
    ]);
  }
}

describe('a webhook', () => {
  test('is disabled immediately if it returns 410, and its waiting deliveries are skipped', async () => {
    receiver.handle(() => ({ statusCode: 410 }));
    const webhook = await stage.addWebhook(receiver.url);
    const later = await stage.addDelivery(webhook.id, { nextAttemptAt: new Date(Date.now() + 3_600_000) });
    const id = await stage.addDelivery(webhook.id);
    worker = stage.startWorker();
    expect(await stage.deliveryIs(id, 'FAILED')).toMatchObject({ reason: 'gone', statusCode: 410 });
    expect(await stage.webhook(webhook.id)).toMatchObject({
      isActive: false,
      disabledReason: 'gone',
      disabledAt: expect.any(Date),
    });
    expect(await stage.deliveryIs(later, 'SKIPPED')).toMatchObject({ reason: 'disabled', nextAttemptAt: null });
    expect(receiver.requests).toHaveLength(1);
    expect(stage.lines).toContainEqual(expect.objectContaining({ msg: 'webhook disabled', webhookId: webhook.id }));
  });

  test('stays active if its URL has changed since and the old URL returns 410', async () => {
    const webhook = await stage.addWebhook(receiver.url);
    receiver.handle(async () => {
      await stage.pool.query(`UPDATE "Webhook" SET "url" = 'https://new.example' WHERE "id" = $1`, [webhook.id]);
      return { statusCode: 410 };
    });
    const id = await stage.addDelivery(webhook.id);
    worker = stage.startWorker();
    await stage.deliveryIs(id, 'FAILED');
    expect(await stage.webhook(webhook.id)).toMatchObject({ isActive: true, disabledReason: null });
  });

  test('is disabled if it has failed for five days and a third delivery runs out of retries', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    await setFailingSince(webhook.id, '5 days 1 second');
    await addGivenUp(webhook.id, '4 days', '1 day');
    const later = await stage.addDelivery(webhook.id, { nextAttemptAt: new Date(Date.now() + 3_600_000) });
    const id = await stage.addDelivery(webhook.id);
    worker = stage.startWorker();
    await until(async () => (await stage.webhook(webhook.id)).isActive === false);
    expect(await stage.webhook(webhook.id)).toMatchObject({ disabledReason: 'failing', disabledAt: expect.any(Date) });
    expect(await stage.deliveryIs(id, 'FAILED')).toMatchObject({ reason: 'exhausted', attemptCount: 4 });
    expect(await stage.deliveryIs(later, 'SKIPPED')).toMatchObject({ reason: 'disabled' });
  });

  test('stays active if it has failed for slightly less than five days', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    await setFailingSince(webhook.id, '4 days 23 hours');
    await addGivenUp(webhook.id, '4 days', '1 day');
    worker = stage.startWorker();
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'FAILED');
    expect(await stage.webhook(webhook.id)).toMatchObject({ isActive: true });
  });

  test('stays active if it fails once after quiet days, even if an older delivery failed and none succeeded', async () => {
    receiver.respondNext({ statusCode: 500 });
    const webhook = await stage.addWebhook(receiver.url);
    await setFailingSince(webhook.id, '6 days');
    await addGivenUp(webhook.id, '3 days');
    const id = await stage.addDelivery(webhook.id);
    worker = stage.startWorker();
    expect(await stage.deliveryIs(id, 'SUCCEEDED')).toMatchObject({ attemptCount: 2 });
    expect(await stage.webhook(webhook.id)).toMatchObject({ isActive: true, failingSince: null });
  });

  test('stays active when one delivery runs out of retries after quiet days, no matter what failed before', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    await setFailingSince(webhook.id, '9 days');
    await addGivenUp(webhook.id, '6 days', '6 days', '5 days 1 minute');
    worker = stage.startWorker();
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'FAILED');
    expect(await stage.webhook(webhook.id)).toMatchObject({ isActive: true });
  });

  test('is not disabled while failed deliveries are still being retried, no matter how many deliveries failed recently', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    await setFailingSince(webhook.id, '6 days');
    await addGivenUp(webhook.id, '3 days', '2 days', '1 day');
    const id = await stage.addDelivery(webhook.id);
    worker = stage.startWorker({ retryScheduleSeconds: [0.05, 3_600, 3_600] });
    await until(async () => (await stage.delivery(id)).attemptCount === 2);
    expect(await stage.webhook(webhook.id)).toMatchObject({ isActive: true });
  });

  test('counts as failing from its first failure until its next success', async () => {
    receiver.respondNext({ statusCode: 500 });
    const webhook = await stage.addWebhook(receiver.url);
    const id = await stage.addDelivery(webhook.id);
    worker = stage.startWorker({ retryScheduleSeconds: [1] });
    await until(async () => (await stage.webhook(webhook.id)).failingSince !== null);
    await stage.deliveryIs(id, 'SUCCEEDED');
    expect(await stage.webhook(webhook.id)).toMatchObject({ failingSince: null, isActive: true });
  });

  test('counts as failing again from the next failure after its failures were cleared manually', async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const webhook = await stage.addWebhook(receiver.url);
    worker = stage.startWorker({ retryScheduleSeconds: [] });
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'FAILED');
    await stage.pool.query(`UPDATE "Webhook" SET "failingSince" = NULL WHERE "id" = $1`, [webhook.id]);
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'FAILED');
    expect(await stage.webhook(webhook.id)).toMatchObject({ failingSince: expect.any(Date) });
  });

  test('recovers in all processes if it recovers in one', async () => {
    const webhook = await stage.addWebhook(receiver.url);
    await setFailingSince(webhook.id, '3 days');
    worker = stage.startWorker();
    await stage.deliveryIs(await stage.addDelivery(webhook.id), 'SUCCEEDED');
    expect(await stage.webhook(webhook.id)).toMatchObject({ failingSince: null });
  });

  test('receives nothing while it is inactive, and its deliveries are skipped with a reason', async () => {
    const webhook = await stage.addWebhook(receiver.url, { isActive: false });
    const id = await stage.addDelivery(webhook.id);
    worker = stage.startWorker();
    expect(await stage.deliveryIs(id, 'SKIPPED')).toMatchObject({ reason: 'disabled', attemptCount: 0 });
    expect(receiver.requests).toHaveLength(0);
  });
});

test("pauses by the service hold one account's waiting deliveries in one step at most ten times a minute", async () => {
  await stage.pool.query('TRUNCATE "RateLimit"');
  const other = await stage.addProject();
  const health = createHealth({ db: stage.pool, log: stage.log });
  const ids: string[] = [];
  for (const projectId of [...Array.from({ length: 11 }, () => stage.projectId), other]) {
    const { id } = await stage.addWebhook(receiver.url, { projectId, pausedAt: new Date(), pausedReason: 'Rejected.' });
    ids.push(await stage.addDelivery(id, { projectId }));
    health.onPaused('webhook', { id, projectId, reason: 'Rejected.' });
  }
  await until(async () => (await stage.delivery(ids.at(-1)!)).reason === 'paused');
  const reasons = await Promise.all(ids.map(async (id) => (await stage.delivery(id)).reason));
  expect(reasons).toEqual([...Array(10).fill('paused'), null, 'paused']);
});

test.each([
  { kind: 'disable', column: 'isActive', reasonColumn: 'disabledReason' },
  { kind: 'pause', column: 'pausedAt', reasonColumn: 'pausedReason' },
])(
  'one statement makes the same change to all webhooks of a batch of results, because everyone’s next results wait for it: $kind',
  async ({ kind, column, reasonColumn }) => {
    const texts: string[] = [];
    const query = ((...args: Parameters<typeof stage.pool.query>) => {
      texts.push((args[0] as unknown as { text: string }).text);
      return stage.pool.query(...args);
    }) as typeof stage.pool.query;
    const health = createHealth({ db: { query }, log: stage.log });
    const urls = Array.from({ length: 20 }, (_, index) => `${receiver.url}/${index}`);
    const webhooks = await Promise.all(urls.map((url) => stage.addWebhook(url, { secretCredentials: url })));
    const before = await Promise.all(webhooks.map(({ id }) => stage.webhook(id)));
    const outcomes = webhooks.map(({ id }, index) => {
      // The first one has been changed since.
      const url = index === 0 ? 'https://old.example' : urls[index];
      const webhook = { url, secretCredentials: url };
      const delivery = { id: `del_${index}`, destination: id, projectId: stage.projectId, webhook, connector: null };
      return { delivery, health: { kind, reason: 'gone' }, attempts: [], remember: undefined };
    });
    await health.apply(outcomes as unknown as Parameters<typeof health.apply>[0]);
    const after = await Promise.all(webhooks.map(({ id }) => stage.webhook(id)));
    const isChanged = after.map((row, index) => row[column] !== before[index]![column]);
    expect(isChanged).toEqual(after.map((_, index) => index > 0));
    expect(after.at(-1)).toMatchObject({ [reasonColumn]: 'gone' });
    expect(texts.filter((text) => text.includes(`"${reasonColumn}"`))).toHaveLength(1);
  },
);
