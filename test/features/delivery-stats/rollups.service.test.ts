import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { keepPartitions } from '../../../src/database/partitions.ts';
import { requeue } from '../../../src/delivery/queue/queue.ts';
import { createHistoryClearing } from '../../../src/features/deletions/clear-history.ts';
import { createRollups } from '../../../src/features/delivery-stats/rollups.ts';
import { firstIdAt, newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { openPast, type Past } from '../../support/past.ts';
import { createProject, createWebhook, type Resource } from '../../support/resources.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const log = pino({ level: 'silent' });

let app: TestApp;
let sql: pg.Pool;
let past: Past;
/** The connections of the process that counts deliveries. */
let counting: pg.Pool;
let alice: TestUser;
let shop: Resource & { base: string };
let webhookIds: string[];
let clock: number;

const count = () => createRollups({ pool: counting, log }).run();

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 4 });
  alice = await app.user('alice', 'ENTERPRISE');
  past = await openPast(app.databaseUrl);
  counting = past.pool;
});
afterAll(async () => {
  await past?.close();
  await sql?.end();
  await app?.stop();
});
beforeEach(async () => {
  shop = await createProject(alice);
  webhookIds = [];
  for (let index = 0; index < 3; index++) webhookIds.push((await createWebhook(alice, shop.base)).id);
  await moveTo(Math.floor(Date.now() / DAY) * DAY - 40 * DAY);
});

async function moveTo(time: number, openSince: number | null = null): Promise<void> {
  clock = time;
  await past.moveTo(time, openSince);
}

type Finish = { status?: string; attemptCount?: number; responseTimeMs?: number | null; webhookId?: string };

/** Adds deliveries that were created and finished now. Returns their IDs. */
async function finish(finishes: Finish[], time = clock): Promise<string[]> {
  const ids = finishes.map(() => firstIdAt('Delivery', time).slice(0, -16) + newId('Delivery').slice(-16));
  await sql.query(
    `INSERT INTO "Delivery" (id, "projectId", "eventId", "eventType", "webhookId", status, "attemptCount", "responseTimeMs", "nextAttemptAt", "updatedAt", "completedAt")
     SELECT id, $1, $8, 'payment.settled', webhook, status::"DeliveryStatus", attempts, ms, NULL, $2, $2
     FROM unnest($3::text[], $4::text[], $5::text[], $6::int[], $7::int[]) AS new(id, webhook, status, attempts, ms)`,
    [
      ...[shop.id, new Date(time), ids],
      finishes.map(({ webhookId }) => webhookId ?? webhookIds[0]),
      finishes.map(({ status }) => status ?? 'SUCCEEDED'),
      finishes.map(({ attemptCount }) => attemptCount ?? 1),
      finishes.map(({ responseTimeMs }) => (responseTimeMs === undefined ? 20 : responseTimeMs)),
      firstIdAt('Event', time),
    ],
  );
  return ids;
}

/** Finishes deliveries that were resent. */
const finishAgain = (ids: string[], responseTimeMs: number) =>
  sql.query(
    `UPDATE "Delivery" SET "status" = 'FAILED', "attemptCount" = "attemptCount" + 1, "responseTimeMs" = $2, "updatedAt" = $3
     WHERE "id" = ANY ($1)`,
    [ids, responseTimeMs, new Date(clock)],
  );

type Figures = Record<string, number | null>;
type Stats = { totals: Figures; buckets: (Figures & { start: string })[]; isPartial: boolean };
const INTERVALS = { HOUR: 3 * DAY, DAY: 20 * DAY, MONTH: 60 * DAY };

async function read(interval: keyof typeof INTERVALS): Promise<Stats> {
  const period = `from=${new Date(clock - INTERVALS[interval]).toISOString()}&to=${new Date(clock + HOUR).toISOString()}`;
  return (await alice.rest<Stats>('GET', `${shop.base}/delivery-stats?${period}&interval=${interval}`)).body;
}

