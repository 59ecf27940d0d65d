import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Queryable } from '../../../src/database/client.ts';
import type { OriginCapacity } from '../../../src/delivery/flow/capacity.ts';
import type { ClaimedDelivery, SendResult } from '../../../src/delivery/model/claimed-delivery.ts';
import { judge } from '../../../src/delivery/outcome/judge.ts';
import { recordOutcomes } from '../../../src/delivery/outcome/record.ts';
import { claimDue, type DueResult, FROM_THE_BEGINNING } from '../../../src/delivery/queue/claim.ts';
import type { ClaimRequest, ClaimResult } from '../../../src/delivery/queue/claim-result.ts';
import { claimParked, createParking, type ParkedResult, park } from '../../../src/delivery/queue/parking.ts';
import { extendLeases, readQueueStats, releaseLeases, requeue } from '../../../src/delivery/queue/queue.ts';
import { newId } from '../../../src/ids.ts';
import { openStage, type Stage } from '../support.ts';
import { REQUEST } from './support.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook", "Connector" CASCADE'));
afterAll(() => stage.close());

function claim(request: Partial<ClaimRequest> = {}, db: Queryable = stage.pool): Promise<ClaimResult> {
  return claimDue(db, { ...REQUEST, ...request });
}

function unpark(request: Partial<ClaimRequest> = {}, after = ''): Promise<ParkedResult> {
  return claimParked(stage.pool, { ...REQUEST, ...request }, after);
}

/** The two places to claim deliveries from. */
const WAYS = [
  { way: 'the queue', claimThere: claim, isParked: false },
  { way: 'parked deliveries', claimThere: unpark, isParked: true },
];
const bring = (isParked: boolean) => stage.pool.query('UPDATE "Delivery" SET "isParked" = $1', [isParked]);

async function claimOne(): Promise<ClaimedDelivery> {
  const { deliveries } = await claim({ limit: 1 });
  return deliveries[0]!;
}

const ids = ({ deliveries }: ClaimResult) => deliveries.map(({ id }) => id).sort();
const stillParked = (result: ParkedResult) => result.waiting.map(({ destination }) => destination);
const leftOut = (result: DueResult) => result.leftOut.map(({ destination }) => destination).sort();

const delivered: SendResult = {
  attempts: [
    {
      startedAt: 1_700_000_000_000,
      durationMs: 7,
      statusCode: 200,
      errorClass: null,
      errorMessage: null,
      responseBody: 'ok',
    },
  ],
  verdict: { kind: 'delivered' },
};

async function expireLease(id: string): Promise<void> {
  await stage.pool.query(`UPDATE "Delivery" SET "leasedUntil" = now() - interval '1 second' WHERE "id" = $1`, [id]);
}

