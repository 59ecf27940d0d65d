import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { WriteBatcher } from '../../../src/database/write-batcher.ts';
import { EVENT_PAYLOADS } from '../../../src/events/types.ts';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { createLedger } from '../../../src/features/payments/ledger.ts';
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
