import type pg from 'pg';
import { expect } from 'vitest';

export type DayLimit = { name: string; perDay: number };

/** Sets and reads how much of a daily limit the owner of a project has used. */
export function dayLimitOf(sql: pg.Pool, projectId: string, { name, perDay }: DayLimit) {
  const key = `(SELECT $1 || ' ' || "userId" FROM "Project" WHERE "id" = $2)`;
  const values = [name, projectId];

  /** Uses up the limit, except for this much, and half a unit, because tests expect whole numbers. */
  async function leave(amount: number): Promise<void> {
    await sql.query(
      `INSERT INTO "RateLimit" SELECT ${key}, now() + interval '24 hours' * (1 - $3::float8)
       ON CONFLICT (key) DO UPDATE SET "arrivesAt" = excluded."arrivesAt"`,
      [...values, (amount + 0.5) / perDay],
    );
  }

  /** How much was used so far, relative to a fixed time. Undefined if nothing was counted yet. */
  async function used(): Promise<number | undefined> {
    const { rows } = await sql.query(
      `SELECT extract(epoch FROM "arrivesAt" - '2026-01-01')::float8 / 86400 * $3 AS amount FROM "RateLimit" WHERE key = ${key}`,
      [...values, perDay],
    );
    return rows[0]?.amount;
  }

  return {
    leave,
    used,
    /** The limit refills while a test runs, so this is less than nothing. */
    leaveNothing: () => leave(-perDay / 10),

    /** How much a change uses. It must get this status. */
    async usedBy(change: () => Promise<{ status: number }>, status: number): Promise<number> {
      await leave(perDay / 2);
      const before = (await used())!;
      expect(await change()).toMatchObject({ status });
      return Math.round((await used())! - before);
    },
  };
}
