import { randomUUID } from 'node:crypto';
import type { Queryable } from '../../database/client.ts';
import { runStatement, statement } from '../../database/statement.ts';

const BEAT_EVERY_MILLISECONDS = 5_000;

// A killed worker's row is deleted by the other workers.
const BEAT = statement(
  'worker-beat',
  `
  WITH own AS (
    INSERT INTO "Worker" ("id") VALUES ($1) ON CONFLICT ("id") DO UPDATE SET "seenAt" = now() RETURNING "id"
  ),
  gone AS (DELETE FROM "Worker" WHERE "id" <> $1 AND "seenAt" < now() - interval '1 minute')
  SELECT "id" FROM own
  UNION SELECT "id" FROM "Worker" WHERE "seenAt" > now() - interval '15 seconds'`,
);

const LEAVE = statement('worker-leave', 'DELETE FROM "Worker" WHERE "id" = $1');

/**
 * The workers of this deployment. They take turns acting on hints. If all of them looked for every announced delivery,
 * all but one would find nothing.
 *
 * @param now returns the time of a monotonic clock, in milliseconds.
 */
export function createWorkerRegistry(db: Queryable, now: () => number = () => performance.now()) {
  const id: string = randomUUID();
  let workerIds = [id];
  let beatAt = Number.NEGATIVE_INFINITY;

  return {
    /** Whether a hint with this turn is for this worker. */
    isOwnTurn: (turn: number | undefined): boolean => turn === undefined || workerIds[turn % workerIds.length] === id,

    /** Announces this worker and reads the list of other workers, at most once every few seconds. */
    async beat(): Promise<void> {
      if (now() - beatAt < BEAT_EVERY_MILLISECONDS) return;
      const { rows } = await runStatement<{ id: string }>(db, BEAT(id));
      workerIds = rows.map((row) => row.id).sort();
      beatAt = now();
    },

    async leave(): Promise<void> {
      await runStatement(db, LEAVE(id));
    },
  };
}
