import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import {
  createConnector,
  createEndpoint,
  createProject,
  createWebhook,
  GOOD,
  type Resource,
} from '../../support/resources.ts';

let app: TestApp;
let pool: pg.Pool;
let alice: TestUser;
let base: string;

beforeAll(async () => {
  // Nothing is sent, so deliveries stay as they were written.
  app = await startTestApp({ env: { ROLES: 'api' } });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
  alice = await app.user('alice', 'ENTERPRISE');
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});
beforeEach(async () => {
  await pool.query('TRUNCATE "RateLimit"');
  ({ base } = await createProject(alice));
});

const DESTINATIONS = [
  ['webhook', '"Webhook"', () => createWebhook(alice, base)],
  ['connector', '"Connector"', () => createConnector(alice, base)],
] as const;

const HELD = { status: 'PENDING', reason: 'paused', nextAttemptAt: null };
const DUE = { status: 'PENDING', reason: null, nextAttemptAt: expect.any(String) };

describe.each(DESTINATIONS)('a %s', (kind, table, create) => {
  let id: string;
  let path: string;
  beforeEach(async () => {
    ({ id } = await create());
    path = `${base}/${kind}s/${id}`;
  });
  const patch = async (changes: object) => (await alice.rest<Resource>('PATCH', path, changes)).body;
  const deliveries = async () => (await alice.rest<{ data: Resource[] }>('GET', `${path}/deliveries`)).body.data;
  const pauseByService = () =>
    pool.query(`UPDATE ${table} SET "pausedReason" = 'Rejected.', "pausedAt" = now() WHERE "id" = $1`, [id]);

  test('holds waiting and new deliveries while it is paused by its owner', async () => {
    await createEndpoint(alice, base);
    expect(await deliveries()).toMatchObject([DUE]);
    expect(await patch({ isPaused: true })).toMatchObject({
      isActive: true,
      isPaused: true,
      pausedReason: null,
      pausedAt: expect.any(String),
    });
    await createEndpoint(alice, base);
    expect(await deliveries()).toMatchObject([HELD, HELD]);
    const [{ id: deliveryId }] = (await deliveries()) as [Resource];
    const explanation = await alice.rest('GET', `${base}/deliveries/${deliveryId}/explain`);
    expect(explanation.body).toMatchObject({
      summary: expect.stringMatching(new RegExp(`^The delivery is held because you paused its .*${kind}\\.$`)),
      advice: 'To resume it, set `isPaused` to false.',
    });
    expect(await patch({ isPaused: false })).toMatchObject({ isPaused: false, pausedAt: null, pausedReason: null });
    expect(await deliveries()).toMatchObject([DUE, DUE]);
  });

  test('stays paused until its owner explicitly resumes it, if the owner paused it', async () => {
    const { pausedAt } = await patch({ isPaused: true });
    const config = kind === 'connector' ? { config: GOOD.connector.config } : {};
    for (const changes of [{ isActive: false }, { isActive: true }, { eventTypes: ['*'], ...config }]) {
      expect(await patch(changes)).toMatchObject({ isPaused: true, pausedAt });
    }
    expect(await patch({ isPaused: true })).toMatchObject({ isPaused: true, pausedAt });
  });

  test('is resumed when its owner enables it, if the service paused it', async () => {
    await pauseByService();
    await createEndpoint(alice, base);
    expect(await deliveries()).toMatchObject([HELD]);
    expect(await patch({ eventTypes: ['*'] })).toMatchObject({ isPaused: true, pausedReason: 'Rejected.' });
    expect(await patch({ isActive: true })).toMatchObject({ isPaused: false, pausedReason: null, pausedAt: null });
    expect(await deliveries()).toMatchObject([DUE]);
  });

  test("stays paused, but loses the service's reason, if its owner pauses it after the service did", async () => {
    await pauseByService();
    expect(await patch({ isPaused: true })).toMatchObject({ isPaused: true, pausedReason: null });
    expect(await patch({ isActive: true })).toMatchObject({ isPaused: true });
  });

  test('skips its held deliveries if it is disabled during a pause, and gets test events until then', async () => {
    await patch({ isPaused: true });
    await alice.rest('POST', `${path}/test`, { eventType: 'payment.settled' });
    expect(await deliveries()).toMatchObject([DUE]);
    await patch({ isActive: false });
    await createEndpoint(alice, base);
    expect((await deliveries())[0]).toMatchObject({ status: 'SKIPPED', reason: 'disabled' });
  });

  test('appears in the audit log when it is paused and resumed', async () => {
    await patch({ isPaused: true });
    await patch({ isPaused: false });
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/audit-log`);
    const changes = body.data.filter(({ action }) => action === `${kind}.updated`).map((entry) => entry.changes);
    expect(changes).toEqual([{ isPaused: false }, { isPaused: true }]);
  });

  test('that is already paused or running changes no deliveries when its owner asks for that again', async () => {
    await patch({ isPaused: true });
    await createEndpoint(alice, base);
    await pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now(), "reason" = NULL WHERE "${kind}Id" = $1`, [id]);
    await patch({ isPaused: true });
    expect(await deliveries()).toMatchObject([DUE]);
    await patch({ isPaused: false });
    await pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = NULL, "reason" = 'paused' WHERE "${kind}Id" = $1`, [id]);
    await patch({ isPaused: false });
    expect(await deliveries()).toMatchObject([HELD]);
  });

  test('is paused and resumed in GraphQL', async () => {
    const type = kind === 'webhook' ? 'Webhook' : 'Connector';
    const update = `mutation ($input: Update${type}Input!) { update${type}(input: $input) { changed: ${kind} { isPaused pausedAt } } }`;
    for (const isPaused of [true, false]) {
      const { data } = await alice.graphql(update, { input: { id, isPaused } });
      const pausedAt = isPaused ? expect.any(String) : null;
      expect(data).toEqual({ [`update${type}`]: { changed: { isPaused, pausedAt } } });
    }
  });

  test('counts as a destination with a problem if the service paused it, but not if its owner did', async () => {
    const count = async () => {
      // Otherwise, the value may be 10 seconds old.
      await pool.query('DELETE FROM "MetricSnapshot"');
      const metrics = await fetch(`${app.url}/metrics`).then((response) => response.text());
      return Number(metrics.match(new RegExp(`tollgate_subscribers{kind="${kind}",state="paused"} (\\d+)`))?.[1]);
    };
    const before = await count();
    await patch({ isPaused: true });
    expect(await count()).toBe(before);
    await pauseByService();
    expect(await count()).toBe(before + 1);
  });
});

test('an account changes waiting deliveries at most ten times a minute by pausing and resuming its destinations', async () => {
  const bob = await app.user('bob', 'ENTERPRISE');
  const owners = [...Array.from({ length: 11 }, () => alice), bob];
  const destinations: { patch: (isPaused: boolean) => Promise<unknown>; isHeld: () => Promise<boolean> }[] = [];
  for (const owner of owners) {
    const project = await createProject(owner);
    const path = `${project.base}/webhooks/${(await createWebhook(owner, project.base)).id}`;
    await createEndpoint(owner, project.base);
    const read = async () => (await owner.rest<{ data: Resource[] }>('GET', `${path}/deliveries`)).body.data;
    destinations.push({
      patch: async (isPaused) => expect(await owner.rest('PATCH', path, { isPaused })).toMatchObject({ status: 200 }),
      isHeld: async () => (await read())[0]!.reason === 'paused',
    });
  }
  const held = () => Promise.all(destinations.map(({ isHeld }) => isHeld()));
  for (const { patch } of destinations.slice(0, 9)) await patch(true);
  await destinations[0]!.patch(false);
  expect(await held()).toEqual([false, ...Array(8).fill(true), false, false, false]);
  // The limit refills with time, which a busy machine takes.
  await pool.query(
    `UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" + interval '1 hour' WHERE "key" LIKE 'changed-queues %'`,
  );
  // The workers change these: they hold deliveries when they claim them, and release those that are held for no reason.
  await destinations[1]!.patch(false);
  await destinations[10]!.patch(true);
  await destinations[11]!.patch(true);
  expect(await held()).toEqual([false, ...Array(8).fill(true), false, false, true]);
});
