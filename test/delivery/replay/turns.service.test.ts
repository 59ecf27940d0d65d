import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { claimReplays, giveBackReplay, type ReplayJob } from '../../../src/delivery/replay/batch.ts';
import { newId } from '../../../src/ids.ts';
import { openStage, type Stage } from '../support.ts';

let stage: Stage;
let crowd: string;
let other: string;

beforeAll(async () => {
  stage = await openStage();
  crowd = stage.projectId;
  other = await stage.addProject();
});
beforeEach(() => stage.pool.query('DELETE FROM "Replay"'));
afterAll(() => stage.close());

async function addReplays(projectId: string, count: number): Promise<void> {
  await stage.pool.query(
    `INSERT INTO "Replay" ("id", "projectId", "filter", "maxPerSecond", "total", "startedBy")
     SELECT unnest($1::text[]), $2, '{}', 1, 1000, 'usr_1'`,
    [Array.from({ length: count }, () => newId('Replay')), projectId],
  );
}

const claim = (limit: number) => claimReplays(stage.pool, { limit, leaseSeconds: 60 });

/** Marks a replay as finished in its turn, as its last batch does. */
const finish = ({ id }: ReplayJob) =>
  stage.pool.query(
    `UPDATE "Replay" SET "status" = 'COMPLETED', "leasedUntil" = now() + interval '60 s', "updatedAt" = now()
     WHERE "id" = $1`,
    [id],
  );

const giveBack = (job: ReplayJob) => giveBackReplay(stage.pool, job);

/** Times are stored in milliseconds, so turns in the same one have no order. */
const tick = () => stage.pool.query('SELECT pg_sleep(0.002)');

/** Runs rounds of turns, and counts the turns of each project. */
async function turns(rounds: number, slots: number, end: (job: ReplayJob) => Promise<unknown>) {
  const counts = new Map([crowd, other].map((id) => [id, 0]));
  for (let round = 0; round < rounds; round++) {
    const jobs = await claim(slots);
    expect(jobs).toHaveLength(slots);
    for (const { projectId } of jobs) counts.set(projectId, counts.get(projectId)! + 1);
    for (const job of jobs) await (job.projectId === other ? giveBack(job) : end(job));
    await tick();
  }
  return { crowd: counts.get(crowd), other: counts.get(other) };
}

describe('with 200 replays in one account and one replay in another', () => {
  beforeEach(async () => {
    await addReplays(crowd, 200);
    await addReplays(other, 1);
  });

  test('both accounts get the same number of turns if only one replay can run at a time', async () => {
    expect(await turns(20, 1, giveBack)).toEqual({ crowd: 10, other: 10 });
  });

  test('both accounts get the same number of turns even if each of the 200 replays finishes in its first turn', async () => {
    expect(await turns(20, 1, finish)).toEqual({ crowd: 10, other: 10 });
  });

  test('the single replay runs in every round if eight can run at a time', async () => {
    expect(await turns(10, 8, giveBack)).toEqual({ crowd: 70, other: 10 });
  });

  test('the single replay gets the next free turn while seven of the others are running', async () => {
    const running = await claim(8);
    const [ours] = running.filter(({ projectId }) => projectId === other);
    await giveBack(ours!);
    await tick();
    expect(await claim(1)).toMatchObject([{ id: ours!.id }]);
  });
});

test('the replays of one account take turns, even in different projects', async () => {
  const second = newId('Project');
  await stage.pool.query(
    `INSERT INTO "Project" ("id", "userId", "name", "walletAddress")
     SELECT $2, "userId", 'Maps', '0x0' FROM "Project" WHERE "id" = $1`,
    [crowd, second],
  );
  await addReplays(crowd, 2);
  await addReplays(second, 2);
  await addReplays(other, 1);
  const projects: string[] = [];
  const ids = new Set<string>();
  for (let turn = 0; turn < 8; turn++) {
    const [job] = await claim(1);
    projects.push(job!.projectId);
    ids.add(job!.id);
    await giveBack(job!);
    await tick();
  }
  expect(projects.filter((id) => id === other)).toHaveLength(4);
  expect(ids.size).toBe(5);
});
