import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WriteBatcher } from '../../../src/database/write-batcher.ts';
import { EVENT_PAYLOADS } from '../../../src/events/types.ts';
import { createRollups } from '../../../src/features/delivery-stats/rollups.ts';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { createLedger } from '../../../src/features/payments/ledger.ts';
import { moveSummaryPeriod } from '../../../src/features/projects/summary-period.ts';
import { createDailySummaries } from '../../../src/features/revenue/daily-summary.ts';
import { newId } from '../../../src/ids.ts';
import { claimed, hex, log, newPayment, openTestLedger, sent, settled, type TestLedger } from '../payments/support.ts';

const DAY = 86_400_000;
const FIRST_DAY = Date.parse('2026-02-27T00:00:00Z');

let books: TestLedger;
let now = new Date(FIRST_DAY);
let projectId: string;

const summaries = (clock = () => now) => createDailySummaries({ db: books.db, events: books.events, log, now: clock });
const moveTo = (day: number, hour = 12) => {
  now = new Date(FIRST_DAY + day * DAY + hour * 3_600_000);
};
const pay = (changes = {}) => settled(books.ledger, newPayment(projectId, changes), now);
const fail = async (changes = {}) => {
  const lease = leaseOf(await claimed(books.ledger, newPayment(projectId, changes)));
  await books.ledger.verified(lease);
  await books.ledger.failed(lease, { stage: 'UPSTREAM', reason: 'expired', message: 'Too late.' });
};
/** Changes the time zone as the project service does, at this test's time. */
const setZone = (timeZone: string) =>
  books.db.prisma.$transaction(async (tx) => {
    await moveSummaryPeriod(tx, await tx.project.update({ where: { id: projectId }, data: { timeZone } }), now);
  });
const recorded = async (id = projectId) =>
  (await books.eventsOf(id, 'revenue.daily_summary')).map(({ data }) =>
    EVENT_PAYLOADS['revenue.daily_summary'].parse(data),
  );

beforeAll(async () => {
  books = await openTestLedger({ now: () => now });
});
beforeEach(async () => {
  moveTo(0);
  // Removes unsummarized days of earlier tests.
  await books.db.prisma.dailySummary.deleteMany();
  await books.db.prisma.summaryPeriod.deleteMany();
  projectId = (await books.project()).id;
});
afterAll(() => books?.close());

