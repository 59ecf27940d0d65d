import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createWorkerRegistry } from '../../../src/delivery/queue/worker-registry.ts';
import { openStage, type Stage } from '../support.ts';

let stage: Stage;
let time = 0;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "Worker"'));
afterAll(() => stage.close());

const create = () => createWorkerRegistry(stage.pool, () => time);
const TURNS = Array.from({ length: 12 }, (_, turn) => turn);

async function beat(registries: ReturnType<typeof create>[]): Promise<void> {
  time += 10_000;
  for (const registry of registries) await registry.beat();
}

/** Returns how many of the registries take each turn. */
const takers = (registries: ReturnType<typeof create>[]) =>
  TURNS.map((turn) => registries.filter(({ isOwnTurn }) => isOwnTurn(turn)).length);

test('a single worker takes every turn, both before and after it registers', async () => {
  const registry = create();
  expect(takers([registry])).toEqual(TURNS.map(() => 1));
  await beat([registry]);
  expect(takers([registry])).toEqual(TURNS.map(() => 1));
});

test('each turn belongs to exactly one of several workers, every worker gets its share, and a hint without a turn goes to all of them', async () => {
  const registries = [create(), create(), create()];
  await beat(registries);
  await beat(registries);
  expect(takers(registries)).toEqual(TURNS.map(() => 1));
  for (const { isOwnTurn } of registries) expect(TURNS.filter(isOwnTurn)).toHaveLength(4);
  expect(registries.every(({ isOwnTurn }) => isOwnTurn(undefined))).toBe(true);
});

test('when a worker leaves or is killed, the remaining workers take over its turns', async () => {
  const [stays, leaves, isKilled] = [create(), create(), create()];
  await beat([stays, leaves, isKilled]);
  await beat([stays]);
  expect(TURNS.filter(stays.isOwnTurn)).toHaveLength(4);
  await leaves.leave();
  await beat([stays]);
  expect(TURNS.filter(stays.isOwnTurn)).toHaveLength(6);
  await stage.pool.query(`UPDATE "Worker" SET "seenAt" = now() - interval '20 seconds'`);
  await beat([stays]);
  expect(TURNS.filter(stays.isOwnTurn)).toHaveLength(12);
  await stage.pool.query(`UPDATE "Worker" SET "seenAt" = now() - interval '2 minutes'`);
  await beat([stays]);
  expect((await stage.pool.query('SELECT FROM "Worker"')).rowCount).toBe(1);
});
