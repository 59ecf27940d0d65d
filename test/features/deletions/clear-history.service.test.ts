import pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { openBus } from '../../../src/bus/bus.ts';
import { countDeletions, createHistoryClearing } from '../../../src/features/deletions/clear-history.ts';
import { DELETED_USER_ID } from '../../../src/features/deletions/soft-delete.ts';
import { newId } from '../../../src/ids.ts';
import { createTestDatabase } from '../../support/database.ts';

const log = pino({ level: 'silent' });

test('a batch of history that takes too long for a statement is retried with fewer rows', async () => {
  const database = await createTestDatabase();
  const sql = new pg.Pool({ connectionString: database.url });
  const bus = await openBus({ url: database.url, pool: sql, log });
  const projectId = newId('Project');
  await sql.query(`INSERT INTO "Project" ("id", "userId", "name", "walletAddress") VALUES ($1, $2, '', '0x0')`, [
    projectId,
    DELETED_USER_ID,
  ]);
  await sql.query(
    `INSERT INTO "Event" ("id", "projectId", "type", "data")
     SELECT id, $2, 'endpoint.created', '{}' FROM unnest($1::text[]) AS id`,
    [Array.from({ length: 400 }, () => newId('Event')), projectId],
  );
  await sql.query(
    `INSERT INTO "CustomerRevenue" SELECT $1, 'DAY', now(), number, 1, 1 FROM generate_series(1, 400) AS number`,
    [projectId],
  );
  // 57014 is the error of a statement that takes too long.
  await sql.query(`
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM deleted) > 60 THEN RAISE EXCEPTION USING ERRCODE = '57014'; END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER "Event_slow" AFTER DELETE ON "Event" REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION slow();
    CREATE TRIGGER "CustomerRevenue_slow" AFTER DELETE ON "CustomerRevenue" REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION slow()`);
  const batches: number[] = [];
  const clearing = createHistoryClearing({ pool: sql, bus, log, onCleared: (rows) => batches.push(rows) });
  clearing.start();
  try {
    await expect.poll(() => countDeletions(sql)).toBe(0);
    // The last row is the project itself.
    expect(batches.reduce((sum, rows) => sum + rows, 0)).toBe(801);
    expect(Math.max(...batches)).toBeGreaterThan(1);
  } finally {
    await clearing.stop();
    await bus.close();
    await sql.end();
    await database.drop();
  }
});
