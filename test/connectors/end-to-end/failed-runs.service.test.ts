import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { MAX_FAILED_RUNS, RUN_DELAYS_SECONDS } from '../../../src/connectors/shared/failed-run.ts';
import { QUICK_RETRIES } from '../../../src/delivery/send/retry-policy.ts';
import type { TestResponse } from '../../support/receiver.ts';
import { N8N_RESPONSES, noRoute, unpublished } from '../support/vendors/n8n-responses.ts';
import { text } from '../support/vendors/vendor.ts';
import { type Delivery, openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage({ quickRetries: QUICK_RETRIES, retryScheduleSeconds: undefined });
});
afterEach(async () => {
  stage.vendors.interfere('n8n', undefined);
  stage.vendors.interfere('make', undefined);
  // The events of later tests aren't for these connectors.
  await stage.db.prisma.connector.updateMany({ data: { isActive: false } });
});
afterAll(() => stage?.close());

/** Seconds between a delivery's last attempt and the next one. */
async function waitOf(id: string): Promise<number | null> {
  const { rows } = await stage.db.pool.query<{ seconds: number | null }>(
    `SELECT extract(epoch FROM "nextAttemptAt" - "updatedAt")::float8 AS "seconds" FROM "Delivery" WHERE "id" = $1`,
    [id],
  );
  return rows[0]!.seconds;
}

/** Expects that the next attempt is `seconds` after the last one. The delay has up to 20% of jitter. */
async function expectWait(id: string, seconds: number): Promise<void> {
  const wait = await waitOf(id);
  expect(wait).toBeGreaterThanOrEqual(seconds * 0.79);
  expect(wait).toBeLessThanOrEqual(seconds * 1.21);
}

/** The waits before the remaining attempts, as the API shows them. */
async function remainingWaits(id: string): Promise<(number | null)[]> {
  const path = `${stage.base}/deliveries/${id}/explain`;
  const { body } = await stage.user.rest<{ remainingTries: { afterSeconds: number | null }[] }>('GET', path);
  return body.remainingTries.map(({ afterSeconds }) => afterSeconds);
}