const counts = `count(*) FILTER (WHERE "status" = 'SUCCEEDED')::int AS "succeededCount",
  count(*) FILTER (WHERE "status" = 'FAILED')::int AS "failedCount",
  count(*) FILTER (WHERE "status" = 'SKIPPED')::int AS "skippedCount",
  count(*) FILTER (WHERE "attemptCount" > 1)::int AS "retriedCount",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY "responseTimeMs") AS "responseTimeP50Ms",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY "responseTimeMs") AS "responseTimeP95Ms"`;

/** Compares the statistics with a count of the deliveries. */
async function expectExact(step: string): Promise<void> {
  for (const interval of ['HOUR', 'DAY', 'MONTH'] as const) {
    const { buckets, totals, isPartial } = await read(interval);
    const from = new Date(buckets[0]!.start);
    const { rows } = await sql.query<Figures & { start: Date | null }>(
      `SELECT date_trunc($3, "updatedAt", 'UTC') AS "start", ${counts} FROM "Delivery"
       WHERE "projectId" = $1 AND "updatedAt" >= $2 AND "outcome" IS NOT NULL GROUP BY GROUPING SETS ((1), ())`,
      [shop.id, from, interval.toLowerCase()],
    );
    const expected = new Map(rows.map(({ start, ...figures }) => [start?.toISOString(), figures]));
    const seen = buckets.filter(({ succeededCount, failedCount, skippedCount }) =>
      [succeededCount, failedCount, skippedCount].some((number) => number !== 0),
    );
    expect({ step, interval, totals, isPartial }).toEqual({
      step,
      interval,
      isPartial: false,
      totals: expected.get(undefined),
    });
    expected.delete(undefined);
    expect(new Map(seen.map(({ start, ...figures }) => [start, figures])), `${step}, by ${interval}`).toEqual(expected);
  }
}

const rollupsOf = async (projectId: string) =>
  (await sql.query('SELECT * FROM "DeliveryRollup" WHERE "projectId" = $1', [projectId])).rows;
const notes = async () => (await sql.query('SELECT FROM "ChangedDeliveryHour"')).rowCount;

