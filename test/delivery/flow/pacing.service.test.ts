import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Pace } from '../../../src/delivery/flow/pace.ts';
import { createPacing } from '../../../src/delivery/flow/pacing.ts';
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
  ...{ perSecond, burst: 1, deliveriesPerRequest: 1 },
  ...pace,
});

/** Makes it seem as if this many seconds have passed. Processes opened before don't notice. */
const pass = (seconds: number) =>
  stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = "arrivesAt" - make_interval(secs => $1)`, [seconds]);

/** Allows for the time that statements take. */
const about = (seconds: number) => expect.closeTo(seconds, 0);

describe('slots', () => {
  test('are handed out once, no matter how many processes ask', async () => {
    const [one, two] = [open(), open()];
    const first = await one.reserve('wh_1', at(100), 10);
    const second = await two.reserve('wh_1', at(100), 10);
    expect([first.granted, second.granted]).toEqual([10, 10]);
    const gaps = first.delays.slice(1).map((delay, index) => delay - first.delays[index]!);
    for (const gap of gaps) expect(gap).toBeCloseTo(0.01);
    expect(first.delays[0]).toBeCloseTo(0);
    // The second reservation starts where the first ends, minus the time between the two calls.
    expect(second.delays[0]).toBeGreaterThan(0);
    expect(second.delays[0]).toBeLessThanOrEqual(0.1 + 0.001);
  });

  test('are granted only a short time ahead, and it is reported when more are available', async () => {
    const pacing = open();
    const first = await pacing.reserve('wh_1', at(4), 3);
    expect(first.granted).toBe(1);
    expect(first.delays).toEqual([0, 0.25, 0.5].map((delay) => expect.closeTo(delay)));
    await pacing.reserve('wh_1', at(4), 3);
    const refused = await pacing.reserve('wh_1', at(4), 3);
    expect(refused.granted).toBe(0);
    expect(refused.reopensInSeconds).toBeGreaterThan(0);
    expect(pacing.slots().get('wh_1')).toBe(0);
  });

  test('at a fractional rate are as far apart as the rate says', async () => {
    const pacing = open();
    const first = await pacing.reserve('wh_1', at(0.5), 3);
    expect(first).toMatchObject({ granted: 1, delays: [about(0), about(2), about(4)] });
    expect(first.reopensInSeconds).toBeCloseTo(1.75);
    expect(await pacing.reserve('wh_1', at(0.5), 1)).toMatchObject({ granted: 0 });
    await pass(2);
    expect(await open().reserve('wh_1', at(0.5), 1)).toMatchObject({ granted: 1 });
  });

  test('taken by another process are known after asking once', async () => {
    await open().reserve('wh_1', at(0.1), 1);
    const other = open();
    const refused = await other.reserve('wh_1', at(0.1), 2);
    expect(refused).toMatchObject({ granted: 0, delays: [5, 5], reopensInSeconds: about(10) });
    expect(other.slots().get('wh_1')).toBe(0);
  });

  test('that are far away are asked for again within seconds, because they may become available sooner', async () => {
    const { delays } = await open().reserve('wh_1', at(0.01), 3);
    expect(delays).toEqual([about(0), 5, 5]);
  });
});

describe('a burst', () => {
  const pace = at(0.5, { burst: 3 });

  test('gets slots right away, and later requests get slots at the usual pace', async () => {
    const pacing = open();
    const first = await pacing.reserve('con_1', pace, 5);
    expect(first).toMatchObject({ granted: 3, delays: [0, 0, 0, about(2), about(4)] });
    expect(pacing.slots().get('con_1')).toBe(0);
    expect(await open().reserve('con_1', pace, 1)).toMatchObject({ granted: 0, delays: [about(2)] });
  });

  test('is available again slot by slot', async () => {
    await open().reserve('con_1', pace, 3);
    await pass(4);
    const later = await open().reserve('con_1', pace, 1);
    expect(later).toMatchObject({ granted: 1, delays: [0] });
    expect(await open().reserve('con_1', pace, 1)).toMatchObject({ granted: 1, delays: [0] });
    expect(await open().reserve('con_1', pace, 1)).toMatchObject({ granted: 0 });
  });

  test('is never exceeded by several processes that ask as often as they can', async () => {
    const fast = at(20, { burst: 4 });
    const slots: { earliest: number; latest: number }[] = [];
    const end = performance.now() + 1_500;
    async function keepAsking() {
      const pacing = open();
      while (performance.now() < end) {
        const before = performance.now() / 1000;
        const { granted, delays } = await pacing.reserve('con_1', fast, 3);
        const after = performance.now() / 1000;
        for (const delay of delays.slice(0, granted)) slots.push({ earliest: before + delay, latest: after + delay });
        await sleep(5);
      }
    }
    await Promise.all([keepAsking(), keepAsking(), keepAsking()]);
    slots.sort((a, b) => a.earliest - b.earliest);
    expect(slots.length).toBeGreaterThan(20);
    for (const [first, { earliest }] of slots.entries()) {
      let latest = earliest;
      for (let last = first; last < slots.length; last++) {
        latest = Math.max(latest, slots[last]!.latest);
        expect(latest - earliest).toBeGreaterThan((last - first + 1 - 4) / 20 - 0.001);
      }
    }
  });
});

test('a slot lets through as many deliveries as one request can carry', async () => {
  const pacing = open();
  await pacing.reserve('con_1', at(4, { deliveriesPerRequest: 500 }), 1);
  expect(pacing.slots().get('con_1')).toBe(500);
});

test('a slot that was given back can be taken again by any process', async () => {
  const [one, two] = [open(), open()];
  await one.reserve('con_1', at(0.1), 1);
  await one.giveBack('con_1', at(0.1));
  expect(one.slots().get('con_1')).toBe(1);
  expect(await two.reserve('con_1', at(0.1), 1)).toMatchObject({ granted: 1, delays: [0] });
});
