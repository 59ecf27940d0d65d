import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type ConnectorDefinition, defineConnector } from '../../../src/connectors/definition.ts';
import { secretsOf } from '../../../src/connectors/describe.ts';
import { secretField, textField } from '../../../src/connectors/fields.ts';
import { PROBE_SCHEDULE_SECONDS } from '../../../src/delivery/outcome/probe-schedule.ts';
import { createConnectorProbe } from '../../../src/delivery/send/probe-connector.ts';
import { createDueProbes } from '../../../src/features/connectors/due-probes.ts';
import { openStage, type Stage, until } from '../../delivery/support.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';

const DAY = 24 * 60 * 60;
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
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
  await receiver.close();
});
afterAll(() => stage.close());

const config = z.strictObject({
  url: textField({ title: 'URL', description: 'Where it goes.' }),
  apiKey: secretField({ title: 'Key', description: 'The key.' }),
});
type Config = z.infer<typeof config>;

/** Posts one event at a time. A 401 pauses it, and a 422 drops the event. `GET /check` checks the credentials. */
const probing = defineConnector<Config>({
  type: 'slack',
  title: 'Probing',
  category: 'Communication',
  description: 'For tests.',
  documentationUrl: 'https://example.com',
  config,
  supportsEvent: () => true,
  // One request at a time, so the order of the requests is known.
  vendorLimit: { count: 50, perSeconds: 1, documentationUrl: 'https://example.com' },
  build: ([{ id }], { url }) => ({ method: 'POST', url, headers: {}, body: id }),
  classify: ({ statusCode }) => {
    if (statusCode === 200) return { kind: 'delivered' };
    if (statusCode === 422) return { kind: 'drop', reason: 'Not accepted.' };
    return { kind: 'pause', reason: 'Replace the key.' };
  },
  probe: {
    build: ({ url }) => ({ method: 'GET', url: `${url}/check`, headers: {} }),
    classify: ({ statusCode }) => ({ ok: statusCode === 200, message: `HTTP ${statusCode}` }),
  },
}) as unknown as ConnectorDefinition;
const { probe: _probe, ...unprobing } = probing;

const addConnector = (values = {}) =>
  stage.addConnector('slack', { url: receiver.url, apiKey: 'key-0123456789' }, values);
const posts = () => receiver.requests.filter(({ method }) => method === 'POST').map(({ body }) => body.toString());
const probes = () => receiver.requests.filter(({ method }) => method === 'GET').length;

function start(definition: ConnectorDefinition = probing) {
  const worker = stage.startWorker({ maxPerDestination: 1 }, { connectors: [definition] });
  cleanups.push(() => worker.stop());
}

function dueProbes() {
  return createDueProbes({
    bus: stage.bus,
    secretBox: stage.secretBox,
    log: stage.log,
    probe: createConnectorProbe({
      egress: stage.egress,
      userAgent: 'Tollgate/1.2.3',
      withToken: (_connector, definition, config, work) => work({ config, secrets: secretsOf(definition, config) }),
    }),
    connectors: (type) => (type === 'slack' ? probing : undefined),
  });
}

/** Returns the seconds until the next probe, or null. */
async function secondsToProbe(id: string): Promise<number | null> {
  const { rows } = await stage.pool.query(
    `SELECT extract(epoch FROM "nextProbeAt" - now())::float8 AS "seconds" FROM "Connector" WHERE "id" = $1`,
    [id],
  );
  return rows[0].seconds;
}

const makeProbeDue = (id: string) =>
  stage.pool.query(`UPDATE "Connector" SET "nextProbeAt" = now() - interval '1 second' WHERE "id" = $1`, [id]);

const isPaused = async (id: string) => (await stage.connector(id)).pausedAt !== null;

/** Expects a duration that started a short time ago. The durations in the schedule differ by at least ten minutes. */
function expectAbout(seconds: number | null, expected: number): void {
  expect(seconds).toBeGreaterThan(expected - 240);
  expect(seconds).toBeLessThanOrEqual(expected);
}

/** Adds a connector that was paused after a 401, with three held deliveries. Also returns the events' IDs. */
async function addPaused(definition?: ConnectorDefinition) {
  receiver.handle(() => ({ statusCode: 401 }));
  const id = await addConnector();
  const deliveries = [await stage.addDelivery(id)];
  start(definition);
  await until(() => isPaused(id));
  for (let count = 0; count < 2; count++) deliveries.push(await stage.addDelivery(id));
  await until(async () => {
    const held = await Promise.all(deliveries.map((delivery) => stage.delivery(delivery)));
    return held.every(({ reason, nextAttemptAt }) => reason === 'paused' && nextAttemptAt === null);
  });
  const events = await Promise.all(
    deliveries.map(async (delivery) => String((await stage.delivery(delivery)).eventId)),
  );
  receiver.requests.length = 0;
  return { id, deliveries, events };
}

