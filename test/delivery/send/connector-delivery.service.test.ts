import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { topics } from '../../../src/bus/bus.ts';
import { type ConnectorDefinition, defineConnector } from '../../../src/connectors/definition.ts';
import { secretField, textField } from '../../../src/connectors/fields.ts';
import { releaseHeld } from '../../../src/delivery/queue/held.ts';
import { QUICK_RETRIES } from '../../../src/delivery/send/retry-policy.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage, until } from '../support.ts';

let stage: Stage;
let receiver: Receiver;
let cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  await stage.pool.query('TRUNCATE "Delivery", "Attempt", "Connector" CASCADE');
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});
afterAll(() => stage.close());

const config = z.strictObject({
  url: textField({ title: 'URL', description: 'Where it goes.' }),
  apiKey: secretField({ title: 'Key', description: 'The key.' }),
});
type Config = z.infer<typeof config>;
const KEY = 'key-0123456789abcdef';

/** Posts the IDs of the events. Status 200 delivers, 401 pauses, 404 disables, 422 drops, and others are retried. */
const plain = defineConnector<Config>({
  type: 'slack',
  title: 'Plain',
  category: 'Communication',
  description: 'For tests.',
  documentationUrl: 'https://example.com',
  config,
  supportsEvent: (kind) => kind !== 'payment.verified',
  build: (events, { url, apiKey }, { attemptNumber, previousAttemptAmbiguous, memory, projectName }) => ({
    method: 'POST',
    url,
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({
      ids: events.map(({ id }) => id),
      attemptNumber,
      previousAttemptAmbiguous,
      memory,
      projectName,
    }),
  }),
  classify: ({ statusCode, headers, body }) => {
    if (statusCode === 200) return { kind: 'delivered', note: `It said ${body}` };
    if (statusCode === 401) return { kind: 'pause', reason: `Replace the key ${KEY}.` };
    if (statusCode === 404) return { kind: 'disable', reason: 'The channel is gone.' };
    if (statusCode === 422) return { kind: 'drop', reason: 'The service did not accept it.' };
    return {
      kind: 'retry',
      reason: 'Busy.',
      ...(headers['retry-after'] && { afterSeconds: Number(headers['retry-after']) }),
    };
  },
});

function start(definition: ConnectorDefinition<Config>, settings: Parameters<Stage['startWorker']>[0] = {}) {
  const worker = stage.startWorker(settings, { connectors: [definition as unknown as ConnectorDefinition] });
  cleanups.push(() => worker.stop());
}

const addConnector = (values: Record<string, unknown> = {}) =>
  stage.addConnector('slack', { url: receiver.url, apiKey: KEY }, values);
const bodies = () => receiver.requests.map(({ body }) => JSON.parse(body.toString()));

