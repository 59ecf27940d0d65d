import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Viewer } from '../../../src/auth/viewer.ts';
import { behindWall } from '../../../src/database/tenant-client.ts';
import { createRollups } from '../../../src/features/delivery-stats/rollups.ts';
import type { RevenueInterval } from '../../../src/features/revenue/period.ts';
import { createRevenueService } from '../../../src/features/revenue/service.ts';
import { newId } from '../../../src/ids.ts';
import { openPast, type Past } from '../../support/past.ts';
import { hex, log, newPayment, openTestLedger, settled, type TestLedger } from '../payments/support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ENDPOINTS = ['ep_a', 'ep_b', 'ep_c'];
/** The time after which a new interval has started. */
const LEAST = { HOUR, DAY, MONTH: 32 * DAY };
const LENGTH = { HOUR: 30 * DAY, DAY: 200 * DAY, MONTH: 400 * DAY };
/** Clocks change by half an hour on Lord Howe Island. Days in Nepal and Newfoundland begin within a UTC hour. */
const ZONES = ['UTC', 'Asia/Kathmandu', 'America/St_Johns', 'Australia/Lord_Howe', 'America/Los_Angeles'];

let books: TestLedger;
let past: Past;
let viewer: Viewer;
let projectId: string;
let customerIds: string[];
let clock: number;

const sql = () => books.db.pool;
const count = () => createRollups({ pool: past.pool, log }).run();
const moveTo = (time: number, openSince?: number) => {
  clock = time;
  return past.moveTo(time, openSince);
};

beforeAll(async () => {
  books = await openTestLedger({ now: () => new Date(clock) });
  past = await openPast(books.url);
});
afterAll(async () => {
  await past?.close();
  await books?.close();
});
beforeEach(async () => {
  const project = await books.project();
  projectId = project.id;
  viewer = {
    kind: 'user',
    userId: project.userId,
    tier: 'STARTER',
    requestsPerMinute: null,
    expiresAt: new Date(8e15),
  };
  customerIds = Array.from({ length: 5 }, () => newId('Customer'));
  await sql().query(
    `INSERT INTO "Customer" ("id", "projectId", "walletAddress") SELECT id, $1, 'wallet of ' || id FROM unnest($2::text[]) AS new(id)`,
    [projectId, customerIds],
  );
  await moveTo(Date.UTC(2025, 0, 30, 22, 50));
});

type Ended = { endpointId?: string; customerId?: string; amount?: bigint; failureStage?: 'VERIFY' | 'UPSTREAM' };

/** Adds a payment that has settled or failed at a time. Triggers aren't called, because nothing is recorded late. */
async function pay(time: number, { endpointId = 'ep_a', customerId, amount = 1n, failureStage }: Ended = {}) {
  const id = newId('Payment');
  await sql().query(
    `INSERT INTO "Payment" ("id", "projectId", "endpointId", "endpointPath", "method", "customerId", "status", "failureStage",
       "x402Version", "network", "asset", "assetAddress", "payer", "payTo", "nonce", "amountAtomic", "validAfter",
       "validBefore", "requestFingerprint", "settledAt", "updatedAt")
     VALUES ($1, $2, $3, '/' || $3, 'GET', $4, CASE WHEN $6::text IS NULL THEN 'SETTLED' ELSE 'FAILED' END::"PaymentStatus",
       $6::"PaymentStage", 2, '', '', '', '', '', $1, $5, now(), now(), '', CASE WHEN $6 IS NULL THEN $7::timestamptz END, $7)`,
    [id, projectId, endpointId, customerId ?? customerIds[0], amount.toString(), failureStage ?? null, new Date(time)],
  );
  return id;
}

/** Adds a payment whose settlement is recorded only now. */
async function payLate(time: number, ended: Ended, client: Pick<TestLedger['db']['pool'], 'query'> = sql()) {
  const id = await pay(clock, ended);
  await sql().query(`UPDATE "Payment" SET "status" = 'SETTLING', "settledAt" = NULL WHERE "id" = $1`, [id]);
  await client.query(`UPDATE "Payment" SET "status" = 'SETTLED', "settledAt" = $2 WHERE "id" = $1`, [
    id,
    new Date(time),
  ]);
}

type Span = { from: Date; to: Date; interval: RevenueInterval };

async function read(span: Span, timeZone = 'UTC') {
  const service = createRevenueService({ db: behindWall(books.db) });
  const revenue = await service.read(viewer, { id: projectId, timeZone }, span);
  return {
    ...{ from: revenue.from, to: revenue.to },
    buckets: revenue.buckets.filter(({ paymentCount, failedCount }) => paymentCount + failedCount > 0),
    topEndpoints: await service.topEndpoints(revenue, 2),
    customerCount: await service.customerCount(revenue),
    topCustomers: await service.topCustomers(revenue, 3),
  };
}

const inSpan = (time: string) => `"projectId" = $1 AND "${time}" >= $2 AND "${time}" < $3`;