describe('claimDue', () => {
  test('takes only due deliveries, oldest first', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    const newer = await stage.addDelivery(webhookId, { nextAttemptAt: new Date(Date.now() - 1_000) });
    const oldest = await stage.addDelivery(webhookId, { nextAttemptAt: new Date(Date.now() - 9_000) });
    await stage.addDelivery(webhookId, { nextAttemptAt: new Date(Date.now() + 60_000) });
    await stage.addDelivery(webhookId, { nextAttemptAt: null });
    await stage.addDelivery(webhookId, { status: 'SUCCEEDED' });
    expect(ids(await claim({ limit: 1 }))).toEqual([oldest]);
    expect(ids(await claim())).toEqual([newer]);
    expect(await stage.delivery(newer)).toMatchObject({
      status: 'RUNNING',
      leaseToken: 1,
      leasedUntil: expect.any(Date),
    });
  });

  test('reads everything needed to send a delivery', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example/hook');
    const connectorId = await stage.addConnector('slack', {}, { memory: { board: '7' }, pausedAt: new Date() });
    const forWebhook = await stage.addDelivery(webhookId, { attemptCount: 2, errorClass: 'timeout' });
    await stage.addDelivery(connectorId);
    const { deliveries } = await claim();
    const [first, second] = [
      deliveries.find(({ destination }) => destination === webhookId),
      deliveries.find(({ destination }) => destination === connectorId),
    ];
    expect(first).toMatchObject({
      id: forWebhook,
      projectId: stage.projectId,
      projectName: 'Weather',
      trigger: 'SCHEDULED',
      leaseToken: 1,
      attemptCount: 2,
      previousErrorClass: 'timeout',
      connector: null,
      webhook: { id: webhookId, url: 'https://a.example/hook', isActive: true, isFailing: false, previousSecret: null },
      event: {
        type: 'endpoint.created',
        test: false,
        timestamp: expect.any(Date),
        data: expect.stringContaining('"/now"'),
      },
    });
    expect(second).toMatchObject({
      webhook: null,
      connector: {
        id: connectorId,
        type: 'slack',
        isActive: true,
        isPaused: true,
        eventTypes: ['*'],
        memory: { board: '7' },
      },
    });
    const { rows } = await stage.pool.query('SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds');
    expect(first!.databaseTime() / 1000).toBeCloseTo(rows[0].seconds, -2);
  });

  test('gives every delivery to exactly one of many concurrent claims', async () => {
    const webhooks = await Promise.all([1, 2, 3].map(() => stage.addWebhook('https://a.example')));
    const expected: string[] = [];
    for (const { id } of webhooks) expected.push(...(await stage.addDeliveries(id, 40)));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ limit: fc.integer({ min: 1, max: 60 }), isUnparking: fc.boolean() }), {
          minLength: 2,
          maxLength: 8,
        }),
        async (requests) => {
          // At least one of the concurrent claims reads from the place where all the deliveries are.
          await stage.pool.query(`UPDATE "Delivery" SET "status" = 'PENDING', "isParked" = $1`, [
            requests[0]!.isUnparking,
          ]);
          const seen: string[] = [];
          for (let round = 0; seen.length < expected.length; round++) {
            expect(round).toBeLessThan(200);
            const claims = await Promise.all(
              requests.map(({ limit, isUnparking }) => (isUnparking ? unpark({ limit }) : claim({ limit }))),
            );
            seen.push(...claims.flatMap(ids));
          }
          expect(seen.toSorted()).toEqual(expected.toSorted());
        },
      ),
      { numRuns: 15 },
    );
  });

  test.each(WAYS)(
    'takes no more deliveries from $way than their destination has capacity for',
    async ({ claimThere, isParked }) => {
      const [crowded, full, other] = await Promise.all([1, 2, 3].map(() => stage.addWebhook('https://a.example')));
      for (const { id } of [crowded!, full!, other!]) await stage.addDeliveries(id, 5);
      const capacity = new Map([
        [crowded!.id, 2],
        [full!.id, 0],
      ]);
      await bring(isParked);
      const { deliveries } = await claimThere({ capacity, defaultCapacity: 3 });
      const counts = Object.fromEntries(
        [...Map.groupBy(deliveries, ({ destination }) => destination)].map(([id, group]) => [id, group.length]),
      );
      expect(counts).toEqual({ [crowded!.id]: 2, [other!.id]: 3 });
    },
  );

  describe.each(WAYS)("takes deliveries from $way within their origin's capacity", ({ claimThere, isParked }) => {
    let crowd: string;
    let single: string;
    beforeEach(async () => {
      [crowd, single] = [await stage.addProject(), await stage.addProject()];
      for (let index = 0; index < 20; index++) await addDue(crowd, 5);
      await addDue(single, 20);
      await bring(isParked);
    });

    async function addDue(projectId: string, count: number): Promise<void> {
      const { id } = await stage.addWebhook('https://a.example', { projectId });
      await stage.addDeliveries(id, count, { projectId });
    }

    async function countsWith(originCapacity: OriginCapacity) {
      const { deliveries } = await claimThere({ limit: 200, defaultCapacity: 20, originCapacity });
      const count = (owner: string) => deliveries.filter(({ projectId }) => projectId === owner).length;
      return { crowd: count(crowd), single: count(single) };
    }

    test('gives each account an equal part, no matter how many destinations it has', async () => {
      expect(await countsWith({ known: new Map(), others: 10, shares: [] })).toEqual({ crowd: 5, single: 5 });
    });

    test('gives each account at most its share, and the rest to accounts with capacity', async () => {
      const { account } = (await claim({ limit: 1 })).deliveries[0] ?? (await unpark({ limit: 1 })).deliveries[0]!;
      const shares = [{ origin: 'https://a.example', account, slots: 2 }];
      const counts = await countsWith({ known: new Map([['https://a.example', 10]]), others: 0, shares });
      expect(Object.values(counts).toSorted()).toEqual([2, 8]);
    });
  });

  test('does not limit connectors as origins', async () => {
    await stage.addDeliveries(await stage.addConnector('slack', {}), 3);
    const originCapacity = { known: new Map(), others: 1, shares: [] };
    expect((await claim({ originCapacity })).deliveries).toMatchObject(Array(3).fill({ origin: null }));
  });

  test('names the destinations without capacity whose deliveries are in the way', async () => {
    const [broken, full, other] = await Promise.all([1, 2, 3].map(() => stage.addWebhook('https://a.example')));
    await stage.addDeliveries(broken!.id, 1);
    await stage.addDeliveries(other!.id, 20);
    await stage.addDeliveries(full!.id, 20);
    const capacity = new Map([
      [broken!.id, -3],
      [full!.id, 0],
    ]);
    const first = await claimDue(stage.pool, { ...REQUEST, capacity });
    expect([first.deliveries.length, leftOut(first), first.hasMore]).toEqual([20, [broken!.id], true]);
    const second = await claimDue(stage.pool, { ...REQUEST, capacity });
    expect([second.deliveries.length, leftOut(second)]).toEqual([0, [broken!.id, full!.id].sort()]);
    expect(new Set(second.leftOut.map(({ account }) => account))).toEqual(new Set([first.deliveries[0]!.account]));
    const third = await claimDue(stage.pool, { ...REQUEST, capacity }, { passOver: leftOut(second) });
    expect([third.deliveries.length, third.leftOut, third.hasMore]).toEqual([0, [], false]);
  });

  test('can look at more than it takes, and names all destinations without capacity, but none that is only one too many', async () => {
    const full = await Promise.all(Array.from({ length: 30 }, () => stage.addWebhook('https://a.example')));
    for (const { id } of full) await stage.addDeliveries(id, 1);
    const [one, other] = await Promise.all([1, 2].map(() => stage.addWebhook('https://a.example')));
    const [first] = await stage.addDeliveries(one!.id, 1);
    const retries = [];
    for (let index = 0; index < 3; index++) retries.push(await stage.addDelivery(one!.id, { attemptCount: 1 }));
    await stage.addDeliveries(other!.id, 2);
    const request = {
      limit: 2,
      retryLimit: 1,
      capacity: new Map([...full.map(({ id }) => [id, 0] as const), [other!.id, 1] as const]),
    };
    const found = await claimDue(stage.pool, { ...REQUEST, ...request }, { mostRead: 100 });
    expect(ids(found)).toEqual([first!, retries[0]!].sort());
    expect(leftOut(found)).toEqual(full.map(({ id }) => id).sort());
  });

  test('does not name destinations of an account that has only as little capacity as any other', async () => {
    const { id } = await stage.addWebhook('https://a.example');
    await stage.addDeliveries(id, 20);
    const { account } = (await claim({ limit: 1 })).deliveries[0]!;
    const leftOutWith = async (slots: number, others: number) => {
      const accountCapacity = { known: new Map([[account, slots]]), others };
      return leftOut(await claimDue(stage.pool, { ...REQUEST, accountCapacity }));
    };
    expect(await leftOutWith(1, 2)).toEqual([]);
    expect(await leftOutWith(1, 4)).toEqual([id]);
    expect(await leftOutWith(0, 2)).toEqual([]);
    expect(await leftOutWith(-1, 2)).toEqual([id]);
  });

  test('leaves out deliveries due before its marks, and reports the earliest due times', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    const [early, late] = [Date.now() - 60_000, Date.now() - 30_000];
    for (const attemptCount of [0, 1]) {
      for (const time of [early, late]) {
        await stage.addDelivery(webhookId, { attemptCount, nextAttemptAt: new Date(time) });
      }
    }
    const marks = [late, late + 1];
    const some = await claimDue(stage.pool, REQUEST, { marks });
    expect([some.deliveries.map(({ attemptCount }) => attemptCount), some.lowestDue]).toEqual([[0], [late, null]]);
    const all = await claimDue(stage.pool, REQUEST);
    expect([all.deliveries.length, all.lowestDue]).toEqual([3, [early, early]]);
  });

  test('parks due deliveries to destinations without capacity, and says which destinations may have more', async () => {
    const [full, other] = await Promise.all([1, 2].map(() => stage.addWebhook('https://a.example')));
    const waiting = await stage.addDeliveries(full!.id, 4);
    const rest = await stage.addDeliveries(other!.id, 2);
    await stage.addDelivery(full!.id, { nextAttemptAt: new Date(Date.now() + 60_000) });
    expect(await park(stage.pool, [full!.id], FROM_THE_BEGINNING)).toBe(false);
    expect(ids(await claim())).toEqual(rest.toSorted());

    const none = await unpark({ capacity: new Map([[full!.id, 0]]) });
    expect([none.deliveries.length, stillParked(none)]).toEqual([0, [full!.id]]);
    const some = await unpark({ capacity: new Map([[full!.id, 3]]) });
    expect([some.deliveries.length, stillParked(some)]).toEqual([3, [full!.id]]);
    const last = await unpark();
    expect([last.deliveries.length, stillParked(last)]).toEqual([1, []]);
    expect([...ids(some), ...ids(last)].sort()).toEqual(waiting.toSorted());
  });

  test("says that destinations may have more if they were left out because of their origin's capacity", async () => {
    for (let index = 0; index < 5; index++) await stage.addDelivery((await stage.addWebhook('https://a.example')).id);
    await bring(true);
    const first = await unpark({ originCapacity: { known: new Map(), others: 2, shares: [] } });
    expect([first.deliveries.length, first.waiting.length]).toEqual([2, 3]);
    const second = await unpark();
    expect([second.deliveries.length, second.waiting.length]).toEqual([3, 0]);
  });

  test('continues with the destination after the one where the last claim stopped', async () => {
    const webhooks = await Promise.all([1, 2, 3].map(() => stage.addWebhook('https://a.example')));
    const [first, second, third] = webhooks.map(({ id }) => id).sort();
    for (const id of [first!, second!, third!]) await stage.addDeliveries(id, 4);
    const destinationsOf = ({ deliveries }: ClaimResult) =>
      [...new Set(deliveries.map(({ destination }) => destination))].sort();

    await bring(true);
    const one = await unpark({ limit: 3, defaultCapacity: 2 });
    expect([destinationsOf(one), one.after, one.hasMore]).toEqual([[first, second], second, true]);
    const two = await unpark({ limit: 3, defaultCapacity: 2 }, one.after);
    expect([destinationsOf(two), two.after, two.hasMore]).toEqual([[third], '', false]);
    const three = await unpark({ limit: 100 }, two.after);
    expect(destinationsOf(three)).toEqual([first, second, third]);
  });

  test.each(WAYS)(
    'keeps first attempts apart from retries in $way, no matter how many retries are due first',
    async ({ claimThere, isParked }) => {
      const { id: webhookId } = await stage.addWebhook('https://a.example');
      const other = await stage.addWebhook('https://b.example');
      const earlier = { attemptCount: 1, nextAttemptAt: new Date(Date.now() - 60_000) };
      for (let count = 0; count < 30; count++) await stage.addDelivery(webhookId, earlier);
      const fresh = [await stage.addDelivery(webhookId), await stage.addDelivery(other.id)];
      await bring(isParked);

      const first = await claimThere({ limit: 10, retryLimit: 4 });
      expect(ids(first)).toEqual(expect.arrayContaining(fresh));
      expect(first.deliveries.filter(({ attemptCount }) => attemptCount > 0)).toHaveLength(4);
      expect(ids(await claimThere({ limit: 10, retryLimit: 0 }))).toEqual([]);
      expect((await claimThere({ limit: 100 })).deliveries).toHaveLength(26);
    },
  );

  test('takes only manual deliveries for a destination with an open circuit', async () => {
    const [broken, other] = await Promise.all([1, 2].map(() => stage.addWebhook('https://a.example')));
    await stage.addDeliveries(broken!.id, 5);
    const id = await stage.addDelivery(broken!.id);
    const rest = await stage.addDelivery(other!.id);
    await requeue(stage.pool, id);
    const capacity = new Map([[broken!.id, -3]]);
    expect(ids(await claim({ capacity }))).toEqual([rest]);
    expect(ids(await unpark({ capacity }))).toEqual([id]);
    expect(ids(await unpark({ capacity }))).toEqual([]);
    expect((await claim()).deliveries).toHaveLength(5);
  });

  test('reports whether there is more and when the next delivery is due', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    expect(await claim()).toMatchObject({ deliveries: [], hasMore: false, nextDueInMilliseconds: null });
    await stage.addDeliveries(webhookId, 3);
    await stage.addDelivery(webhookId, { nextAttemptAt: new Date(Date.now() + 60_000) });
    const first = await claim({ limit: 2 });
    expect(first.hasMore).toBe(true);
    expect(first.nextDueInMilliseconds).toBeGreaterThan(50_000);
    expect(first.nextDueInMilliseconds).toBeLessThan(70_000);
    expect(await claim({ limit: 2 })).toMatchObject({ hasMore: false });
  });

  test('reports more deliveries when a destination had no capacity for everything due', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    await stage.addDeliveries(webhookId, 5);
    expect(await claim({ defaultCapacity: 3 })).toMatchObject({ deliveries: { length: 3 }, hasMore: true });
  });

  test('uses the index to find other deliveries when a destination without capacity has a long backlog', async () => {
    const [crowded, other] = await Promise.all([1, 2].map(() => stage.addWebhook('https://a.example')));
    const eventId = await stage.addEvent();
    await stage.pool.query(
      `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "nextAttemptAt")
       SELECT 'dlv_' || n, $1, $2, 'endpoint.created', $3, now() - interval '1 hour' FROM generate_series(1, 20000) n`,
      [stage.projectId, eventId, crowded!.id],
    );
    await stage.pool.query('ANALYZE "Delivery"');
    // One connection, so that its reads are counted before the next query.
    const pool = new pg.Pool({ connectionString: stage.url, max: 1 });
    const rowsRead = async () => {
      await pool.query('SELECT pg_stat_force_next_flush()');
      const { rows } = await pool.query(
        `SELECT (sum(seq_tup_read) + sum(idx_tup_read))::int AS n FROM (
           SELECT seq_tup_read, 0 AS idx_tup_read FROM pg_stat_user_tables WHERE relname LIKE 'Delivery%'
           UNION ALL SELECT 0, idx_tup_read FROM pg_stat_user_indexes WHERE relname LIKE 'Delivery%'
         ) AS reads`,
      );
      return rows[0].n as number;
    };
    const capacity = new Map([[crowded!.id, 0]]);
    const parking = createParking(pool);
    parking.add([{ destination: crowded!.id, account: null }]);
    while (!parking.isDone()) await parking.park(FROM_THE_BEGINNING);
    const rowsReadByClaims = async () => {
      const id = await stage.addDelivery(other!.id);
      const before = await rowsRead();
      const request = { ...REQUEST, capacity, leaseSeconds: 600 };
      const found = await claimDue(pool, request, { passOver: parking.destinations() });
      expect(ids(found)).toEqual([id]);
      expect(await claimParked(pool, { ...REQUEST, capacity }, '')).toMatchObject({ deliveries: [], hasMore: false });
      return (await rowsRead()) - before;
    };
    // Scans also read the entries of rows that were just parked, until these are removed. That fails while autovacuum has a
    // snapshot, and on a busy machine, it can do so for minutes.
    const rowsReadWithoutGarbage = async () => {
      await pool.query('VACUUM (INDEX_CLEANUP ON) "Delivery"');
      return rowsReadByClaims();
    };
    await expect.poll(rowsReadWithoutGarbage).toBeLessThan(100);
    await pool.end();
  });
});