describe('a daily summary', () => {
  test('has the totals and top endpoints of the day', async () => {
    const [weather, maps, payer] = [newId('Endpoint'), newId('Endpoint'), hex(20)];
    await pay({ endpointId: weather, payer, amountAtomic: 250_000n });
    await pay({ endpointId: weather, payer, amountAtomic: 1n });
    await pay({ endpointId: maps, endpointPath: '/maps', amountAtomic: 1_000_000n });
    await fail({ endpointId: maps, endpointPath: '/maps' });
    moveTo(1, 0);
    await pay({ amountAtomic: 77n });
    expect(await summaries().run()).toBe(1);
    expect(await recorded()).toEqual([
      {
        date: '2026-02-27',
        from: '2026-02-27T00:00:00.000Z',
        to: '2026-02-28T00:00:00.000Z',
        timeZone: 'UTC',
        totalUsd: '1.250001',
        paymentCount: 3,
        customerCount: 2,
        failedCount: 1,
        topEndpoints: [
          { endpointId: maps, path: '/maps', totalUsd: '1', paymentCount: 1 },
          { endpointId: weather, path: '/weather', totalUsd: '0.250001', paymentCount: 2 },
        ],
      },
    ]);
  });

  test('is recorded as soon as its day has ended, and no sooner', async () => {
    await pay();
    now = new Date(FIRST_DAY + DAY - 1);
    expect(await summaries().run()).toBe(0);
    now = new Date(FIRST_DAY + DAY);
    expect(await summaries().run()).toBe(1);
  });

  test('lists the ten endpoints with the highest revenue', async () => {
    for (let amount = 1; amount <= 12; amount++)
      await pay({ endpointId: newId('Endpoint'), amountAtomic: BigInt(amount) });
    moveTo(1);
    await summaries().run();
    const [summary] = await recorded();
    expect(summary!.topEndpoints.map(({ totalUsd }) => totalUsd)).toEqual(
      [12, 11, 10, 9, 8, 7, 6, 5, 4, 3].map((amount) => String(amount / 1e6).replace(/(\d)e-6/, '0.00000$1')),
    );
  });

  test('is recorded only once per project and day, no matter how many processes run', async () => {
    const others = [(await books.project()).id, (await books.project()).id];
    const two = await openTestLedger({ url: books.url });
    for (let day = 0; day < 5; day++) {
      moveTo(day);
      await pay();
      for (const id of others) await settled(books.ledger, newPayment(id), now);
    }
    moveTo(5);
    const counts = await Promise.all(
      [books, two, books, two, books, two].map(({ db, events }) =>
        createDailySummaries({ db, events, log, now: () => now }).run(),
      ),
    );
    expect(counts.reduce((sum, count) => sum + count)).toBe(15);
    for (const id of [projectId, ...others]) {
      const dates = (await recorded(id)).map(({ date }) => date);
      expect(dates.toSorted()).toEqual(['2026-02-27', '2026-02-28', '2026-03-01', '2026-03-02', '2026-03-03']);
    }
    expect(await summaries().run()).toBe(0);
    await two.close();
  });

  test('is recorded late after a long downtime, oldest day first, except for days without payments', async () => {
    await pay();
    moveTo(3);
    await fail();
    moveTo(40);
    await pay({ amountAtomic: 5_000_000n });
    moveTo(400);
    expect(await summaries().run()).toBe(3);
    expect(await recorded()).toMatchObject([
      { date: '2026-02-27', totalUsd: '0.01', failedCount: 0 },
      { date: '2026-03-02', totalUsd: '0', paymentCount: 0, customerCount: 0, failedCount: 1, topEndpoints: [] },
      { date: '2026-04-08', totalUsd: '5' },
    ]);
  });

  test('is recorded for more days than fit in one batch', async () => {
    const days = Array.from({ length: 430 }, (_, day) => new Date(FIRST_DAY + day * DAY));
    await books.db.prisma.dailySummary.createMany({ data: days.map((day) => ({ projectId, day })) });
    moveTo(430);
    expect(await summaries().run()).toBe(430);
    expect(await summaries().run()).toBe(0);
  });

  test('is not recorded for a deleted project', async () => {
    await pay();
    await books.db.prisma.project.delete({ where: { id: projectId } });
    moveTo(1);
    expect(await summaries().run()).toBe(0);
  });

  test('leaves nothing behind if it cannot be recorded, and is recorded by the next run', async () => {
    await pay();
    moveTo(1);
    const broken = createDailySummaries({
      db: books.db,
      log,
      now: () => now,
      events: {
        ...books.events,
        async record(tx, event) {
          await books.events.record(tx, event);
          throw new Error('The connection was lost.');
        },
      },
    });
    expect(await broken.run()).toBe(0);
    expect(await recorded()).toEqual([]);
    expect(await summaries().run()).toBe(1);
  });
});