/** Reads the same figures from the payments, with intervals as PostgreSQL divides time. */
async function scan({ from, to, interval }: Span, timeZone: string) {
  const values = [projectId, from, to];
  const rowsOf = async (text: string, ...more: string[]) => {
    const { rows } = await sql().query(text, [...values, ...more]);
    return rows.map(({ totalAtomic, ...row }) => ({ ...row, totalAtomic: BigInt(totalAtomic) }));
  };
  const sums = 'sum("amountAtomic")::text AS "totalAtomic", count(*)::int AS "paymentCount"';
  const { rows } = await sql().query(
    `SELECT count(DISTINCT "customerId")::int AS "count" FROM "Payment" WHERE ${inSpan('settledAt')}`,
    values,
  );
  return {
    ...{ from, to },
    buckets: await rowsOf(
      `
      SELECT date_trunc($4, "time", $5) AS "start", sum("amount")::text AS "totalAtomic",
        count(*) FILTER (WHERE "status" = 'SETTLED')::int AS "paymentCount",
        count(*) FILTER (WHERE "status" = 'FAILED')::int AS "failedCount"
      FROM (
        SELECT "settledAt" AS "time", "amountAtomic" AS "amount", "status" FROM "Payment" WHERE ${inSpan('settledAt')}
        UNION ALL
        SELECT "updatedAt", 0, "status" FROM "Payment"
        WHERE ${inSpan('updatedAt')} AND "status" = 'FAILED' AND "failureStage" <> 'VERIFY'
      ) AS entry GROUP BY 1 ORDER BY 1`,
      ...[interval.toLowerCase(), interval === 'HOUR' ? 'UTC' : timeZone],
    ),
    topEndpoints: await rowsOf(`
      SELECT "endpointId", '/' || "endpointId" AS "path", ${sums} FROM "Payment" WHERE ${inSpan('settledAt')}
      GROUP BY 1 ORDER BY sum("amountAtomic") DESC, 1 LIMIT 2`),
    customerCount: rows[0].count,
    topCustomers: await rowsOf(`
      SELECT "customerId", 'wallet of ' || "customerId" AS "walletAddress", ${sums} FROM "Payment"
      WHERE ${inSpan('settledAt')} GROUP BY 1 ORDER BY sum("amountAtomic") DESC, 1 LIMIT 3`),
  };
}

/** Writes the books as the payments' own transactions would have. */
async function book(): Promise<void> {
  await sql().query('DELETE FROM "RevenueDay" WHERE "projectId" = $1', [projectId]);
  await sql().query(
    `INSERT INTO "RevenueDay" ("projectId", "day", "endpointId", "totalAtomic", "paymentCount", "failedCount")
     SELECT "projectId", (coalesce("settledAt", "updatedAt") AT TIME ZONE 'UTC')::date, "endpointId",
       coalesce(sum("amountAtomic") FILTER (WHERE "settledAt" IS NOT NULL), 0), count("settledAt"), count(*) - count("settledAt")
     FROM "Payment" WHERE "projectId" = $1 AND "failureStage" IS DISTINCT FROM 'VERIFY' GROUP BY 1, 2, 3`,
    [projectId],
  );
}

/** Compares the revenue in a period of each interval with a scan of the payments. */
async function expectExact(step: string, random = (_below: number) => 0): Promise<void> {
  await book();
  for (const interval of ['HOUR', 'DAY', 'MONTH'] as const) {
    const from = new Date(clock - LENGTH[interval] + random(LENGTH[interval]));
    const next = random(3) === 0 ? clock : from.getTime() + random(clock - from.getTime());
    const timeZone = ZONES[random(ZONES.length)]!;
    const seen = await read({ from, to: new Date(next + LEAST[interval]), interval }, timeZone);
    const expected = await scan({ from: seen.from, to: seen.to, interval }, timeZone);
    expect(seen, `${step}, by ${interval} in ${timeZone} from ${from.toISOString()}`).toEqual(expected);
  }
}

const notes = async () =>
  (await sql().query('SELECT FROM "ChangedRevenueHour" WHERE "projectId" = $1', [projectId])).rowCount;

/** The rollups, and what they should contain according to the payments. */
async function rollups() {
  const rolled = (interval: string) => `
    SELECT '${interval}' AS "interval", date_trunc('${interval}', "settledAt", 'UTC') AS "start", "customerId",
      sum("amountAtomic") AS "totalAtomic", count(*)::int AS "paymentCount"
    FROM "Payment" WHERE "projectId" = $1 AND "settledAt" IS NOT NULL GROUP BY 2, 3`;
  const [kept, expected] = await Promise.all(
    [
      `SELECT "interval"::text, "start", "customerId", "totalAtomic", "paymentCount" FROM "CustomerRevenue"
       WHERE "projectId" = $1 ORDER BY 1, 2, 3`,
      `SELECT * FROM (${['HOUR', 'DAY', 'MONTH'].map(rolled).join(' UNION ALL ')}) AS rolled ORDER BY 1, 2, 3`,
    ].map(async (text) => (await sql().query(text, [projectId])).rows),
  );
  return { kept, expected };
}

