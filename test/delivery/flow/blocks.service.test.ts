import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ConnectorDefinition, type ConnectorType, defineConnector } from '../../../src/connectors/definition.ts';
import { textField } from '../../../src/connectors/fields.ts';
import { createBlocks } from '../../../src/delivery/flow/circuits.ts';
import type { ClaimedDelivery } from '../../../src/delivery/model/claimed-delivery.ts';
import type { DeliveryOutcome } from '../../../src/delivery/model/outcome.ts';
import type { Job } from '../../../src/delivery/send/jobs.ts';
import type { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Row, type Stage } from '../support.ts';

let stage: Stage;
let receiver: Receiver;
let workers: DeliveryWorker[] = [];
/** Whether the vendor is blocking this service. */
let isBlocking = true;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  await stage.pool.query('TRUNCATE "Delivery", "Attempt", "Connector", "RateLimit" CASCADE');
  isBlocking = true;
  receiver = await startReceiver(() =>
    isBlocking ? { statusCode: 429, body: 'error code: 1015' } : { statusCode: 200, body: '{}' },
  );
});
afterEach(async () => {
  await stopWorkers();
  await receiver.close();
});
afterAll(() => stage.close());

async function stopWorkers(): Promise<void> {
  await Promise.all(workers.map((worker) => worker.stop()));
  workers = [];
}

const config = z.strictObject({ url: textField({ title: 'URL', description: 'Where it goes.' }) });

const typeOf = (type: ConnectorType) =>
  defineConnector<z.infer<typeof config>>({
    type,
    title: 'Vendor',
    category: 'Communication',
    description: 'For tests.',
    config,
    documentationUrl: 'https://example.com',
    supportsEvent: () => true,
    build: (_events, { url }) => ({ method: 'POST', url, headers: {} }),
    classify: ({ statusCode }) =>
      statusCode === 200 ? { kind: 'delivered' } : { kind: 'retry', reason: `Status ${statusCode}` },
  }) as unknown as ConnectorDefinition;

const start = () => workers.push(stage.startWorker({}, { connectors: [typeOf('discord'), typeOf('slack')] }));
const addConnector = (type: ConnectorType = 'discord') => stage.addConnector(type, { url: receiver.url });

/** Lets the time of the block, and of all deliveries that wait for it, pass. */
async function waitUntilBlockEnds(): Promise<void> {
  await stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = now() WHERE "key" = 'delivery-block:discord'`);
  await makeDue();
}

async function makeDue(): Promise<void> {
  await stage.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "status" = 'PENDING'`);
}

const deliveries = async () =>
  (await stage.pool.query<Row>(`SELECT *, "nextAttemptAt" > now() AS "isWaiting" FROM "Delivery"`)).rows;

/** Waits until no delivery is due or in flight. */
const settles = () =>
  expect
    .poll(async () =>
      (await deliveries()).every(({ status, isWaiting }) => status !== 'RUNNING' && isWaiting !== false),
    )
    .toBe(true);

const storedBlocks = async () =>
  (await stage.pool.query(`SELECT FROM "RateLimit" WHERE "key" LIKE 'delivery-block:%'`)).rowCount;