describe('a connector delivery', () => {
  test('is sent the way its type builds it, and is recorded', async () => {
    receiver.respondNext({ body: `ok ${KEY}` });
    const id = await stage.addDelivery(await addConnector());
    start(plain);
    const delivery = await stage.deliveryIs(id, 'SUCCEEDED');
    expect(receiver.requests[0]).toMatchObject({
      headers: { authorization: `Bearer ${KEY}`, 'user-agent': 'Tollgate/1.2.3' },
    });
    expect(bodies()).toEqual([
      {
        ids: [delivery.eventId],
        attemptNumber: 1,
        previousAttemptAmbiguous: false,
        memory: {},
        projectName: 'Weather',
      },
    ]);
    expect(delivery).toMatchObject({ statusCode: 200, reason: 'It said ok ••••' });
    expect(await stage.attempts(id)).toMatchObject([{ number: 1, statusCode: 200, responseBody: 'ok ••••' }]);
  });

  test("follows its type's own retry schedule, without quick retries", async () => {
    receiver.respondNext({ statusCode: 500 }, { statusCode: 500 }, { statusCode: 500 });
    const id = await stage.addDelivery(await addConnector());
    start(
      { ...plain, retryDelaysSeconds: [0.5, 0.5] },
      { quickRetries: QUICK_RETRIES, retryScheduleSeconds: undefined },
    );
    const delivery = await stage.deliveryIs(id, 'FAILED');
    expect(delivery).toMatchObject({ attemptCount: 3, reason: 'Busy.' });
    const times = (await stage.attempts(id)).map(({ startedAt }) => (startedAt as Date).getTime());
    // 0.5 seconds, minus 20%.
    for (const index of [1, 2]) expect(times[index]! - times[index - 1]!).toBeGreaterThan(390);
  });

  test("runs out of retries after its type's own schedule, so a connector that fails for days is disabled", async () => {
    receiver.handle(() => ({ statusCode: 500 }));
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
    const connectorId = await addConnector({ failingSince: daysAgo(6) });
    const givenUp = { status: 'FAILED', reason: 'exhausted', nextAttemptAt: null, retryStep: 1 };
    for (const days of [2, 1]) await stage.addDelivery(connectorId, { ...givenUp, completedAt: daysAgo(days) });
    const id = await stage.addDelivery(connectorId);
    start({ ...plain, retryDelaysSeconds: [0.05] }, { retryScheduleSeconds: undefined });
    expect(await stage.deliveryIs(id, 'FAILED')).toMatchObject({ attemptCount: 2 });
    await until(async () => (await stage.connector(connectorId)).isActive === false);
    expect(await stage.connector(connectorId)).toMatchObject({ disabledReason: 'failing' });
  });

  test('is retried as its type specifies, with the attempt number', async () => {
    receiver.respondNext({ statusCode: 500 });
    const id = await stage.addDelivery(await addConnector());
    start(plain);
    await stage.deliveryIs(id, 'SUCCEEDED');
    expect(bodies()).toMatchObject([{ attemptNumber: 1 }, { attemptNumber: 2, previousAttemptAmbiguous: false }]);
    expect((await stage.attempts(id))[0]).toMatchObject({ errorClass: 'http_status', errorMessage: 'Busy.' });
  });

  test('is not retried earlier than the vendor allows', async () => {
    receiver.respondNext({ statusCode: 429, headers: { 'retry-after': '900' } });
    const id = await stage.addDelivery(await addConnector());
    start(plain);
    await until(async () => (await stage.delivery(id)).attemptCount === 1);
    const { nextAttemptAt, updatedAt, reason } = await stage.delivery(id);
    expect((nextAttemptAt as Date).getTime() - (updatedAt as Date).getTime()).toBeGreaterThanOrEqual(899_990);
    expect(reason).toBe('Busy.');
  });

  test('is marked if the previous attempt may have arrived', async () => {
    receiver.handle((_request, response, index) => {
      if (index > 0) return {};
      response.destroy();
      return undefined;
    });
    const id = await stage.addDelivery(await addConnector());
    start(plain, {
      quickRetries: {
        maxRetries: 2,
        maxDurationMilliseconds: 60_000,
        maxRetryAfterSeconds: 2,
        minDelayMilliseconds: 1,
      },
    });
    const delivery = await stage.deliveryIs(id, 'SUCCEEDED');
    expect(bodies()).toMatchObject([{ previousAttemptAmbiguous: false }, { previousAttemptAmbiguous: true }]);
    expect(delivery.leaseToken).toBe(2);
  });

  test('fails without retries if it is dropped, and affects no other delivery', async () => {
    receiver.respondNext({ statusCode: 422 });
    const connectorId = await addConnector();
    const id = await stage.addDelivery(connectorId);
    start(plain);
    const reason = 'The service did not accept it.';
    expect(await stage.deliveryIs(id, 'FAILED')).toMatchObject({ reason, attemptCount: 1, errorClass: 'http_status' });
    expect(await stage.connector(connectorId)).toMatchObject({ isActive: true, failingSince: null, pausedAt: null });
  });

  test('is skipped if the connector does not support the event type or skips the event', async () => {
    const connectorId = await addConnector();
    const values = { eventType: 'payment.verified' };
    const unsupported = await stage.addDelivery(connectorId, values, { type: 'payment.verified' });
    start({ ...plain, build: () => ({ skip: 'Nothing to book.' }) });
    expect(await stage.deliveryIs(unsupported, 'SKIPPED')).toMatchObject({
      reason: 'unsupported_event',
      attemptCount: 0,
    });
    const skipped = await stage.addDelivery(connectorId);
    expect(await stage.deliveryIs(skipped, 'SKIPPED')).toMatchObject({ reason: 'Nothing to book.', attemptCount: 0 });
    expect(receiver.requests).toHaveLength(0);
  });

  test('fails with an internal error and is retried if its connector type throws', async () => {
    const id = await stage.addDelivery(await addConnector());
    start({
      ...plain,
      build: () => {
        throw new Error(`boom ${KEY}`);
      },
    });
    await stage.deliveryIs(id, 'FAILED');
    const [attempt] = await stage.attempts(id);
    expect(attempt).toMatchObject({ errorClass: 'internal', errorMessage: expect.not.stringContaining(KEY) });
  });

  test('disables the connector if its channel no longer exists', async () => {
    receiver.respondNext({ statusCode: 404 });
    const connectorId = await addConnector();
    const id = await stage.addDelivery(connectorId);
    start(plain);
    expect(await stage.deliveryIs(id, 'FAILED')).toMatchObject({ reason: 'The channel is gone.' });
    const disabled = { isActive: false, disabledReason: 'The channel is gone.', disabledAt: expect.any(Date) };
    expect(await stage.connector(connectorId)).toMatchObject(disabled);
    const later = await stage.addDelivery(connectorId);
    expect(await stage.deliveryIs(later, 'SKIPPED')).toMatchObject({ reason: 'disabled' });
  });
});