describe('a lease', () => {
  test('keeps the delivery from other workers until it expires', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    const id = await stage.addDelivery(webhookId);
    await claim();
    expect(ids(await claim())).toEqual([]);
    expect(ids(await unpark())).toEqual([]);
    await expireLease(id);
    expect(await claimOne()).toMatchObject({ id, leaseToken: 2, previousErrorClass: 'interrupted' });
    await expireLease(id);
    await bring(true);
    const { deliveries } = await unpark();
    expect(deliveries).toMatchObject([{ id, leaseToken: 3, previousErrorClass: 'interrupted' }]);
  });

  test('writes one new row version and no index entries', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    await stage.addDeliveries(webhookId, 20);
    // Uses a new connection, because a connection's statistics can still include its counts from the last second.
    const client = new pg.Client({ connectionString: stage.url });
    await client.connect();
    await client.query('BEGIN');
    await claim({}, client);
    const { rows } = await client.query(
      `SELECT sum(n_tup_upd)::int AS updated, sum(n_tup_hot_upd)::int AS beside FROM pg_stat_xact_user_tables
       WHERE relname LIKE 'Delivery%'`,
    );
    await client.query('ROLLBACK');
    await client.end();
    expect(rows).toEqual([{ updated: 20, beside: 20 }]);
  });

  test('invalidates a late result and its attempts once it is lost', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    const id = await stage.addDelivery(webhookId);
    const late = await claimOne();
    await expireLease(id);
    const current = await claimOne();
    expect((await recordOutcomes(stage.pool, [judge(late, delivered)])).written).toEqual(new Set());
    expect(await stage.delivery(id)).toMatchObject({ status: 'RUNNING', attemptCount: 0 });
    expect(await stage.attempts(id)).toEqual([]);
    expect((await recordOutcomes(stage.pool, [judge(current, delivered)])).written).toEqual(new Set([id]));
    expect(await stage.delivery(id)).toMatchObject({ status: 'SUCCEEDED', attemptCount: 1 });
  });

  test('still allows the result to be written once if it expired without another claim', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    const id = await stage.addDelivery(webhookId);
    const outcome = judge(await claimOne(), delivered);
    await expireLease(id);
    expect((await recordOutcomes(stage.pool, [outcome])).written).toEqual(new Set([id]));
    expect((await recordOutcomes(stage.pool, [outcome])).written).toEqual(new Set());
    expect(await stage.attempts(id)).toHaveLength(1);
  });

  test('can be extended only by the worker that holds it', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    const id = await stage.addDelivery(webhookId);
    const stale = await claimOne();
    await expireLease(id);
    const current = await claimOne();
    const before = (await stage.delivery(id)).leasedUntil as Date;
    await extendLeases(stage.pool, [stale], 900);
    expect((await stage.delivery(id)).leasedUntil).toEqual(before);
    await extendLeases(stage.pool, [current], 900);
    expect(((await stage.delivery(id)).leasedUntil as Date).getTime()).toBeGreaterThan(before.getTime() + 800_000);
  });

  test('makes the delivery due immediately when it is released', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    await stage.addDelivery(webhookId);
    await releaseLeases(stage.pool, [await claimOne()], null);
    const again = await claimOne();
    expect(again.previousErrorClass).toBeNull();
    await releaseLeases(stage.pool, [again], 'interrupted');
    expect(await claimOne()).toMatchObject({ leaseToken: 3, previousErrorClass: 'interrupted' });
  });
});

