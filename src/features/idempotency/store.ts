import type pg from 'pg';
import type { SecretBox } from '../../secrets/secret-box.ts';

/** The response to the first request with a key. */
export type StoredResponse = { status: number; headers: Record<string, string>; body: unknown };

/** Stores responses by idempotency key. */
export type IdempotencyStore = {
  /** Claims a key, or returns what is stored for it. */
  begin(scope: string, key: string, fingerprint: string): Promise<'started' | 'in_flight' | 'reused' | StoredResponse>;
  finish(scope: string, key: string, answer: StoredResponse): Promise<void>;
  /** Releases the key of a request that didn't change anything, so the request can be retried with the same key. */
  abandon(scope: string, key: string): Promise<void>;
};

const KEEP_HOURS = 24;
/** After this long without a response, the process is assumed to have died, and the key can be used again. */
const ABANDONED_SECONDS = 60;

/** Stores responses in the database, encrypted, because the response to creating an API key contains the key. */
export function createIdempotencyStore({ pool, secretBox }: { pool: pg.Pool; secretBox: SecretBox }): IdempotencyStore {
  const place = (scope: string, key: string) => ({
    table: 'IdempotencyKey',
    column: 'response',
    rowId: key,
    projectId: scope,
  });
  return {
    async begin(scope, key, fingerprint) {
      const claimed = await pool.query(
        `INSERT INTO "IdempotencyKey" ("scope", "key", "fingerprint", "expiresAt")
         VALUES ($1, $2, $3, now() + make_interval(hours => ${KEEP_HOURS}))
         ON CONFLICT ("scope", "key") DO UPDATE
           SET "fingerprint" = EXCLUDED."fingerprint", "createdAt" = now(), "expiresAt" = EXCLUDED."expiresAt",
               "statusCode" = NULL, "response" = NULL
         WHERE "IdempotencyKey"."expiresAt" < now()
            OR ("IdempotencyKey"."response" IS NULL AND "IdempotencyKey"."fingerprint" = EXCLUDED."fingerprint"
                AND "IdempotencyKey"."createdAt" < now() - make_interval(secs => ${ABANDONED_SECONDS}))
         RETURNING 1`,
        [scope, key, fingerprint],
      );
      if (claimed.rowCount) return 'started';
      const { rows } = await pool.query<{ fingerprint: string; response: string | null }>(
        'SELECT "fingerprint", "response" FROM "IdempotencyKey" WHERE "scope" = $1 AND "key" = $2',
        [scope, key],
      );
      const known = rows[0];
      if (known && known.fingerprint !== fingerprint) return 'reused';
      if (!known?.response) return 'in_flight';
      return JSON.parse(secretBox.open(known.response, place(scope, key))) as StoredResponse;
    },

    async finish(scope, key, answer) {
      await pool.query(
        'UPDATE "IdempotencyKey" SET "statusCode" = $3, "response" = $4 WHERE "scope" = $1 AND "key" = $2',
        [scope, key, answer.status, secretBox.seal(JSON.stringify(answer), place(scope, key))],
      );
    },

    async abandon(scope, key) {
      await pool.query('DELETE FROM "IdempotencyKey" WHERE "scope" = $1 AND "key" = $2 AND "response" IS NULL', [
        scope,
        key,
      ]);
    },
  };
}

/** Deletes expired responses. Returns how many there were. */
export async function sweepIdempotencyKeys(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query('DELETE FROM "IdempotencyKey" WHERE "expiresAt" < now()');
  return rowCount ?? 0;
}