describe("a payment's day", () => {
  test('is the day its settlement becomes known, so that a summarized day never changes', async () => {
    const lease = await sent(books.ledger, newPayment(projectId));
    await books.ledger.unknown(lease, { reason: 'timeout' });
    const settledAt = now;
    await pay();
    moveTo(1);
    await summaries().run();
    const payment = await books.ledger.settled(lease, { transactionHash: hex(32), settledAt });
    expect(payment.settledAt).toEqual(now);
    moveTo(2);
    await summaries().run();
    expect(await recorded()).toMatchObject([
      { date: '2026-02-27', paymentCount: 1, totalUsd: '0.01' },
      { date: '2026-02-28', paymentCount: 1, totalUsd: '0.01' },
    ]);
  });

  test('is summarized only after all settlements that started that day are written', async () => {
    await pay();
    const entered = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const step: WriteBatcher['step'] = (original) =>
      books.batcher.step({
        ...original,
        async run(client, items) {
          const results = await original.run(client, items);
          entered.resolve();
          await released.promise;
          return results;
        },
      });
    const slow = createLedger({ ...books, batcher: { ...books.batcher, step }, now: () => now });
    const lease = await sent(books.ledger, newPayment(projectId));
    const booking = slow.settled(lease, { transactionHash: hex(32), settledAt: now });
    await entered.promise;
    moveTo(1, 0);
    const summing = summaries().run();
    const waits = async () => {
      const { rowCount } = await books.db.pool.query(
        `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return rowCount === 1;
    };
    await Promise.race([summing, expect.poll(waits).toBe(true)]);
    released.resolve();
    await Promise.all([booking, summing]);
    expect(await recorded()).toMatchObject([{ date: '2026-02-27', paymentCount: 2, totalUsd: '0.02' }]);
  });
});

describe("a project's time zone", () => {
  const moveToTime = (time: string) => {
    now = new Date(time);
  };
  const days = async () => (await recorded()).map(({ date, from, to, timeZone }) => [date, from, to, timeZone]);

  test.each([
    ['America/St_Johns', '2026-03-08', '2026-03-08T03:30:00.000Z', '2026-03-09T02:30:00.000Z'],
    ['America/St_Johns', '2026-11-01', '2026-11-01T02:30:00.000Z', '2026-11-02T03:30:00.000Z'],
    ['Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30:00.000Z', '2026-10-04T13:00:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00:00.000Z', '2026-04-05T13:30:00.000Z'],
    ['Asia/Kathmandu', '2026-03-08', '2026-03-07T18:15:00.000Z', '2026-03-08T18:15:00.000Z'],
  ])('in %s makes one summary of %s, also when the clocks change', async (timeZone, date, from, to) => {
    now = new Date(Date.parse(from) - DAY);
    await setZone(timeZone);
    for (const time of [Date.parse(from) - 1, Date.parse(from), Date.parse(to) - 1, Date.parse(to)]) {
      now = new Date(time);
      await pay({ amountAtomic: 1n });
      await summaries().run();
    }
    expect((await days()).at(-1)).toEqual([date, from, to, timeZone]);
    expect((await recorded()).map(({ paymentCount }) => paymentCount)).toEqual([1, 2]);
    now = new Date(Date.parse(to) + 2 * DAY);
    await summaries().run();
    expect((await recorded()).map(({ paymentCount }) => paymentCount)).toEqual([1, 2, 1]);
  });

  test('can be set late on a day and changed back: days follow each other, and no date is used twice', async () => {
    moveToTime('2026-02-27T23:30:00Z');
    await pay();
    // In Vienna, it is already the next day, so this day has ended.
    await setZone('Europe/Vienna');
    expect(await summaries().run()).toBe(0);
    await pay();
    // In New York, it is still the 27th, which has ended without payments. The next date is the 28th.
    await setZone('America/New_York');
    moveToTime('2026-03-01T04:59:59Z');
    expect(await summaries().run()).toBe(0);
    moveToTime('2026-03-01T05:00:00Z');
    expect(await summaries().run()).toBe(1);
    await setZone('UTC');
    await pay();
    moveToTime('2026-03-03T00:00:00Z');
    expect(await summaries().run()).toBe(1);
    expect(await days()).toEqual([
      ['2026-02-28', '2026-02-27T23:00:00.000Z', '2026-03-01T05:00:00.000Z', 'America/New_York'],
      ['2026-03-01', '2026-03-01T05:00:00.000Z', '2026-03-02T00:00:00.000Z', 'UTC'],
    ]);
  });

  test.each([1, 2, 3])(
    'can change at any time: every payment is in exactly one summary, and the summaries add up (seed %i)',
    async (seed) => {
      let state = seed * 7919;
      const random = (below: number) => {
        state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
        return Math.floor((state / 2 ** 31) * below);
      };
      const pick = <T>(items: readonly T[]) => items[random(items.length)]!;
      const endpointIds = [newId('Endpoint'), newId('Endpoint')];
      const zones = ['UTC', 'Europe/Vienna', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
      zones.push('Pacific/Kiritimati', 'Pacific/Pago_Pago');
      const payment = () =>
        newPayment(projectId, { endpointId: pick(endpointIds), amountAtomic: BigInt(1 + random(1_000)) });
      const steps: (() => Promise<unknown>)[] = [
        () => settled(books.ledger, payment(), now),
        () => settled(books.ledger, payment(), now),
        () => settled(books.ledger, payment(), new Date(now.getTime() - random(26 * 3_600_000))),
        async () => {
          await fail({ endpointId: pick(endpointIds) });
          // The ledger's test clock doesn't apply to this column, and rollups expect that nothing fails in the past.
          await books.db.pool.query(
            `UPDATE "Payment" SET "updatedAt" = $2 WHERE "projectId" = $1 AND "status" = 'FAILED' AND "updatedAt" > now() - interval '1 hour'`,
            [projectId, now],
          );
          await books.db.pool.query(
            `INSERT INTO "ChangedRevenueHour" ("projectId", "hour") VALUES ($1, date_trunc('hour', $2::timestamptz, 'UTC'))`,
            [projectId, now],
          );
        },
        () => setZone(pick(zones)),
        () => summaries().run(),
        () => summaries().run(),
        () =>
          Promise.all([
            ...Array.from({ length: 5 }, () => settled(books.ledger, payment(), now)),
            setZone(pick(zones)),
            summaries().run(),
            setZone(pick(zones)),
          ]),
        () => createRollups({ pool: books.db.pool, log }).run(),
      ];
      now = new Date(Date.UTC(2026, 9, 2, random(24)));
      for (let round = 0; round < 80; round++) {
        await pick(steps)();
        now = new Date(
          now.getTime() + pick([1, 60_000, 900_000, 3_600_000, 5 * 3_600_000, 11 * 3_600_000, 26 * 3_600_000]),
        );
      }
      now = new Date(now.getTime() + 4 * DAY);
      await summaries().run();
      const found = await recorded();
      const { rows } = await books.db.pool.query<{ from: string; payments: number; atomic: string; failures: number }>(
        `SELECT day."from", count(*) FILTER (WHERE p."status" = 'SETTLED')::int AS "payments",
           coalesce(sum(p."amountAtomic") FILTER (WHERE p."status" = 'SETTLED'), 0)::text AS "atomic",
           count(*) FILTER (WHERE p."status" = 'FAILED')::int AS "failures"
         FROM "Payment" p LEFT JOIN unnest($2::text[], $3::text[]) AS day("from", "to")
           ON coalesce(p."settledAt", p."updatedAt") >= day."from"::timestamptz
           AND coalesce(p."settledAt", p."updatedAt") < day."to"::timestamptz
         WHERE p."projectId" = $1 GROUP BY 1 ORDER BY 1`,
        [projectId, found.map(({ from }) => from), found.map(({ to }) => to)],
      );
      expect(found.length).toBeGreaterThan(5);
      expect(
        found.map(({ from, paymentCount, totalUsd, failedCount }) => ({
          from,
          payments: paymentCount,
          atomic: String(Math.round(Number(totalUsd) * 1e6)),
          failures: failedCount,
        })),
      ).toEqual(rows);
      // The days don't overlap, so no payment is in two of them.
      for (const [index, { from, date }] of found.slice(1).entries()) {
        expect(from! >= found[index]!.to!).toBe(true);
        expect(date > found[index]!.date).toBe(true);
      }
      const total = await books.db.prisma.payment.count({ where: { projectId } });
      expect(rows.reduce((sum, { payments, failures }) => sum + payments + failures, 0)).toBe(total);
    },
  );

  test('ends the days of more projects than fit in one batch, several days in a row', async () => {
    const { userId } = await books.project();
    const ids = Array.from({ length: 203 }, () => newId('Project'));
    const walletAddress = hex(20);
    await books.db.prisma.project.createMany({
      data: ids.map((id) => ({ id, userId, name: 'Shop', walletAddress, timeZone: 'Asia/Tokyo' })),
    });
    const [lastDay, day] = [new Date('2026-02-26'), new Date('2026-02-27')];
    const [from, to] = [new Date('2026-02-26T15:00:00Z'), new Date('2026-02-27T15:00:00Z')];
    await books.db.prisma.summaryPeriod.createMany({
      data: ids.map((id) => ({ projectId: id, lastDay, day, from, to })),
    });
    now = new Date('2026-02-28T14:00:00Z');
    await settled(books.ledger, newPayment(ids[7]!), now);
    now = new Date('2026-03-01T15:00:00Z');
    expect(await summaries().run()).toBe(1);
    expect(await books.db.prisma.summaryPeriod.count({ where: { from: now } })).toBe(203);
    expect(await recorded(ids[7])).toMatchObject([{ date: '2026-02-28', paymentCount: 1 }]);
  });

  test('decides the booking date of a payment, which does not change afterward', async () => {
    moveToTime('2026-02-27T16:00:00Z');
    await pay();
    await setZone('Asia/Tokyo');
    await pay();
    moveToTime('2026-02-28T15:00:00Z');
    await pay();
    await setZone('Europe/Vienna');
    const events = await books.eventsOf(projectId, 'payment.settled');
    expect(events.map(({ data }) => EVENT_PAYLOADS['payment.settled'].parse(data).bookingDate)).toEqual([
      undefined,
      '2026-02-28',
      '2026-03-01',
    ]);
  });
});

test('the daily summary service records due summaries until it is stopped', async () => {
  await pay();
  moveTo(1);
  const service = summaries();
  service.start();
  await expect.poll(async () => (await recorded()).length).toBe(1);
  await service.stop();
  moveTo(3);
  await pay();
  expect((await recorded()).length).toBe(1);
});