describe('revenue from rollups', () => {
  test.each([1, 2, 3])(
    'matches a scan of the payments after any change, whether or not it has been counted yet (seed %i)',
    async (seed) => {
      let state = seed * 7919;
      const random = (below: number) => {
        state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
        return Math.floor((state / 2 ** 31) * below);
      };
      const pick = <T>(items: readonly T[]) => items[random(items.length)]!;
      // A double can't represent these sums.
      const ended = () => ({
        endpointId: pick(ENDPOINTS),
        customerId: pick(customerIds),
        amount: BigInt(random(1_000)) + pick([0n, 10n ** 25n]),
      });
      const times = [clock - DAY];
      const recent = () => {
        times.push(clock - random(5 * MINUTE));
        return times.at(-1)!;
      };
      const repeat = async (run: () => Promise<unknown>) => {
        for (let index = random(6); index >= 0; index--) await run();
      };
      const steps: Record<string, () => Promise<unknown>> = {
        'settle on time': () => repeat(() => pay(recent(), ended())),
        fail: () => repeat(() => pay(clock, { ...ended(), failureStage: pick(['UPSTREAM', 'VERIFY']) })),
        'settle late': () => payLate(clock - random(pick([HOUR, 3 * DAY, 60 * DAY])), ended()),
        'settle late in an hour with payments': () => payLate(pick(times), ended()),
        'call the upstream after the settlement': () =>
          sql().query(`UPDATE "Payment" SET "updatedAt" = $2 WHERE "projectId" = $1 AND "status" = 'SETTLED'`, [
            projectId,
            new Date(clock),
          ]),
        count,
      };
      for (let round = 0; round < 40; round++) {
        const step = pick(Object.keys(steps));
        await steps[step]!();
        await expectExact(`${step} in round ${round}`, random);
        await moveTo(clock + pick([1, MINUTE, 20 * MINUTE, HOUR, 7 * HOUR, 2 * DAY, 25 * DAY]));
      }
      await moveTo(clock + 7 * MINUTE);
      await count();
      await expectExact('the end', random);
      const { kept, expected } = await rollups();
      expect(kept).toEqual(expected);
      expect(await notes()).toBe(0);
    },
  );

  test('matches a scan after a settlement that commits while its hour is being counted', async () => {
    await pay(clock, { amount: 5n });
    const hour = clock;
    await moveTo(clock + 3 * HOUR);
    await count();
    const late = await sql().connect();
    try {
      await late.query('BEGIN');
      await payLate(hour + MINUTE, { amount: 7n }, late);
      await payLate(hour + 2 * MINUTE, { amount: 11n });
      await count();
      expect(await notes()).toBe(0);
      await late.query('COMMIT');
    } finally {
      late.release();
    }
    expect(await notes()).toBe(1);
    await expectExact('before the settlement is counted');
    await count();
    expect(await notes()).toBe(0);
    await expectExact('after it is counted');
  });

  test('counts only up to five minutes before the start of the oldest open transaction', async () => {
    const start = clock;
    await pay(start);
    await moveTo(start + 3 * HOUR, start + 10 * MINUTE);
    await count();
    // The open transaction can record this settlement without a note.
    await pay(start + 5 * MINUTE, { amount: 70n });
    await expectExact('a late commit');
    await moveTo(start + 3 * HOUR);
    await count();
    await expectExact('the late commit is counted');
    const { kept, expected } = await rollups();
    expect(kept).toEqual(expected);
  });

  test('is read from the rollups, not from the payments that they count', async () => {
    for (const [index, customerId] of customerIds.entries()) await pay(clock - index * DAY, { customerId, amount: 3n });
    await moveTo(clock + HOUR);
    await count();
    const span = { from: new Date(clock - 10 * DAY), to: new Date(clock + 1), interval: 'HOUR' } as const;
    const before = await read(span);
    expect(before).toMatchObject({ customerCount: 5, buckets: { length: 5 } });
    // Nothing notes that payments were deleted, because they never are.
    await sql().query('DELETE FROM "Payment" WHERE "projectId" = $1', [projectId]);
    expect({ ...(await read(span)), topEndpoints: [] }).toEqual({ ...before, topEndpoints: [] });
  });
});

test('a settlement has a note only if it is recorded more than five minutes later', async () => {
  await moveTo(Date.now() - MINUTE);
  await settled(books.ledger, newPayment(projectId, { payer: hex(20) }), new Date(clock));
  expect(await notes()).toBe(0);
  await moveTo(Date.now() - 10 * MINUTE);
  await settled(books.ledger, newPayment(projectId, { payer: hex(20) }), new Date(clock));
  expect(await notes()).toBe(1);
});