describe('an unknown connector type', () => {
  test('skips its deliveries, or retries them if the lookup throws, without affecting others', async () => {
    const lookups: ((type: string) => ConnectorDefinition | undefined)[] = [
      () => undefined,
      () => {
        throw new Error('There is no such type.');
      },
    ];
    for (const [index, lookup] of lookups.entries()) {
      const id = await stage.addDelivery(await addConnector());
      const webhook = await stage.addWebhook(receiver.url);
      const other = await stage.addDelivery(webhook.id);
      const worker = stage.startWorker({ retryScheduleSeconds: [] }, { findConnector: lookup });
      await stage.deliveryIs(other, 'SUCCEEDED');
      const expected = index === 0 ? { reason: 'unknown_type' } : { errorClass: 'internal' };
      expect(await stage.deliveryIs(id, index === 0 ? 'SKIPPED' : 'FAILED')).toMatchObject(expected);
      await worker.stop();
    }
  });
});

describe('a delivery with several calls', () => {
  const chained: ConnectorDefinition<Config> = {
    ...plain,
    build: (_events, { url }, { memory }) => ({
      method: 'GET',
      url: `${url}/find?known=${memory.item ?? ''}`,
      headers: {},
      step: 'find',
    }),
    classify: ({ body }, { step, config, memory }) => {
      const learned: Record<string, string> = memory.old ? { old: '', last: step } : { last: step };
      if (step !== 'find') return { kind: 'delivered', remember: learned };
      const request = { method: 'POST' as const, url: `${config.url}/write`, headers: {}, body, step: 'write' };
      return { kind: 'next', request, remember: { item: body } };
    },
  };

  test('is one attempt, and what the connector remembers is available to the next delivery', async () => {
    receiver.handle(({ path }) => ({ body: path.startsWith('/find') ? '42' : 'written' }));
    const connectorId = await addConnector({ memory: { old: 'x', kept: 'y' } });
    const id = await stage.addDelivery(connectorId);
    start(chained);
    await stage.deliveryIs(id, 'SUCCEEDED');
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/find?known=', '/write']);
    expect(await stage.attempts(id)).toMatchObject([{ number: 1, responseBody: 'written' }]);
    expect(await stage.connector(connectorId)).toMatchObject({ memory: { item: '42', last: 'write', kept: 'y' } });
    await stage.deliveryIs(await stage.addDelivery(connectorId), 'SUCCEEDED');
    expect(receiver.requests[2]!.path).toBe('/find?known=42');
    expect((await stage.connector(connectorId)).memory).toEqual({ item: '42', last: 'write', kept: 'y' });
  });

  test('is delivered once even if what the connector remembers cannot be stored', async () => {
    const hostile: ConnectorDefinition<Config> = {
      ...plain,
      classify: () => ({ kind: 'delivered', remember: { item: 'a\0b' } }),
    };
    const id = await stage.addDelivery(await addConnector());
    start(hostile, { leaseSeconds: 0.5 });
    await stage.deliveryIs(id, 'SUCCEEDED');
    expect(receiver.requests).toHaveLength(1);
  });

  test('ends after five calls', async () => {
    const endless: ConnectorDefinition<Config> = {
      ...chained,
      classify: (_response, { config }) => ({ kind: 'next', request: { method: 'GET', url: config.url, headers: {} } }),
    };
    const id = await stage.addDelivery(await addConnector());
    start(endless, { retryScheduleSeconds: [] });
    expect(await stage.deliveryIs(id, 'FAILED')).toMatchObject({ attemptCount: 1, errorClass: 'rejected' });
    expect(receiver.requests).toHaveLength(5);
  });
});

