import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { TIERS } from '../../../src/limits/tiers.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { dayLimitOf } from '../../support/day-limit.ts';
import { createProject, createWebhook, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';

type Created = { total: number; replay: Resource | null; code?: string; detail?: string };

const PER_DAY = TIERS.STARTER.maxReplayedPerDay;

let app: TestApp;
let rest: Rest;
let sql: pg.Pool;
let alice: TestUser;
let users = 0;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  sql = new pg.Pool({ connectionString: app.databaseUrl, max: 2 });
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});
beforeEach(async () => {
  alice = await app.user(`alice${users++}`, 'STARTER');
});

/** Creates a project with finished deliveries. */
async function projectWith(count: number) {
  const { base, id } = await createProject(alice);
  const webhook = await createWebhook(alice, base, { url: 'https://hooks.example' });
  const deliveryIds = Array.from({ length: count }, () => newId('Delivery'));
  await sql.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "status", "nextAttemptAt", "completedAt")
     SELECT unnest($3::text[]), $1, 'evt_1', 'endpoint.created', $2, 'FAILED', NULL, now()`,
    [id, webhook.id, deliveryIds],
  );
  return { base, id, deliveryIds };
}

/** Uses up the account's limit for the day, except for this many deliveries. */
const leave = (projectId: string, count: number) =>
  dayLimitOf(sql, projectId, { name: 'replayed-deliveries', perDay: PER_DAY }).leave(count);

const replay = (base: string, selection: object = {}) => {
  const body = 'filter' in selection ? selection : { all: true, ...selection };
  return rest.send<Created>(alice, 'POST', `${base}/replays`, { body });
};

test('a replay of more deliveries than the account has left is rejected, and a smaller one is not', async () => {
  const { base, id, deliveryIds } = await projectWith(200);
  await leave(id, 150);
  const rejected = await replay(base);
  expect(rejected).toMatchObject({ status: 403, body: { code: 'REPLAY_LIMIT_REACHED' } });
  expect(rejected.body.detail).toMatch(/1\d\d are left, and this replay has 200/);
  // Counting is free, and a rejected replay doesn't count.
  expect(await replay(base, { dryRun: true })).toMatchObject({ status: 200, body: { total: 200 } });
  const filter = { deliveryIds: deliveryIds.slice(0, 100) };
  expect(await replay(base, { filter })).toMatchObject({ status: 200, body: { total: 100 } });
  expect(await replay(base, { filter })).toMatchObject({ status: 403 });
});

test('replaying everything again and again stops at the daily limit, in all projects of the account', async () => {
  const [first, second] = [await projectWith(200), await projectWith(200)];
  await leave(first.id, 700);
  let accepted = 0;
  for (let round = 0; round < 5; round++) {
    const { status, body } = await replay(first.base, { maxPerSecond: 1_000 });
    if (status === 403) break;
    accepted += body.total;
    await sql.query(`UPDATE "Replay" SET "status" = 'COMPLETED' WHERE "projectId" = $1`, [first.id]);
  }
  expect(accepted).toBe(600);
  expect(await replay(second.base)).toMatchObject({ status: 403, body: { code: 'REPLAY_LIMIT_REACHED' } });
});

/** How many deliveries the project's owner has left for the day, on the tier that the test's limits are for. */
async function leftOf(projectId: string): Promise<number> {
  const { rows } = await sql.query(
    `SELECT extract(epoch FROM interval '24 hours' - ("arrivesAt" - now()))::float8 / 86400 * $2 AS "left"
     FROM "RateLimit" WHERE key = (SELECT 'replayed-deliveries ' || "userId" FROM "Project" WHERE "id" = $1)`,
    [projectId, PER_DAY],
  );
  return rows[0].left;
}

/** Adds a running replay with 500 deliveries left, which were counted toward a limit. */
async function addRunning(projectId: string, charged: { account: string | null; limitPerDay: number | null }) {
  const id = newId('Replay');
  await sql.query(
    `INSERT INTO "Replay" ("id", "projectId", "filter", "maxPerSecond", "total", "done", "skipped", "startedBy", "leasedUntil",
       "chargedAccountId", "chargedLimitPerDay")
     VALUES ($2, $1, '{}', 1, 1000, 300, 200, 'usr_1', now() + interval '1 hour', $3, $4)`,
    [projectId, id, charged.account, charged.limitPerDay],
  );
  return id;
}

const ownerOf = async (projectId: string): Promise<string> =>
  (await sql.query(`SELECT "userId" FROM "Project" WHERE "id" = $1`, [projectId])).rows[0].userId;

async function cancelTwice(base: string, id: string): Promise<void> {
  for (let times = 0; times < 2; times++) {
    const canceled = await rest.send(alice, 'POST', `${base}/replays/${id}/cancel`);
    expect(canceled).toMatchObject({ status: 200, body: { status: 'CANCELED' } });
  }
}

test('deliveries that a canceled replay has not queued no longer count', async () => {
  const { base, id } = await projectWith(0);
  await leave(id, 100);
  await cancelTwice(base, await addRunning(id, { account: await ownerOf(id), limitPerDay: PER_DAY }));
  expect(await leftOf(id)).toBeGreaterThanOrEqual(600);
  expect(await leftOf(id)).toBeLessThan(1_000);
});

test('canceling a replay gives back only what was charged, to the account that was charged', async () => {
  const enterprise = TIERS.ENTERPRISE.maxReplayedPerDay;
  for (const charged of [
    { account: 'usr_previous_owner', limitPerDay: enterprise },
    { account: null, limitPerDay: null },
  ]) {
    const { base, id } = await projectWith(0);
    await leave(id, 100);
    await cancelTwice(base, await addRunning(id, charged));
    expect(await leftOf(id)).toBeLessThan(150);
  }
  // On a higher tier, each delivery counted for less.
  const { base, id } = await projectWith(0);
  await leave(id, 100);
  await cancelTwice(base, await addRunning(id, { account: await ownerOf(id), limitPerDay: enterprise }));
  expect(await leftOf(id)).toBeLessThan(150);
});

test('a replay stores which account it was charged to, and how much', async () => {
  const { base, id } = await projectWith(3);
  const { body } = await replay(base);
  const { rows } = await sql.query(`SELECT "chargedAccountId", "chargedLimitPerDay" FROM "Replay" WHERE "id" = $1`, [
    body.replay!.id,
  ]);
  expect(rows).toEqual([{ chargedAccountId: await ownerOf(id), chargedLimitPerDay: PER_DAY }]);
});
