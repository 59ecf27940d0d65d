import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createContentBudget } from '../../../src/delivery/outcome/content-budget.ts';
import { TIERS } from '../../../src/limits/tiers.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage } from '../support.ts';

const DAILY_BYTES = TIERS.STARTER.maxContentBytesPerDay;
const BODY = randomBytes(8_192).toString('hex');

let stage: Stage;
let receiver: Receiver;
let webhookId: string;
let account: string;

beforeEach(async () => {
  stage = await openStage();
  receiver = await startReceiver(() => ({ body: BODY, headers: { 'x-filler': 'x'.repeat(1_000) } }));
  ({ id: webhookId } = await stage.addWebhook(receiver.url));
  account = await ownerOf(stage.projectId);
});
afterEach(async () => {
  await stage.close();
  await receiver.close();
});

async function ownerOf(projectId: string): Promise<string> {
  const { rows } = await stage.pool.query('SELECT "userId" FROM "Project" WHERE "id" = $1', [projectId]);
  return rows[0].userId;
}

/** Uses up the account's limit for the day, except for this many bytes. */
async function leave(bytes: number): Promise<void> {
  await stage.pool.query(
    `INSERT INTO "RateLimit" VALUES ('attempt-content ' || $1, now() + interval '24 hours' * (1 - $2::float8))`,
    [account, bytes / DAILY_BYTES],
  );
}

async function storedBytes(projectId: string): Promise<number> {
  const { rows } = await stage.pool.query(
    `SELECT coalesce(sum(length(coalesce("responseBody", '')) + length(coalesce("responseHeaders"::text, ''))), 0)::int AS n
     FROM "Attempt" JOIN "Delivery" d ON d."id" = "deliveryId" WHERE d."projectId" = $1`,
    [projectId],
  );
  return rows[0].n;
}

test('an attempt is stored without the request and the response once the account has used up its daily budget', async () => {
  await leave(0);
  receiver.handle((_request, _response, index) => (index === 0 ? { statusCode: 500, body: BODY } : { body: BODY }));
  const id = await stage.addDelivery(webhookId);
  stage.startWorker();
  await stage.deliveryIs(id, 'SUCCEEDED');
  const omitted = {
    isContentOmitted: true,
    responseBody: null,
    responseHeaders: null,
    requestMethod: null,
    requestUrl: null,
    requestHeaders: null,
    durationMs: expect.any(Number),
    firstByteMs: expect.any(Number),
  };
  expect(await stage.attempts(id)).toMatchObject([
    { ...omitted, number: 1, statusCode: 500, errorClass: 'http_status' },
    { ...omitted, number: 2, statusCode: 200, errorClass: null },
  ]);
});

test('one account cannot exceed its daily budget through two workers, and other accounts keep their responses', async () => {
  const left = 1024 * 1024;
  await leave(left);
  const projectId = await stage.addProject();
  const neighbor = await stage.addWebhook(receiver.url, { projectId });
  const theirs = await stage.addDeliveries(neighbor.id, 5, { projectId });
  const ours = await stage.addDeliveries(webhookId, 200);
  stage.startWorker();
  stage.startWorker();
  for (const id of [...ours, ...theirs]) await stage.deliveryIs(id, 'SUCCEEDED');
  expect(200 * BODY.length).toBeGreaterThan(3 * left);
  // The limit refills while the test runs, but a whole share takes minutes.
  expect(await storedBytes(stage.projectId)).toBeLessThan(1.5 * left);
  expect(await storedBytes(stage.projectId)).toBeGreaterThan(0);
  expect(await storedBytes(projectId)).toBeGreaterThan(5 * BODY.length);
});

describe('the budget', () => {
  const outcome = (bytes: number) => ({
    delivery: { account },
    attempts: [{ responseBody: 'x'.repeat(bytes), statusCode: 200, isContentOmitted: false }],
  });
  type Outcomes = Parameters<ReturnType<typeof createContentBudget>['limit']>[0];
  const isKept = async (budget: ReturnType<typeof createContentBudget>, ...bytes: number[]) => {
    const limited = await budget.limit(bytes.map(outcome) as unknown as Outcomes);
    return limited.map(({ attempts }) => !attempts[0]!.isContentOmitted);
  };

  test('asks the database once for thousands of typical responses, and once a minute when it is used up', async () => {
    let queries = 0;
    let time = 0;
    const pool = {
      query: (...args: Parameters<pg.Pool['query']>) => {
        queries++;
        return stage.pool.query(...args);
      },
    } as pg.Pool;
    const budget = createContentBudget({ pool, log: stage.log, now: () => time });
    for (let batch = 0; batch < 100; batch++) await isKept(budget, ...Array.from({ length: 20 }, () => 200));
    const whenPlenty = queries;
    expect(whenPlenty).toBe(2);
    await stage.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = now() + interval '24 hours'`);
    for (let batch = 0; batch < 50; batch++) await isKept(budget, 200_000);
    expect(queries).toBe(whenPlenty + 2);
    time += 60_000;
    expect(await isKept(budget, 200_000)).toEqual([false]);
    expect(queries).toBe(whenPlenty + 4);
  });

  test('keeps contents while the database fails, and counts them afterward', async () => {
    const gone = new pg.Pool();
    await gone.end();
    let isDown = true;
    const pool = {
      query: (...args: Parameters<pg.Pool['query']>) => (isDown ? gone : stage.pool).query(...args),
    } as pg.Pool;
    const budget = createContentBudget({ pool, log: stage.log });
    await leave(1024 * 1024);
    expect(await isKept(budget, 900_000)).toEqual([true]);
    isDown = false;
    expect(await isKept(budget, 300_000)).toEqual([false]);
  });
});