describe('statistics from rollups', () => {
  test.each([1, 2, 3])(
    'match a count of the deliveries after any change, whether or not it has been counted yet (seed %i)',
    async (seed) => {
      let state = seed * 7919;
      const random = (below: number) => {
        state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
        return Math.floor((state / 2 ** 31) * below);
      };
      const pick = <T>(items: readonly T[]) => items[random(items.length)]!;
      const ids: string[] = [];
      const steps: Record<string, () => Promise<unknown>> = {
        'finish deliveries': async () => {
          const finishes = Array.from({ length: 1 + random(30) }, () => ({
            status: pick(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED', 'SKIPPED', 'PENDING']),
            attemptCount: random(3),
            responseTimeMs: random(8) === 0 ? null : random(200),
            webhookId: pick(webhookIds),
          }));
          ids.push(...(await finish(finishes)));
        },
        resend: async () => {
          for (let index = 0; index < 3 && ids.length > 0; index++) await requeue(sql, pick(ids));
        },
        'resend and finish again': async () => {
          const again = Array.from({ length: 5 }, () => pick([...ids, 'none']));
          for (const id of again) await requeue(sql, id);
          await finishAgain(again, random(200));
        },
        'delete a few': () => sql.query('DELETE FROM "Delivery" WHERE "id" = ANY ($1)', [[pick([...ids, 'none'])]]),
        count,
        'delete a webhook': async () => {
          if (random(4) > 0) return;
          const place = random(webhookIds.length);
          await alice.rest('DELETE', `${shop.base}/webhooks/${webhookIds[place]}`);
          webhookIds[place] = (await createWebhook(alice, shop.base)).id;
        },
      };
      for (let round = 0; round < 60; round++) {
        const step = pick(Object.keys(steps));
        await steps[step]!();
        await expectExact(`${step} in round ${round}`);
        await moveTo(clock + pick([1, MINUTE, 20 * MINUTE, HOUR, 7 * HOUR]));
      }
      await moveTo(clock + 2 * MINUTE);
      await count();
      await expectExact('the end');
      expect(await notes()).toBe(0);
    },
  );

  test('match a count of the deliveries after a resend that commits while its hour is being counted', async () => {
    const [first] = await finish([{ responseTimeMs: 10 }, { responseTimeMs: 90 }]);
    await moveTo(clock + HOUR);
    await count();
    const resend = await sql.connect();
    try {
      await resend.query('BEGIN');
      await requeue(resend, first!);
      await finish([{}], clock - HOUR + MINUTE).then(([id]) => requeue(sql, id!));
      await count();
      await resend.query('COMMIT');
    } finally {
      resend.release();
    }
    await expectExact('before the change is counted');
    expect((await read('DAY')).totals).toMatchObject({ succeededCount: 1, responseTimeP50Ms: 90 });
    await count();
    await expectExact('after it is counted');
    expect(await notes()).toBe(0);
  });

  test('match a count of the deliveries while deliveries are resent, finished, and counted at the same time', async () => {
    const ids = await finish(Array.from({ length: 200 }, (_, index) => ({ responseTimeMs: index })));
    await moveTo(clock + HOUR);
    const change = async (part: number) => {
      for (const id of ids.filter((_, index) => index % 4 === part)) {
        await requeue(sql, id);
        await finishAgain([id], part);
      }
    };
    await Promise.all([change(0), change(1), count().then(count), count(), alice.rest('GET', shop.base)]);
    await expectExact('before everything is counted');
    await moveTo(clock + HOUR);
    await count();
    await expectExact('after everything is counted');
    expect((await read('DAY')).totals).toMatchObject({ succeededCount: 100, failedCount: 100 });
  });
});

test('an account that changes many hours delays neither new deliveries nor the changes of other accounts', async () => {
  const resent: string[] = [];
  const finishAndResend = async (hours: number) => {
    for (let hour = 0; hour < hours; hour++) {
      resent.push(...(await finish([{}])));
      await moveTo(clock + HOUR);
    }
  };
  await finishAndResend(12);
  const busy = shop;
  const bob = await app.user('bob', 'ENTERPRISE');
  shop = await createProject(bob);
  webhookIds = [(await createWebhook(bob, shop.base)).id];
  await finishAndResend(2);
  await count();
  for (const id of resent) await requeue(sql, id);
  await finish([{}]);
  await moveTo(clock + HOUR);
  await sql.query(`
    CREATE TABLE past.counted (id bigserial, "projectId" text, start timestamptz);
    CREATE FUNCTION past.note() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO past.counted ("projectId", start) VALUES (NEW."projectId", NEW."start"); RETURN NULL; END $$;
    CREATE TRIGGER "counted" AFTER INSERT OR UPDATE ON "DeliveryRollup" FOR EACH ROW
      WHEN (NEW."interval" = 'HOUR') EXECUTE FUNCTION past.note()`);
  try {
    await count();
  } finally {
    await sql.query('DROP TRIGGER "counted" ON "DeliveryRollup"');
  }
  const { rows } = await sql.query<{ projectId: string }>('SELECT "projectId" FROM past.counted ORDER BY id');
  const order = rows.map(({ projectId }) => (projectId === busy.id ? 'busy' : 'bob'));
  expect(order[0]).toBe('bob');
  expect(order.slice(1, 5).toSorted()).toEqual(['bob', 'bob', 'busy', 'busy']);
  expect(order.filter((account) => account === 'busy')).toHaveLength(12);
  expect(await notes()).toBe(0);
});

/** The statement that a pool was asked to run. */
function textOf([statement]: Parameters<pg.Pool['query']>): string {
  return (statement as unknown as { text: string }).text;
}

test('new deliveries are looked for again after every few hours that are recounted', async () => {
  const ids: string[] = [];
  for (let hour = 0; hour < 12; hour++) {
    ids.push(...(await finish([{}])));
    await moveTo(clock + HOUR);
  }
  await count();
  for (const id of ids) await requeue(sql, id);
  const left: number[] = [];
  const query = async (...asked: Parameters<pg.Pool['query']>) => {
    if (textOf(asked).includes('pg_stat_activity')) {
      left.push((await sql.query('SELECT DISTINCT "hour" FROM "ChangedDeliveryHour"')).rowCount!);
    }
    return counting.query(...asked);
  };
  const watched = { query, connect: () => counting.connect() } as unknown as pg.Pool;
  await createRollups({ pool: watched, log }).run();
  expect(left).toEqual([12, 7, 2, 0]);
});

test('deliveries are counted only up to the start of the oldest open transaction', async () => {
  await finish([{}]);
  const start = clock;
  await moveTo(start + 3 * HOUR, start + 10 * MINUTE);
  await count();
  await finish([{ responseTimeMs: 77 }], start + 10 * MINUTE);
  await expectExact('a late commit');
  await moveTo(start + 3 * HOUR);
  await count();
  await expectExact('the late commit is counted');
  expect((await read('HOUR')).totals).toMatchObject({ succeededCount: 2 });
});

test('statistics are read from rollups, not from the deliveries that the rollups count', async () => {
  await finish([{}, { status: 'FAILED' }]);
  await moveTo(clock + HOUR);
  await count();
  // Without its triggers, the table can change without the rollups noticing.
  const client = await sql.connect();
  await client.query(`SET session_replication_role = replica`);
  await client.query('DELETE FROM "Delivery" WHERE "projectId" = $1', [shop.id]);
  await client.query('RESET session_replication_role');
  client.release();
  for (const interval of ['HOUR', 'DAY', 'MONTH'] as const) {
    expect((await read(interval)).totals).toMatchObject({ succeededCount: 1, failedCount: 1, responseTimeP95Ms: 20 });
  }
});

test('a count that fails halfway leaves nothing behind, and the next one succeeds', async () => {
  await finish([{}]);
  await moveTo(clock + HOUR);
  await sql.query(`ALTER TABLE "DeliveryRollup" ADD CONSTRAINT "no_days" CHECK ("interval" = 'HOUR') NOT VALID`);
  await expect(count()).rejects.toThrow('no_days');
  expect(await rollupsOf(shop.id)).toEqual([]);
  await expectExact('after the failure');
  await sql.query('ALTER TABLE "DeliveryRollup" DROP CONSTRAINT "no_days"');
  await count();
  expect(await rollupsOf(shop.id)).toHaveLength(2);
  await expectExact('after the retry');
});

test('a worker counts deliveries from before it started', async () => {
  await finish([{}, { status: 'FAILED' }]);
  const worker = await startTestApp({ databaseUrl: app.databaseUrl, dataDir: app.dataDir, env: { ROLES: 'worker' } });
  try {
    await expect.poll(async () => (await rollupsOf(shop.id)).length).toBe(2);
    await expectExact('counted by the worker');
  } finally {
    await worker.stop();
  }
});

test('unfinished deliveries are skipped once, and counted when they finish', async () => {
  const id = await finish([{ status: 'PENDING' }]).then(([first]) => first!);
  await moveTo(clock + HOUR);
  await count();
  const progress = async () =>
    (await sql.query('SELECT "countedUntil" FROM "DeliveryRollupProgress" WHERE "projectId" = $1', [shop.id])).rows[0];
  expect((await progress()).countedUntil.getTime()).toBeGreaterThan(clock - 2 * MINUTE);
  await finishAgain([id], 7);
  await moveTo(clock + HOUR);
  await count();
  expect(await rollupsOf(shop.id)).toMatchObject([{ failedCount: 1 }, { failedCount: 1 }]);
  await expectExact('the end');
});

test('only one of several workers counts in each round', async () => {
  await sql.query(`DELETE FROM "Sweep" WHERE "name" = 'deliveryRollups'`);
  const texts: string[] = [];
  const query = (...asked: Parameters<pg.Pool['query']>) => {
    texts.push(textOf(asked));
    return counting.query(...asked);
  };
  const watched = { query, connect: () => counting.connect() } as unknown as pg.Pool;
  const workers = [1, 2, 3].map(() => createRollups({ pool: watched, log }));
  for (const worker of workers) worker.start();
  await Promise.all(workers.map((worker) => worker.stop()));
  expect(texts.filter((text) => text.includes('pg_stat_activity'))).toHaveLength(1);
});

test('several processes that count at the same time count every delivery once', async () => {
  for (let hour = 0; hour < 30; hour++) {
    await finish([{ responseTimeMs: hour }, {}]);
    await moveTo(clock + HOUR);
  }
  await Promise.all([count(), count(), count()]);
  await count();
  await expectExact('the end');
});

test('when a week is dropped, its deliveries are removed from the statistics', async () => {
  const week = Math.floor((Date.now() - 30 * DAY) / (7 * DAY)) * 7 * DAY;
  for (const table of ['Attempt', 'Delivery', 'Event']) {
    const type = table === 'Event' ? 'Event' : 'Delivery';
    await sql.query(`DROP TABLE "${table}_initial"`);
    await sql.query(
      `CREATE TABLE "${table}_initial" PARTITION OF "${table}" FOR VALUES FROM (MINVALUE) TO ('${firstIdAt(type, week)}')`,
    );
  }
  await keepPartitions({ pool: sql, log, retentionDays: 3650 });
  await moveTo(week - 3 * HOUR);
  const [old] = await finish([{ responseTimeMs: 10 }, { responseTimeMs: 20, status: 'FAILED' }]);
  await moveTo(week + 3 * HOUR);
  await finish([{ responseTimeMs: 30 }]);
  await requeue(sql, old!);
  await finishAgain([old!], 40);
  await moveTo(week + 5 * HOUR);
  await count();
  await expectExact('before');
  expect((await read('DAY')).totals).toMatchObject({ succeededCount: 1, failedCount: 2 });

  const { dropped } = await keepPartitions({ pool: sql, log, retentionDays: (Date.now() - week) / DAY - 1 });
  expect(dropped).toContain('Delivery_initial');
  await expectExact('dropped');
  await count();
  await expectExact('counted');
  expect((await read('DAY')).totals).toMatchObject({ succeededCount: 1, failedCount: 0, responseTimeP95Ms: 30 });
  expect(await rollupsOf(shop.id)).toHaveLength(2);
});

test('expired deliveries in the default partition are removed from the statistics', async () => {
  await moveTo(Date.now() + 60 * DAY);
  await finish([{}]);
  await moveTo(clock + HOUR);
  await count();
  await keepPartitions({ pool: sql, log, retentionDays: -70 });
  expect((await read('DAY')).totals).toMatchObject({ succeededCount: 0 });
});

test('the rollups of a deleted project are deleted, along with its list of changed hours', async () => {
  await finish([{}]);
  await moveTo(clock + HOUR);
  await count();
  expect(await rollupsOf(shop.id)).toHaveLength(2);
  expect((await alice.rest('DELETE', shop.base)).status).toBe(204);
  const bus = { publish: () => {}, publishHereFirst: () => {}, subscribe: () => () => {}, close: async () => {} };
  const clearing = createHistoryClearing({ pool: sql, bus, log: pino({ level: 'silent' }) });
  clearing.start();
  await expect.poll(() => rollupsOf(shop.id)).toEqual([]);
  await clearing.stop();
  await count();
  expect(await notes()).toBe(0);
});

test("finishing a delivery doesn't mark any hour as changed", async () => {
  const before = await notes();
  const [id] = await finish([{ status: 'PENDING' }]);
  await sql.query(`UPDATE "Delivery" SET "status" = 'RUNNING' WHERE "id" = $1`, [id]);
  await finishAgain([id!], 5);
  expect(await notes()).toBe(before);
});