test('a block stops all deliveries of the type in all processes, and each trial is a single request', async () => {
  const connectors = await Promise.all([addConnector(), addConnector(), addConnector(), addConnector()]);
  await stage.addDelivery(connectors[0]!);
  start();
  await receiver.waitFor(1);
  await settles();
  start();
  for (const connector of connectors) await stage.addDeliveries(connector, 49);
  await stage.addDeliveries(connectors[0]!, 3, { trigger: 'MANUAL' });
  await makeDueIfNew();
  await settles();
  expect(receiver.requests).toHaveLength(1);
  const [first, ...others] = (await deliveries()).toSorted((a, b) => Number(b.attemptCount) - Number(a.attemptCount));
  expect(first).toMatchObject({
    status: 'PENDING',
    attemptCount: 1,
    retryStep: 0,
    statusCode: 429,
    errorClass: 'blocked',
    reason: expect.stringMatching(/^Vendor is blocking requests from this service's IP address \(HTTP 429\)/),
  });
  expect(others).toHaveLength(199);
  for (const each of others) {
    expect(each).toMatchObject({ status: 'PENDING', attemptCount: 0, reason: 'address_blocked', isWaiting: true });
  }

  for (const trials of [2, 3]) {
    await waitUntilBlockEnds();
    await receiver.waitFor(trials);
    await settles();
    expect(receiver.requests).toHaveLength(trials);
  }
  const due = await stage.pool.query<{ seconds: number }>(
    `SELECT extract(epoch FROM "arrivesAt" - now())::float8 AS seconds FROM "RateLimit" WHERE "key" = 'delivery-block:discord'`,
  );
  expect(due.rows[0]!.seconds).toBeGreaterThan(200);

  // A process that starts later knows about the block too.
  await stopWorkers();
  start();
  await makeDue();
  await settles();
  expect(receiver.requests).toHaveLength(3);

  isBlocking = false;
  await waitUntilBlockEnds();
  await receiver.waitFor(4);
  await expect.poll(storedBlocks).toBe(0);
  const succeeded = async () => {
    await makeDue();
    return stage.countBy('SUCCEEDED');
  };
  await expect.poll(succeeded).toBe(200);
  for (const each of await deliveries()) expect(each).toMatchObject({ retryStep: 0 });
  for (const id of connectors) {
    expect(await stage.connector(id)).toMatchObject({ isActive: true, failingSince: null, pausedReason: null });
  }

  async function makeDueIfNew(): Promise<void> {
    await stage.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "attemptCount" = 0`);
  }
});

test("other types aren't affected by a block", async () => {
  await stage.addDelivery(await addConnector());
  start();
  await receiver.waitFor(1);
  await settles();
  isBlocking = false;
  const other = await stage.addDelivery(await addConnector('slack'));
  await stage.deliveryIs(other, 'SUCCEEDED');
});

describe('with a clock', () => {
  function createWithClock() {
    let time = 0;
    const blocks = createBlocks({ db: stage.pool, log: stage.log, now: () => time });
    const wait = (seconds: number) => {
      time += seconds * 1000;
    };
    return { ...blocks, wait };
  }
  const newJob = () => ({ deliveries: [{ connector: { type: 'discord' } }] }) as unknown as Job;
  const claimed = (blockedSeconds: number | null) =>
    ({ connector: { type: 'discord', blockedSeconds } }) as unknown as ClaimedDelivery;
  const blockedFor = (afterSeconds: number) =>
    [{ health: { kind: 'blocked', afterSeconds }, attempts: [{ statusCode: 429 }] }] as unknown as DeliveryOutcome[];
  const responded = (statusCode: number | null) =>
    [{ health: null, attempts: [{ statusCode }] }] as unknown as DeliveryOutcome[];
  const waiting = { kind: 'wait', reason: 'address_blocked', afterSeconds: expect.any(Number) };

  test('one job is tried when the time has passed, and any response ends the block', async () => {
    const { learn, enter, leave, refusalOf, wait } = createWithClock();
    expect(await enter(newJob())).toBe('go');
    await leave(newJob(), blockedFor(300));
    // A claim that was made before the block doesn't end it.
    learn(claimed(null));
    wait(299);
    expect(refusalOf(newJob())).toEqual(waiting);
    expect(await enter(newJob())).toEqual(waiting);
    wait(1);
    expect(refusalOf(newJob())).toBeUndefined();
    await stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = now()`);
    const [trial, other] = [newJob(), newJob()];
    expect(await Promise.all([enter(trial), enter(other)])).toEqual(['go', waiting]);
    await leave(other, []);
    expect(refusalOf(other)).toEqual(waiting);
    await leave(trial, responded(400));
    expect(refusalOf(other)).toBeUndefined();
    expect(await storedBlocks()).toBe(0);
    expect(await Promise.all([enter(newJob()), enter(newJob())])).toEqual(['go', 'go']);
  });

  test('a trial without a response is followed by another one', async () => {
    const { enter, leave, wait } = createWithClock();
    await leave(newJob(), blockedFor(300));
    await stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = now()`);
    wait(300);
    const trial = newJob();
    expect(await enter(trial)).toBe('go');
    await leave(trial, responded(null));
    expect(await enter(newJob())).toEqual(waiting);
    wait(20);
    await stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = now()`);
    expect(await enter(newJob())).toBe('go');
  });

  test('only one process gets the trial, and the others learn its result from their claims', async () => {
    const [one, two] = [createWithClock(), createWithClock()];
    await one.leave(newJob(), blockedFor(300));
    two.learn(claimed(-1));
    await stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = now()`);
    one.wait(300);
    const trial = newJob();
    expect(await one.enter(trial)).toBe('go');
    expect(await two.enter(newJob())).toEqual(waiting);
    await one.leave(trial, responded(200));
    two.learn(claimed(null));
    expect(await two.enter(newJob())).toBe('go');
  });
});
