import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectSocket } from '../../graphql/socket-client.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Replay = Resource & { status: string; total: number; done: number; skipped: number };
type Created = { total: number; replay: Replay | null };

let app: TestApp;
let rest: Rest;
let alice: TestUser;
let sql: pg.Pool;
let receiver: Receiver;
let base: string;
let projectId: string;
let webhookId: string;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice', 'ENTERPRISE');
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});
beforeEach(async () => {
  receiver = await startReceiver();
  ({ base, id: projectId } = await createProject(alice));
  ({ id: webhookId } = await createWebhook(alice, base, { url: receiver.url }));
  return () => receiver.close();
});

const replay = async (selection: object = {}) => {
  const body = 'filter' in selection ? selection : { all: true, ...selection };
  return rest.send<Created>(alice, 'POST', `${base}/replays`, { body }).then(({ body: created }) => created);
};
const read = async (id: string) => (await rest.send<Replay>(alice, 'GET', `${base}/replays/${id}`)).body;
const finished = async (id: string) => {
  await expect.poll(() => read(id)).not.toMatchObject({ status: 'RUNNING' });
  return read(id);
};

/** Records events and waits until they are delivered. */
async function deliver(count: number): Promise<void> {
  const before = receiver.requests.length;
  for (let index = 0; index < count; index++) await createEndpoint(alice, base);
  await receiver.waitFor(before + count);
  await expect.poll(() => countBy('SUCCEEDED')).toBeGreaterThanOrEqual(count);
}

async function countBy(status: string): Promise<number> {
  const { rows } = await sql.query(
    `SELECT count(*)::int AS n FROM "Delivery" WHERE "projectId" = $1 AND "status" = $2::"DeliveryStatus"`,
    [projectId, status],
  );
  return rows[0].n;
}

const idsOf = (requests: readonly { headers: Record<string, unknown> }[]) =>
  requests.map(({ headers }) => String(headers['webhook-id'])).toSorted();