async function makeDueNow(id: string): Promise<void> {
  await stage.db.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "id" = $1`, [id]);
  await stage.makeDue();
}

test.each([
  ['n8n', N8N_RESPONSES.failedRun],
  ['make', text(500, 'Scenario failed to complete.')],
] as const)(
  'a failed workflow in %s is run again only after 5 seconds, 5 minutes, and 30 minutes',
  async (type, failure) => {
    const connector = await stage.connect(type, { eventTypes: ['payment.settled'] });
    stage.vendors.interfere(type, () => failure);
    await stage.record('payment.settled');
    const [delivery] = await stage.deliveriesAre(connector.id, 'PENDING');
    const { id } = delivery!;
    for (const [index, seconds] of [5, 300, 1_800].entries()) {
      await expect.poll(() => stage.delivery(id)).toMatchObject({ status: 'PENDING', attemptCount: index + 1 });
      expect(stage.vendors.callsTo(type)).toHaveLength(index + 1);
      await expectWait(id, seconds);
      if (index === 0) expect(await remainingWaits(id)).toEqual([null, 300, 1_800]);
      await makeDueNow(id);
    }
    await stage.deliveriesAre(connector.id, 'FAILED');
    expect(await stage.delivery(id)).toMatchObject({
      attemptCount: 4,
      reason: expect.stringContaining('Gave up after 4 attempts'),
    });
    expect(stage.vendors.callsTo(type)).toHaveLength(4);
  },
);

const isAttempted = ({ status, attemptCount }: Delivery) => status !== 'RUNNING' && attemptCount > 0;

/** Creates an n8n connector, and records an event for it after the responses have been set. */
async function sendToN8n(...responses: TestResponse[]) {
  const connector = await stage.connect('n8n', { eventTypes: ['payment.settled'] });
  const before = stage.vendors.callsTo('n8n').length;
  stage.vendors.interfereNext('n8n', ...responses);
  await stage.record('payment.settled');
  await expect.poll(async () => (await stage.deliveries(connector.id)).filter(isAttempted)).toHaveLength(1);
  const [{ id }] = (await stage.deliveries(connector.id)) as [Delivery];
  return { connector, id, callCount: () => stage.vendors.callsTo('n8n').length - before };
}

test('a run in n8n that succeeds without a result is delivered, and not run again', async () => {
  const { connector, id, callCount } = await sendToN8n(N8N_RESPONSES.noItem);
  expect(await stage.delivery(id)).toMatchObject({
    status: 'SUCCEEDED',
    statusCode: 500,
    attemptCount: 1,
    reason: 'The workflow ran, but n8n had no result to respond with: No item to return was found',
  });
  expect(callCount()).toBe(1);
  expect((await stage.connector(connector.id)).failingSince).toBeNull();
});

test('an event that n8n gets while it restarts is sent again soon, and not after an hour', async () => {
  const path = '0c4f5a2e-9d0b-4a53-9e3f-3d3d8e0a7b11';
  const { connector, id, callCount } = await sendToN8n(noRoute(path), unpublished(path), N8N_RESPONSES.started);
  await expectWait(id, 5);
  expect((await stage.delivery(id)).attempts).toMatchObject([{ errorMessage: expect.stringMatching(/starting up/) }]);
  await makeDueNow(id);
  await expect.poll(() => stage.delivery(id)).toMatchObject({ status: 'PENDING', attemptCount: 2 });
  await expectWait(id, 300);
  await makeDueNow(id);
  await stage.deliveriesAre(connector.id, 'SUCCEEDED');
  expect(callCount()).toBe(3);
  expect((await stage.connector(connector.id)).failingSince).toBeNull();
});

test('an event that n8n answers with a success before it has started is not lost', async () => {
  const { connector, id, callCount } = await sendToN8n(N8N_RESPONSES.startingUp, N8N_RESPONSES.started);
  expect(await stage.delivery(id)).toMatchObject({ status: 'PENDING', statusCode: 200 });
  await expectWait(id, 5);
  await makeDueNow(id);
  await stage.deliveriesAre(connector.id, 'SUCCEEDED');
  expect(callCount()).toBe(2);
});

test('a workflow in n8n that stays unpublished is tried twice soon, and then hourly', async () => {
  const responses = Array.from({ length: 3 }, () => unpublished('orders'));
  const { connector, id } = await sendToN8n(...responses);
  for (const [index, seconds] of [5, 300].entries()) {
    await expect.poll(() => stage.delivery(id)).toMatchObject({ status: 'PENDING', attemptCount: index + 1 });
    await expectWait(id, seconds);
    await makeDueNow(id);
  }
  await expect.poll(() => stage.delivery(id)).toMatchObject({ status: 'PENDING', attemptCount: 3 });
  expect(await waitOf(id)).toBeGreaterThanOrEqual(3_590);
  await makeDueNow(id);
  await stage.deliveriesAre(connector.id, 'SUCCEEDED');
});

test('a workflow in n8n that could not start is tried on the whole schedule, because nothing ran', async () => {
  const responses = Array.from({ length: MAX_FAILED_RUNS }, () => N8N_RESPONSES.noRespondNode);
  const { connector, id } = await sendToN8n(...responses);
  expect(await remainingWaits(id)).toEqual([null, ...RUN_DELAYS_SECONDS.slice(1)]);
  for (let attemptCount = 2; attemptCount <= MAX_FAILED_RUNS; attemptCount++) {
    await makeDueNow(id);
    await expect.poll(() => stage.delivery(id)).toMatchObject({ status: 'PENDING', attemptCount });
  }
  await makeDueNow(id);
  await stage.deliveriesAre(connector.id, 'SUCCEEDED');
});
