import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { QUEUE_POOL_SIZE } from '../../../src/database/client.ts';
import { createPacing } from '../../../src/delivery/flow/pacing.ts';
import type { Pace } from '../../../src/delivery/send/pace.ts';
import { waitingStatements } from '../../support/waiting-statements.ts';
import { openStage, type Stage } from '../support.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "RateLimit"'));
afterAll(() => stage.close());

/** Paces deliveries as another process would. */
const open = () => createPacing({ db: stage.pool, log: stage.log });
const at = (perSecond: number, pace: Partial<Pace> = {}): Pace => ({
  perSecond,
  burst: 1,
  deliveriesPerRequest: 1,
  exclusiveSeconds: null,
  maxPerSecond: null,
  ...pace,
});
const capacityOf = (pacing: ReturnType<typeof open>, id: string) => pacing.slots().get(id)?.requests;

/** Simulates that this many seconds have passed. A pacing that was opened earlier doesn't notice. */
const pass = (seconds: number) =>
  stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - make_interval(secs => $1)`, [seconds]);

/** A margin of five seconds for the time that statements take. Intervals between slots are much longer. */
const about = (seconds: number) => expect.closeTo(seconds, -1);

describe('slots', () => {
  test('are handed out once, no matter how many processes ask', async () => {
    const [one, two] = [open(), open()];
    const startedAt = performance.now();
    const first = await one.reserve('wh_1', at(20), 5);
    const second = await two.reserve('wh_1', at(20), 5);
    const seconds = (performance.now() - startedAt) / 1000;
    expect([first.length, second.length]).toEqual([5, 5]);
    const gaps = first.slice(1).map((delay, index) => delay - first[index]!);
    for (const gap of gaps) expect(gap).toBeCloseTo(0.05);
    expect(first[0]).toBeCloseTo(0);
    // The second reservation starts where the first ends, minus the time between the two calls.
    expect(second[0]! + seconds).toBeGreaterThan(0.25 - 0.001);
    expect(second[0]).toBeLessThanOrEqual(0.25 + 0.001);
  });

  test('are reserved for few destinations at the same time, so that claims and results don’t have to wait', async () => {
    const pool = new pg.Pool({ connectionString: stage.url, max: QUEUE_POOL_SIZE });
    const pacing = createPacing({ db: pool, log: stage.log });
    const lock = await stage.pool.connect();
    await lock.query('BEGIN; LOCK TABLE "RateLimit" IN EXCLUSIVE MODE');
    const reserved = Array.from({ length: 20 }, (_, index) => pacing.reserve(`wh_${index}`, at(1), 1, 'usr_1'));
    try {
      await expect.poll(() => waitingStatements(stage.pool)).toBe(QUEUE_POOL_SIZE / 2);
      await pool.query('SELECT');
    } finally {
      await lock.query('COMMIT');
      lock.release();
    }
    for (const slots of await Promise.all(reserved)) expect(slots).toHaveLength(1);
    await pool.end();
  });

  test('are granted only a short time ahead, and the process knows when it can ask for more', async () => {
    expect(await open().reserve('wh_1', at(0.01), 3)).toEqual([expect.closeTo(0)]);
    expect(await open().reserve('wh_1', at(0.01), 3)).toEqual([]);
    // Now, the next slot is in a tenth of a second, and the one after it in more than a minute.
    await pass(99.9);
    expect(await open().reserve('wh_1', at(0.01), 3)).toHaveLength(1);
    const pacing = open();
    expect(await pacing.reserve('wh_1', at(0.01), 3)).toEqual([]);
    expect(pacing.reopensInSeconds(['wh_1', 'wh_2'])).toBeGreaterThan(0);
    expect(capacityOf(pacing, 'wh_1')).toBe(0);
  });

  test('have the right interval at a fractional rate', async () => {
    const pacing = open();
    expect(await pacing.reserve('wh_1', at(0.005), 3)).toEqual([expect.closeTo(0)]);
    expect(pacing.reopensInSeconds(['wh_1'])).toEqual(about(199.75));
    expect(await pacing.reserve('wh_1', at(0.005), 1)).toEqual([]);
    await pass(200);
    expect(await open().reserve('wh_1', at(0.005), 1)).toHaveLength(1);
  });

  test('taken by another process are discovered with a single request', async () => {
    await open().reserve('wh_1', at(0.01), 1);
    const other = open();
    expect(await other.reserve('wh_1', at(0.01), 2)).toEqual([]);
    expect(other.reopensInSeconds(['wh_1'])).toEqual(about(100));
    expect(capacityOf(other, 'wh_1')).toBe(0);
  });

  test('follow a new rate, starting from the last slot', async () => {
    await open().reserve('wh_1', at(0.0001), 1);
    await pass(100);
    const faster = open();
    expect(await faster.reserve('wh_1', at(0.005), 1)).toEqual([]);
    expect(faster.reopensInSeconds(['wh_1'])).toEqual(about(99.75));
    await pass(100);
    expect(await faster.reserve('wh_1', at(0.005), 1)).toHaveLength(1);
    await pass(5_000);
    expect(await open().reserve('wh_1', at(0.0001), 1)).toEqual([]);
  });
});

describe("a process's cached information about slots", () => {
  test('is discarded when the rate changes', async () => {
    const { id } = await stage.addWebhook('http://127.0.0.1:9/', { maxPerSecond: 0.01 });
    const pacing = open();
    await pacing.reserve(id, at(0.01, { maxPerSecond: 0.01 }), 1);
    await pacing.refresh();
    expect(capacityOf(pacing, id)).toBe(0);
    await stage.pool.query(`UPDATE "Webhook" SET "maxPerSecond" = 5 WHERE "id" = $1`, [id]);
    await pacing.refresh();
    expect(capacityOf(pacing, id)).toBeUndefined();
  });

  test('is refreshed when another process gives back a slot', async () => {
    const [one, two] = [open(), open()];
    await one.reserve('con_1', at(0.01), 1);
    await two.reserve('con_1', at(0.01), 1);
    await one.end('con_1', at(0.01), { isUnsent: true });
    expect(capacityOf(two, 'con_1')).toBe(0);
    await two.refresh();
    expect(capacityOf(two, 'con_1')).toBe(1);
  });
});

describe('a burst', () => {
  const pace = at(0.005, { burst: 3 });

  test('gets slots right away, and later requests get slots at the usual pace', async () => {
    const pacing = open();
    expect(await pacing.reserve('con_1', pace, 5)).toEqual([0, 0, 0]);
    expect(capacityOf(pacing, 'con_1')).toBe(0);
    const other = open();
    expect(await other.reserve('con_1', pace, 1)).toEqual([]);
    expect(other.reopensInSeconds(['con_1'])).toEqual(about(199.75));
  });

  test('becomes available again slot by slot', async () => {
    await open().reserve('con_1', pace, 3);
    await pass(400);
    expect(await open().reserve('con_1', pace, 1)).toEqual([0]);
    expect(await open().reserve('con_1', pace, 1)).toEqual([0]);
    expect(await open().reserve('con_1', pace, 1)).toEqual([]);
  });

  test('is never exceeded by several processes that ask as often as they can', async () => {
    const fast = at(20, { burst: 4 });
    const slots: { earliest: number; latest: number }[] = [];
    async function keepAsking() {
      const pacing = open();
      while (slots.length <= 20) {
        const before = performance.now() / 1000;
        const delays = await pacing.reserve('con_1', fast, 3);
        const after = performance.now() / 1000;
        for (const delay of delays) slots.push({ earliest: before + delay, latest: after + delay });
      }
    }
    await Promise.all([keepAsking(), keepAsking(), keepAsking()]);
    slots.sort((a, b) => a.earliest - b.earliest);
    for (const [first, { earliest }] of slots.entries()) {
      let latest = earliest;
      for (let last = first; last < slots.length; last++) {
        latest = Math.max(latest, slots[last]!.latest);
        expect(latest - earliest).toBeGreaterThan((last - first + 1 - 4) / 20 - 0.001);
      }
    }
  });
});

test('a slot admits as many deliveries as one request can carry', async () => {
  const pacing = open();
  await pacing.reserve('con_1', at(4, { deliveriesPerRequest: 500 }), 1);
  expect(pacing.slots().get('con_1')).toEqual({ requests: 1, deliveriesPerRequest: 500 });
});

test('a slot that was given back can be taken again by any process', async () => {
  const [one, two] = [open(), open()];
  await one.reserve('con_1', at(0.01), 1);
  await one.end('con_1', at(0.01), { isUnsent: true });
  expect(capacityOf(one, 'con_1')).toBe(1);
  expect(await two.reserve('con_1', at(0.01), 1)).toEqual([0]);
});

describe('a slot of a destination whose requests must not overlap', () => {
  const pace = at(50, { exclusiveSeconds: 100 });

  test('is the only one until the request ends, across processes', async () => {
    const [one, two] = [open(), open()];
    expect(await one.reserve('con_1', pace, 5)).toHaveLength(1);
    for (const pacing of [one, two]) {
      expect(await pacing.reserve('con_1', pace, 1)).toEqual([]);
      expect(capacityOf(pacing, 'con_1')).toBe(0);
      expect(pacing.reopensInSeconds(['con_1'])).toEqual(about(100));
    }
    await one.end('con_1', pace);
    await two.refresh();
    expect([one, two].map((pacing) => capacityOf(pacing, 'con_1'))).toEqual([1, 1]);
    expect(await two.reserve('con_1', pace, 1)).toHaveLength(1);
  });

  test('is followed by the next one at the usual pace, once the request has ended', async () => {
    const slow = at(0.01, { exclusiveSeconds: 1_000 });
    const pacing = open();
    await pacing.reserve('con_1', slow, 1);
    await pacing.end('con_1', slow);
    expect(await pacing.reserve('con_1', slow, 1)).toEqual([]);
    expect(pacing.reopensInSeconds(['con_1'])).toEqual(about(100));
    await pass(100);
    expect(await open().reserve('con_1', slow, 1)).toHaveLength(1);
  });

  test("passes if its process is killed, and that process cannot move back another process's slot later", async () => {
    const [killed, two, three] = [open(), open(), open()];
    await killed.reserve('con_1', pace, 1);
    await pass(101);
    expect(await two.reserve('con_1', pace, 1)).toHaveLength(1);
    await killed.end('con_1', pace);
    expect(await three.reserve('con_1', pace, 1)).toEqual([]);
  });

  test('can be taken again if nothing was sent', async () => {
    const slow = at(0.01, { exclusiveSeconds: 1_000 });
    const [one, two] = [open(), open()];
    await one.reserve('con_1', slow, 1);
    await one.end('con_1', slow, { isUnsent: true });
    expect(await two.reserve('con_1', slow, 1)).toEqual([expect.closeTo(0)]);
  });

  test('waits for a request of the last release, which stores until when it can last in a row of its own', async () => {
    const pacing = open();
    await stage.pool.query(
      `INSERT INTO "RateLimit" VALUES ('delivery:con_1', now() - interval '1 s'), ('delivery-turn:con_1', now() + interval '100 s')`,
    );
    expect(await pacing.reserve('con_1', pace, 1)).toEqual([]);
    expect(pacing.reopensInSeconds(['con_1'])).toEqual(about(100));
    await stage.pool.query(`DELETE FROM "RateLimit" WHERE "key" = 'delivery-turn:con_1'`);
    await pacing.refresh();
    expect(await pacing.reserve('con_1', pace, 1)).toHaveLength(1);
  });
});