describe('a replay', () => {
  test('resends each delivery exactly once with the same ID, and as many deliveries as the dry run counted', async () => {
    await deliver(6);
    const counted = await replay({ dryRun: true });
    expect(counted).toEqual({ total: 6, replay: null });
    expect(receiver.requests).toHaveLength(6);
    const { replay: started, total } = await replay();
    expect(started).toMatchObject({ status: 'RUNNING', total: 6, done: 0, skipped: 0, maxPerSecond: 50 });
    expect(total).toBe(6);
    expect(await finished(started!.id)).toMatchObject({
      status: 'COMPLETED',
      total: 6,
      done: 6,
      skipped: 0,
      finishedAt: expect.any(String),
      startedBy: expect.stringMatching(/^usr_/),
    });
    await receiver.waitFor(12);
    await expect.poll(() => countBy('SUCCEEDED')).toBe(6);
    expect(idsOf(receiver.requests.slice(6))).toEqual(idsOf(receiver.requests.slice(0, 6)));
    expect(receiver.requests).toHaveLength(12);
  });

  test('respects every filter', async () => {
    await deliver(3);
    const second = await createWebhook(alice, base, { url: receiver.url });
    await rest.send(alice, 'POST', `${base}/webhooks/${second.id}/test`, { body: { eventType: 'payment.settled' } });
    // A replay only counts deliveries whose outcome is recorded.
    await expect.poll(() => countBy('SUCCEEDED')).toBe(4);
    await sql.query(
      `UPDATE "Delivery" SET "status" = 'FAILED', "createdAt" = '2026-01-05T00:00:00Z' WHERE "id" = (
         SELECT "id" FROM "Delivery" WHERE "projectId" = $1 ORDER BY "id" LIMIT 1)`,
      [projectId],
    );
    const count = async (filter: object) => (await replay({ dryRun: true, filter })).total;
    expect((await replay({ dryRun: true })).total).toBe(4);
    expect(await count({ status: ['FAILED'] })).toBe(1);
    expect(await count({ eventTypes: ['payment.settled'] })).toBe(1);
    expect(await count({ webhookId })).toBe(3);
    expect(await count({ webhookId: second.id })).toBe(1);
    expect(await count({ test: true })).toBe(1);
    expect(await count({ test: false })).toBe(3);
    expect(await count({ from: '2026-01-05T00:00:00Z', to: '2026-01-05T00:00:01Z' })).toBe(1);
    expect(await count({ to: '2026-01-05T00:00:00Z' })).toBe(0);
    expect(await count({ status: ['FAILED'], webhookId: second.id })).toBe(0);
    const { replay: started } = await replay({ filter: { test: true } });
    expect(await finished(started!.id)).toMatchObject({ done: 1, filter: { test: true } });
    const all = await receiver.waitFor(5);
    expect(JSON.parse(all[4]!.body.toString())).toMatchObject({ type: 'payment.settled', test: true });
  });

  test('can list the deliveries to resend, and ignores deliveries of other projects', async () => {
    await deliver(4);
    const { body } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/deliveries`);
    const [newest, second] = body.data.map(({ id }) => id);
    const other = await createProject(alice);
    await createWebhook(alice, other.base, { url: receiver.url });
    await createEndpoint(alice, other.base);
    const elsewhere = await rest.send<{ data: Resource[] }>(alice, 'GET', `${other.base}/deliveries`);
    await receiver.waitFor(5);
    const deliveryIds = [newest, second, newest, elsewhere.body.data[0]!.id];
    expect(await replay({ dryRun: true, filter: { deliveryIds } })).toEqual({ total: 2, replay: null });
    expect((await replay({ dryRun: true, filter: { deliveryIds, status: ['FAILED'] } })).total).toBe(0);
    const { replay: started } = await replay({ filter: { deliveryIds } });
    expect(await finished(started!.id)).toMatchObject({
      total: 2,
      done: 2,
      skipped: 0,
      filter: { deliveryIds: [newest, second, elsewhere.body.data[0]!.id] },
    });
    const sent = (await receiver.waitFor(7)).slice(5);
    const eventIds = body.data.slice(0, 2).map(({ eventId }) => String(eventId));
    expect(idsOf(sent)).toEqual(eventIds.toSorted());
  });

  test.each([
    [[], '/filter/deliveryIds'],
    [Array.from({ length: 101 }, () => `dlv_${'0'.repeat(26)}`), '/filter/deliveryIds'],
    [[`dlv_${'0'.repeat(26)}`, `evt_${'0'.repeat(26)}`], '/filter/deliveryIds/1'],
  ])('rejects the delivery IDs of case %#', async (deliveryIds, pointer) => {
    const { status, body } = await alice.rest<{ errors: { pointer: string }[] }>('POST', `${base}/replays`, {
      filter: { deliveryIds },
    });
    expect({ status, pointers: body.errors.map((error) => error.pointer) }).toEqual({
      status: 422,
      pointers: [pointer],
    });
  });

  test('stores each value of its filter once, even if it is repeated thousands of times', async () => {
    const filter = { status: Array(2_000).fill('FAILED'), eventTypes: Array(2_000).fill('payment.failed') };
    const { replay: created } = await replay({ filter });
    expect(created).toMatchObject({ filter: { status: ['FAILED'], eventTypes: ['payment.failed'] } });
  });

  test('resends skipped deliveries once their destination is active', async () => {
    await rest.send(alice, 'PATCH', `${base}/webhooks/${webhookId}`, { body: { isActive: false } });
    await createEndpoint(alice, base);
    expect(await countBy('SKIPPED')).toBe(1);
    await rest.send(alice, 'PATCH', `${base}/webhooks/${webhookId}`, { body: { isActive: true } });
    await replay({ filter: { status: ['SKIPPED'] } });
    await receiver.waitFor(1);
    await expect.poll(() => countBy('SUCCEEDED')).toBe(1);
  });

  test('skips and counts deliveries that are being sent', async () => {
    await deliver(2);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    receiver.handle(async () => {
      await released;
      return {};
    });
    await createEndpoint(alice, base);
    await receiver.waitFor(3);
    await expect.poll(() => countBy('RUNNING')).toBe(1);
    const { replay: started } = await replay();
    expect(await finished(started!.id)).toMatchObject({ total: 3, done: 2, skipped: 1 });
    release();
    await expect.poll(() => countBy('SUCCEEDED')).toBe(3);
    expect(receiver.requests).toHaveLength(5);
  });

  test('respects its rate limit, ignores later deliveries, and stops when canceled', async () => {
    // At one per second, the replay would take much longer than this test.
    await deliver(30);
    const before = receiver.requests.length;
    const { replay: started } = await replay({ maxPerSecond: 1 });
    await receiver.waitFor(before + 1);
    const canceled = await rest.send<Replay>(alice, 'POST', `${base}/replays/${started!.id}/cancel`);
    expect(canceled).toMatchObject({ status: 200, body: { status: 'CANCELED' } });
    const { done } = await read(started!.id);
    expect(done).toBeLessThan(30);
    await receiver.waitFor(before + done);
    // If the first replay were still running, it would have sent more by the time that another one has ended.
    const { body: page } = await rest.send<{ data: Resource[] }>(alice, 'GET', `${base}/deliveries?limit=1`);
    const { replay: later } = await replay({ filter: { deliveryIds: [page.data[0]!.id] } });
    expect(await finished(later!.id)).toMatchObject({ done: 1 });
    await receiver.waitFor(before + done + 1);
    await expect.poll(() => countBy('SUCCEEDED')).toBe(30);
    expect(receiver.requests).toHaveLength(before + done + 1);
    expect(await read(started!.id)).toMatchObject({ status: 'CANCELED', done });
    expect((await rest.send<Replay>(alice, 'POST', `${base}/replays/${started!.id}/cancel`)).body).toMatchObject({
      status: 'CANCELED',
    });
    // Canceling twice is logged once.
    const { body: log } = await rest.send<{ data: { action: string }[] }>(alice, 'GET', `${base}/audit-log?limit=3`);
    expect(log.data.map(({ action }) => action)).toEqual(['replay.created', 'replay.canceled', 'replay.created']);
  });

  test('is published as it progresses', async () => {
    await deliver(2);
    const client = await connectSocket(app.url, alice.token);
    const query = `subscription { replayUpdated(projectId: "${projectId}") { cursor replay { id status done } } }`;
    client.send({ id: '1', type: 'subscribe', payload: { query } });
    const { replay: started } = await replay({ maxPerSecond: 1 });
    const update = await client.next((message) => JSON.stringify(message).includes('COMPLETED'));
    expect(update).toMatchObject({
      payload: { data: { replayUpdated: { replay: { id: started!.id, status: 'COMPLETED', done: 2 } } } },
    });
    await client.close();
  });

  test('is rejected if its input is invalid or if five other replays are unfinished', async () => {
    await deliver(1);
    const far = { from: '2999-01-01T00:00:00Z' };
    for (const [body, pointer] of [
      [{ filter: { status: ['RUNNING'] } }, '/filter/status'],
      [{ filter: { webhookId: 'wh_none' } }, '/filter/webhookId'],
      [{ filter: { connectorId: webhookId } }, '/filter/connectorId'],
      [{ maxPerSecond: 0, all: true }, '/maxPerSecond'],
      [{}, '/filter'],
      [{ dryRun: true }, '/filter'],
      [{ filter: {} }, '/filter'],
      [{ filter: { status: null, from: null } }, '/filter'],
      [{ all: false }, '/filter'],
      [{ all: true, filter: { status: ['FAILED'] } }, '/all'],
      [{ filter: { unknown: 1 } }, '/filter/unknown'],
    ] as const) {
      const response = await rest.send(alice, 'POST', `${base}/replays`, { body });
      expect(response).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
    }
    const { rows } = await sql.query(
      `INSERT INTO "Replay" ("id", "projectId", "filter", "maxPerSecond", "total", "startedBy", "leasedUntil")
       SELECT 'rpl_' || n, $1, '{}', 1, 1, 'usr_1', now() + interval '1 hour' FROM generate_series(1, 5) AS n RETURNING 1`,
      [projectId],
    );
    expect(rows).toHaveLength(5);
    expect(await rest.send(alice, 'POST', `${base}/replays`, { body: { filter: far } })).toMatchObject({ status: 409 });
    expect((await replay({ dryRun: true })).total).toBe(1);
  });
});