describe('a connector with a rejected credential', () => {
  test('pauses, holds its deliveries, and sends them when it is resumed', async () => {
    receiver.respondNext({ statusCode: 401, body: `bad ${KEY}` });
    const connectorId = await addConnector();
    const later = await stage.addDelivery(connectorId, { nextAttemptAt: new Date(Date.now() + 3_600_000) });
    const id = await stage.addDelivery(connectorId);
    start(plain);
    await until(async () => (await stage.connector(connectorId)).pausedAt !== null);
    expect(await stage.connector(connectorId)).toMatchObject({ isActive: true, pausedReason: 'Replace the key ••••.' });
    const held = { status: 'PENDING', reason: 'paused', nextAttemptAt: null };
    await until(async () => (await stage.delivery(id)).attemptCount === 1);
    expect(await stage.delivery(id)).toMatchObject({ ...held, retryStep: 0 });
    await until(async () => (await stage.delivery(later)).nextAttemptAt === null);
    expect(await stage.delivery(later)).toMatchObject(held);

    const another = await stage.addDelivery(connectorId);
    await until(async () => (await stage.delivery(another)).nextAttemptAt === null);
    expect(await stage.delivery(another)).toMatchObject({ ...held, attemptCount: 0 });
    expect(receiver.requests).toHaveLength(1);

    await stage.pool.query(`UPDATE "Connector" SET "pausedAt" = NULL, "pausedReason" = NULL WHERE "id" = $1`, [
      connectorId,
    ]);
    expect(await releaseHeld(stage.pool, connectorId)).toBe(3);
    stage.bus.publish(topics.deliveriesDue);
    for (const delivery of [id, later, another]) await stage.deliveryIs(delivery, 'SUCCEEDED');
  });

  test('is not paused if the rejected credential has since been replaced', async () => {
    const connectorId = await addConnector();
    const cell = { table: 'Connector', column: 'secretConfig', rowId: connectorId, projectId: stage.projectId };
    receiver.handle(async (_request, _response, index) => {
      if (index > 0) return {};
      const secretConfig = stage.secretBox.seal(JSON.stringify({ url: receiver.url, apiKey: 'another-key-123' }), cell);
      await stage.pool.query(`UPDATE "Connector" SET "secretConfig" = $2 WHERE "id" = $1`, [connectorId, secretConfig]);
      return { statusCode: 401 };
    });
    const id = await stage.addDelivery(connectorId);
    start(plain);
    await stage.deliveryIs(id, 'SUCCEEDED');
    expect(await stage.connector(connectorId)).toMatchObject({ pausedAt: null });
    expect(receiver.requests[1]!.headers.authorization).toBe('Bearer another-key-123');
  });

  test('can still be tested with a test event', async () => {
    const connectorId = await addConnector({ pausedAt: new Date(), pausedReason: 'Replace the key.' });
    const id = await stage.addDelivery(connectorId, {}, { test: true });
    start(plain);
    await stage.deliveryIs(id, 'SUCCEEDED');
  });
});

describe('a connector type with batches', () => {
  const batched: ConnectorDefinition<Config> = { ...plain, batch: { maxEvents: 10, windowSeconds: 1 } };
  const idsOf = () => bodies().map(({ ids }) => ids as string[]);

  test('gets all events of a window in one request', async () => {
    const connectorId = await addConnector();
    const ids = await stage.addDeliveries(connectorId, 8, { createdAt: new Date(), nextAttemptAt: new Date() });
    start(batched);
    for (const id of ids) expect(await stage.deliveryIs(id, 'SUCCEEDED')).toMatchObject({ attemptCount: 1 });
    expect(idsOf().map(({ length }) => length)).toEqual([8]);
  });

  test('never gets more events in one request than its batch size', async () => {
    const connectorId = await addConnector();
    const ids = await Promise.all(
      Array.from({ length: 25 }, () => stage.addDelivery(connectorId, { createdAt: new Date(Date.now() - 60_000) })),
    );
    start(batched);
    for (const id of ids) await stage.deliveryIs(id, 'SUCCEEDED');
    expect(
      idsOf()
        .map(({ length }) => length)
        .sort(),
    ).toEqual([10, 10, 5]);
  });

  test('still gets the other events of a batch if one is rejected', async () => {
    const connectorId = await addConnector();
    const createdAt = new Date(Date.now() - 60_000);
    const ids = await Promise.all(Array.from({ length: 8 }, () => stage.addDelivery(connectorId, { createdAt })));
    const { eventId: bad } = await stage.delivery(ids[3]!);
    receiver.handle(({ body }) => ({ statusCode: JSON.parse(body.toString()).ids.includes(bad) ? 422 : 200 }));
    start(batched);
    await stage.deliveryIs(ids[3]!, 'FAILED');
    for (const id of ids.toSpliced(3, 1)) await stage.deliveryIs(id, 'SUCCEEDED');
  });

  test('fails and retries a batch as a whole', async () => {
    receiver.respondNext({ statusCode: 500 });
    const connectorId = await addConnector();
    const createdAt = new Date(Date.now() - 60_000);
    const ids = await Promise.all([1, 2, 3].map(() => stage.addDelivery(connectorId, { createdAt })));
    start(batched, { retryScheduleSeconds: [0.3] });
    for (const id of ids) expect(await stage.deliveryIs(id, 'SUCCEEDED')).toMatchObject({ attemptCount: 2 });
    for (const id of ids) expect(await stage.attempts(id)).toHaveLength(2);
  });
});
