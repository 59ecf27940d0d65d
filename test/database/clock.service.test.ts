import pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { openDatabaseClock } from '../../src/database/clock.ts';
import { createTestDatabase } from '../support/database.ts';

const log = pino({ level: 'silent' });

test("the clock matches the database's clock to within a round trip", async () => {
  const database = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  let slowestMilliseconds = 0;
  const timed = {
    async query(statement: string) {
      const sentAt = performance.now();
      const result = await pool.query(statement);
      slowestMilliseconds = Math.max(slowestMilliseconds, performance.now() - sentAt);
      return result;
    },
  };
  const clock = await openDatabaseClock(timed as Pick<pg.Pool, 'query'>, log);
  const before = clock.now();
  const { rows } = await pool.query('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "now"');
  const after = clock.now();
  // A measurement can be off by half its round trip. The clock shows whole milliseconds.
  const slack = slowestMilliseconds / 2 + 1;
  expect(rows[0].now).toBeGreaterThan(before - slack);
  expect(rows[0].now).toBeLessThan(after + slack);
  clock.close();
  await pool.end();
  await database.drop();
});

test('the clock follows the database’s clock if it differs after a failover', async () => {
  let aheadMilliseconds = 0;
  const pool = { query: async () => ({ rows: [{ now: Date.now() + aheadMilliseconds }] }) };
  const clock = await openDatabaseClock(pool as unknown as pg.Pool, log);
  const differenceSeconds = () => Math.abs(Math.round((clock.now() - Date.now()) / 1000));
  expect(differenceSeconds()).toBe(0);
  aheadMilliseconds = 40_000;
  await expect.poll(differenceSeconds).toBe(40);
  clock.close();
});

test('a machine clock that is off by more than 5 s is measured and logged', async () => {
  for (const [aheadSeconds, expected] of [
    [90, "this machine's clock is 90 s ahead of the database's; synchronize both with NTP"],
    [-90, "this machine's clock is 90 s behind the database's; synchronize both with NTP"],
    [3, undefined],
  ] as const) {
    const pool = { query: async () => ({ rows: [{ now: Date.now() - aheadSeconds * 1000 }] }) };
    const lines: string[] = [];
    const noting = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
    const clock = await openDatabaseClock(pool as unknown as pg.Pool, noting);
    expect(Math.round(clock.offsetSeconds())).toBe(aheadSeconds);
    clock.close();
    expect(lines).toEqual(expected ? [expected] : []);
  }
});

test('opening the clock fails if the database does not respond', async () => {
  const pool = { query: () => Promise.reject(new Error('gone')) } as unknown as pg.Pool;
  await expect(openDatabaseClock(pool, log)).rejects.toThrow('gone');
});