describe('requeue', () => {
  test.each(['SUCCEEDED', 'FAILED', 'SKIPPED', 'PENDING'])(
    'makes a %s delivery due now, as a manual one',
    async (status) => {
      const { id: webhookId } = await stage.addWebhook('https://a.example');
      const nextAttemptAt = status === 'PENDING' ? new Date(Date.now() + 60_000) : null;
      const finished = { attemptCount: 3, retryStep: 9, reason: 'exhausted', completedAt: new Date() };
      const id = await stage.addDelivery(webhookId, { status, nextAttemptAt, ...finished });
      expect(await requeue(stage.pool, id)).toBe('queued');
      expect(await stage.delivery(id)).toMatchObject({
        status: 'PENDING',
        trigger: 'MANUAL',
        retryStep: 0,
        attemptCount: 3,
        reason: null,
        completedAt: null,
      });
      const again = await claimOne();
      await recordOutcomes(stage.pool, [judge(again, delivered)]);
      expect(await stage.attempts(id)).toMatchObject([{ number: 4, trigger: 'MANUAL' }]);
    },
  );

  test('does not change a delivery that is being sent', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    const id = await stage.addDelivery(webhookId);
    await claim();
    expect(await requeue(stage.pool, id)).toBe('running');
    await expireLease(id);
    expect(await requeue(stage.pool, id)).toBe('queued');
    // The request of the process that died may have arrived.
    expect(await claimOne()).toMatchObject({ trigger: 'MANUAL', previousErrorClass: 'interrupted' });
  });

  test('does not find a delivery that does not exist', async () => {
    expect(await requeue(stage.pool, newId('Delivery'))).toBe('not_found');
  });
});

describe('readQueueStats', () => {
  test('counts waiting and running deliveries, and returns the age of the oldest due one', async () => {
    expect(await readQueueStats(stage.pool)).toEqual({ pending: 0, running: 0, oldestDueSeconds: 0 });
    const { id: webhookId } = await stage.addWebhook('https://a.example');
    await stage.addDelivery(webhookId);
    await claim();
    await stage.addDelivery(webhookId, { nextAttemptAt: new Date(Date.now() - 60_000) });
    await stage.addDelivery(webhookId, { nextAttemptAt: new Date(Date.now() + 60_000) });
    const { pending, running, oldestDueSeconds } = await readQueueStats(stage.pool);
    expect([pending, running]).toEqual([2, 1]);
    expect(oldestDueSeconds).toBeGreaterThan(50);
    expect(oldestDueSeconds).toBeLessThan(70);
  });
});