describe('a connector that the service paused', () => {
  test('is probed on a schedule, is resumed when its credentials work again, and sends its held deliveries', async () => {
    const { id, deliveries, events } = await addPaused();
    expectAbout(await secondsToProbe(id), PROBE_SCHEDULE_SECONDS[0]!);
    const sendDueProbes = dueProbes();
    await sendDueProbes(stage.pool);
    expect(probes()).toBe(0);

    for (const next of PROBE_SCHEDULE_SECONDS.slice(1, 5)) {
      await makeProbeDue(id);
      await sendDueProbes(stage.pool);
      expectAbout(await secondsToProbe(id), next);
    }
    expect(await stage.connector(id)).toMatchObject({ pausedReason: 'Replace the key.', probeCount: 4 });
    expect(probes()).toBe(4);
    expect(posts()).toEqual([]);

    receiver.handle(() => ({}));
    await makeProbeDue(id);
    await sendDueProbes(stage.pool);
    expect(await stage.connector(id)).toMatchObject({ pausedAt: null, pausedReason: null, nextProbeAt: null });
    for (const delivery of deliveries) await stage.deliveryIs(delivery, 'SUCCEEDED');
    expect(posts().toSorted()).toEqual(events.toSorted());
    // The next pause starts the schedule over.
    await until(async () => (await stage.connector(id)).failingSince === null);
    expect(await stage.connector(id)).toMatchObject({ probeCount: 0 });
  });

  test("is not probed while the vendor is blocking this service's address", async () => {
    const { id } = await addPaused();
    receiver.handle(() => ({}));
    await makeProbeDue(id);
    await stage.pool.query(
      `INSERT INTO "RateLimit" ("key", "arrivesAt") VALUES ('delivery-block:slack', now() + interval '5 minutes')`,
    );
    await dueProbes()(stage.pool);
    expect(probes()).toBe(0);
    expect(await stage.connector(id)).toMatchObject({ pausedReason: 'Replace the key.', probeCount: 0 });
    await stage.pool.query(`DELETE FROM "RateLimit" WHERE "key" = 'delivery-block:slack'`);
    await dueProbes()(stage.pool);
    expect(await stage.connector(id)).toMatchObject({ pausedReason: null });
    expect(probes()).toBe(1);
  });

  test('is not probed sooner if its deliveries are rejected even though the probe succeeds', async () => {
    const { id } = await addPaused();
    receiver.handle(({ method }) => ({ statusCode: method === 'GET' ? 200 : 401 }));
    await makeProbeDue(id);
    await dueProbes()(stage.pool);
    await until(async () => posts().length > 0 && (await isPaused(id)));
    expectAbout(await secondsToProbe(id), PROBE_SCHEDULE_SECONDS[1]!);
  });

  test('is probed for about 30 days', async () => {
    const total = PROBE_SCHEDULE_SECONDS.reduce((sum, seconds) => sum + seconds, 0);
    expect(total).toBeGreaterThan(29 * DAY);
    expect(total).toBeLessThan(30 * DAY);
    const { id } = await addPaused();
    await stage.pool.query(`UPDATE "Connector" SET "probeCount" = $2 WHERE "id" = $1`, [
      id,
      PROBE_SCHEDULE_SECONDS.length - 1,
    ]);
    await makeProbeDue(id);
    await dueProbes()(stage.pool);
    expect(probes()).toBe(1);
    expect(await stage.connector(id)).toMatchObject({ nextProbeAt: null, pausedReason: 'Replace the key.' });
  });

  test('is probed by only one of several processes', async () => {
    const { id } = await addPaused();
    await makeProbeDue(id);
    await Promise.all([1, 2, 3, 4].map(() => dueProbes()(stage.pool)));
    expect(probes()).toBe(1);
  });

  test('stays paused if its type has no probe', async () => {
    const { id } = await addPaused(unprobing);
    expect(await secondsToProbe(id)).toBeNull();
    await dueProbes()(stage.pool);
    expect(receiver.requests).toEqual([]);
    expect(await isPaused(id)).toBe(true);
  });

  test('stays paused if it rejected several events in a row, because a probe would not show whether it accepts them', async () => {
    receiver.handle(() => ({ statusCode: 422 }));
    const id = await addConnector();
    await stage.addDeliveries(id, 5);
    start();
    await until(() => isPaused(id));
    expect(await secondsToProbe(id)).toBeNull();
  });
});

describe('a successful probe changes nothing', () => {
  /** Changes the connector while its probe is in progress. */
  async function probeDuring(id: string, change: string): Promise<void> {
    receiver.handle(async () => {
      await stage.pool.query(`UPDATE "Connector" SET ${change} WHERE "id" = $1`, [id]);
      return {};
    });
    await makeProbeDue(id);
    await dueProbes()(stage.pool);
    expect(probes()).toBe(1);
    expect(await isPaused(id)).toBe(true);
    expect(posts()).toEqual([]);
  }

  test.each([
    ['its owner pauses the connector in the meantime', `"pausedReason" = NULL, "nextProbeAt" = NULL`],
    ['the connector is paused again in the meantime', `"pausedAt" = now()`],
    ['the config changes in the meantime', `"secretConfig" = 'other'`],
    ['the connector is disabled in the meantime', `"isActive" = false`],
  ])('if %s', async (_when, change) => {
    await probeDuring((await addPaused()).id, change);
  });
});

test('a probe that cannot be sent does not stop other probes', async () => {
  const { id } = await addPaused();
  const broken = await addConnector({ pausedAt: new Date(), pausedReason: 'Replace the key.', secretConfig: 'broken' });
  receiver.handle(() => ({}));
  await makeProbeDue(id);
  await makeProbeDue(broken);
  await dueProbes()(stage.pool);
  expect(await isPaused(id)).toBe(false);
  expect(await isPaused(broken)).toBe(true);
  expectAbout(await secondsToProbe(broken), PROBE_SCHEDULE_SECONDS[1]!);
});
