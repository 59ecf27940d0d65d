import type pg from 'pg';
import { deleteWhere, deletionStatement } from '../../database/batches.ts';
import { runStatement, statement } from '../../database/statement.ts';
import { takeOfDay } from '../../limits/rate-limit.ts';
import { STORED_RESPONSE_MEGABYTES_PER_DAY } from '../../limits/tiers.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';

/** The response to the first request with a key. */
export type StoredResponse = { status: number; headers: Record<string, string>; body: unknown };

/** Whose key it is. The scope is the caller: the user or the API key. */
type IdempotencyClaim = { accountId: string; scope: string; key: string };

/**
 * The state of a key that was used before: its request is still running, was a different one, or is done but its
 * response wasn't stored. Otherwise, the stored response.
 */
type KnownKey = 'in_flight' | 'reused' | 'not_stored' | StoredResponse;

/** Stores responses by idempotency key. */
export type IdempotencyStore = {
  /** Claims a key, or returns what is known about it. */
  begin(scope: string, key: string, fingerprint: string): Promise<'started' | KnownKey>;
  /**
   * Marks a key's request as done, and stores the response unless it exceeds the limits. `too_large` means that the
   * response was too large to send.
   */
  finish(claim: IdempotencyClaim, response: StoredResponse | 'too_large'): Promise<void>;
  /** Releases the key of a request that didn't change anything, so the request can be retried with the same key. */
  abandon(scope: string, key: string): Promise<void>;
};

const KEEP_HOURS = 24;
/** After this long without a response, the process is assumed to have died, and the key can be used again. */
const ABANDONED_SECONDS = 60;
/** The status for a request that succeeded, but whose response was too large to send. */
const DONE = 200;
const KILOBYTE = 1024;
/** The largest response to store. */
const MAX_STORED_BYTES = 256 * KILOBYTE;
/** Up to this size, a response takes less space than the rows that its change writes, and is always stored. */
const SMALL_BYTES = 4 * KILOBYTE;

const READ = statement(
  'idempotency-key-read',
  'SELECT "fingerprint", "statusCode", "response" FROM "IdempotencyKey" WHERE "scope" = $1 AND "key" = $2',
);

const FINISH = statement(
  'idempotency-key-finish',
  'UPDATE "IdempotencyKey" SET "statusCode" = $3, "response" = $4 WHERE "scope" = $1 AND "key" = $2',
);

const ABANDON = statement(
  'idempotency-key-abandon',
  'DELETE FROM "IdempotencyKey" WHERE "scope" = $1 AND "key" = $2 AND "statusCode" IS NULL',
);

/** Stores responses in the database, encrypted, because the response to creating an API key contains the key. */
export function createIdempotencyStore({ pool, secretBox }: { pool: pg.Pool; secretBox: SecretBox }): IdempotencyStore {
  const place = (scope: string, key: string) => ({
    table: 'IdempotencyKey',
    column: 'response',
    rowId: key,
    projectId: scope,
  });
  async function hasCapacity(accountId: string, bytes: number): Promise<boolean> {
    if (bytes <= SMALL_BYTES) return true;
    if (bytes > MAX_STORED_BYTES) return false;
    return takeOfDay(pool, {
      key: `stored-responses ${accountId}`,
      limitPerDay: STORED_RESPONSE_MEGABYTES_PER_DAY * KILOBYTE,
      amount: Math.ceil(bytes / KILOBYTE),
    });
  }

  return {
    async begin(scope, key, fingerprint) {
      const claimed = await runStatement(pool, CLAIM(scope, key, fingerprint));
      if (claimed.rowCount) return 'started';
      const { rows } = await runStatement<{ fingerprint: string; statusCode: number | null; response: string | null }>(
        pool,
        READ(scope, key),
      );
      const known = rows[0];
      if (known && known.fingerprint !== fingerprint) return 'reused';
      if (!known || known.statusCode === null) return 'in_flight';
      if (known.response === null) return 'not_stored';
      return JSON.parse(secretBox.open(known.response, place(scope, key))) as StoredResponse;
    },

    async finish({ accountId, scope, key }, response) {
      const text = response === 'too_large' ? undefined : JSON.stringify(response);
      const isKept = text !== undefined && (await hasCapacity(accountId, Buffer.byteLength(text)));
      await runStatement(
        pool,
        FINISH(
          scope,
          key,
          response === 'too_large' ? DONE : response.status,
          isKept ? secretBox.seal(text, place(scope, key)) : null,
        ),
      );
    },

    async abandon(scope, key) {
      await runStatement(pool, ABANDON(scope, key));
    },
  };
}

/** Deletes expired responses. Returns the number of deleted responses. */
export async function sweepIdempotencyKeys(pool: pg.Pool): Promise<number> {
  return deleteWhere(pool, DELETE_EXPIRED);
}

const CLAIM = statement(
  'idempotency-key-claim',
  `INSERT INTO "IdempotencyKey" ("scope", "key", "fingerprint", "expiresAt")
   VALUES ($1, $2, $3, now() + make_interval(hours => ${KEEP_HOURS}))
   ON CONFLICT ("scope", "key") DO UPDATE
     SET "fingerprint" = EXCLUDED."fingerprint", "createdAt" = now(), "expiresAt" = EXCLUDED."expiresAt",
         "statusCode" = NULL, "response" = NULL
   WHERE "IdempotencyKey"."expiresAt" < now()
      OR ("IdempotencyKey"."statusCode" IS NULL AND "IdempotencyKey"."fingerprint" = EXCLUDED."fingerprint"
          AND "IdempotencyKey"."createdAt" < now() - make_interval(secs => ${ABANDONED_SECONDS}))
   RETURNING 1`,
);

const DELETE_EXPIRED = deletionStatement('idempotency-keys-delete-expired', 'IdempotencyKey', '"expiresAt" < now()');
