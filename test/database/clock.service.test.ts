import pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { openDatabaseClock } from '../../src/database/clock.ts';
import { createTestDatabase } from '../support/database.ts';

const log = pino({ level: 'silent' });

test('the clock tells what the database says, to within a round trip', async () => {
  const database = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  const clock = await openDatabaseClock(pool, log);
  const before = clock.now();
  const { rows } = await pool.query('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "now"');
  const after = clock.now();
  // Half of the round trip of its measurements, which nobody can tell apart.
  const slack = 50;
  expect(rows[0].now).toBeGreaterThan(before - slack);
  expect(rows[0].now).toBeLessThan(after + slack);
  clock.close();
  await pool.end();
  await database.drop();
});

test('a database that does not answer is an error at the start', async () => {
  const pool = { query: () => Promise.reject(new Error('gone')) } as unknown as pg.Pool;
  await expect(openDatabaseClock(pool, log)).rejects.toThrow('gone');
});
