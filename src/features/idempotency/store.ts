import type pg from 'pg';
import { deleteWhere, deletionStatement } from '../../database/batches.ts';
import { executeWithPrisma, runStatement, statement } from '../../database/statement.ts';
import { AppError } from '../../errors.ts';
import { takeOfDay } from '../../limits/day-limit.ts';
import { createConnectionShares } from '../../limits/fair-queue.ts';
import { STORED_RESPONSE_MEGABYTES_PER_DAY } from '../../limits/tiers.ts';
import type { CommitHook } from '../../request-context.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';

/** The response to the first request with a key. */
export type StoredResponse = { status: number; headers: Record<string, string>; body: unknown };

/**
 * Whose key it is, and in which request: the scope is the caller (the user or the API key), and the fingerprint
 * identifies the request.
 */
type IdempotencyClaim = { accountId: string; scope: string; key: string; fingerprint: string };

/** A request that claimed a key. Its methods do nothing to the claim of a retry that has started in the meantime. */
type Attempt = {
  /** Marks the key in a transaction that changes something. Throws `IDEMPOTENCY_IN_FLIGHT` if a retry has started. */
  mark: CommitHook;
  /**
   * Marks the request as done, and stores the response unless it exceeds the limits. `too_large` means that the response
   * was too large to send.
   */
  finish(response: StoredResponse | 'too_large'): Promise<void>;
  /** Releases the key of a request that didn't change anything, so the request can be retried with the same key. */
  abandon(): Promise<void>;
};

/**
 * The state of a key that was used before: its request is still running, was a different one, or has made changes but
 * its response wasn't stored. Otherwise, the stored response.
 */
type KnownKey = 'in_flight' | 'reused' | 'not_stored' | StoredResponse;

/** Stores responses by idempotency key. */
export type IdempotencyStore = {
  /** Claims a key, or returns what is known about it. */
  begin(claim: IdempotencyClaim): Promise<Attempt | KnownKey>;
};

type KeyRow = { fingerprint: string; isDone: boolean; response: string | null };

const KEEP_HOURS = 24;
/**
 * After this long without a response, the process is assumed to have died. If it hadn't committed anything, the key can
 * be used again.
 */
const ABANDONED_SECONDS = 60;
/** The status for a request that succeeded, but whose response was too large to send. */
const DONE = 200;
const KILOBYTE = 1024;
/** The largest response to store. */
const MAX_STORED_BYTES = 256 * KILOBYTE;
/** Up to this size, a response takes less space than the rows that its change writes, and is always stored. */
const SMALL_BYTES = 4 * KILOBYTE;

const ABANDONED_BEFORE = `now() - make_interval(secs => ${ABANDONED_SECONDS})`;

const READ = statement(
  'idempotency-key-read',
  `SELECT "fingerprint", "response",
          "statusCode" IS NOT NULL OR ("changedAt" IS NOT NULL AND "createdAt" < ${ABANDONED_BEFORE}) AS "isDone"
     FROM "IdempotencyKey" WHERE "scope" = $1 AND "key" = $2`,
);

const OF_ATTEMPT = `"scope" = $1 AND "key" = $2 AND "createdAt" = $3::timestamptz`;

const MARK = statement(
  'idempotency-key-mark',
  `UPDATE "IdempotencyKey" SET "changedAt" = now() WHERE ${OF_ATTEMPT} AND "statusCode" IS NULL`,
);

const FINISH = statement(
  'idempotency-key-finish',
  `UPDATE "IdempotencyKey" SET "statusCode" = $4, "response" = $5 WHERE ${OF_ATTEMPT}`,
);

const ABANDON = statement(
  'idempotency-key-abandon',
  `DELETE FROM "IdempotencyKey" WHERE ${OF_ATTEMPT} AND "statusCode" IS NULL`,
);

/**
 * Stores responses in the database, encrypted, because the response to creating an API key contains the key. Its
 * statements run outside operations, so they have their own shares of the connections.
 *
 * @param options `poolSize`: the maximum number of the pool's connections.
 */
export function createIdempotencyStore(options: {
  pool: pg.Pool;
  poolSize: number;
  secretBox: SecretBox;
}): IdempotencyStore {
  const { pool, poolSize, secretBox } = options;
  const shares = createConnectionShares(poolSize);
  const place = (scope: string, key: string) => ({
    table: 'IdempotencyKey',
    column: 'response',
    rowId: key,
    projectId: scope,
  });
  async function hasCapacity(accountId: string, bytes: number): Promise<boolean> {
    if (bytes <= SMALL_BYTES) return true;
    if (bytes > MAX_STORED_BYTES) return false;
    const use = {
      key: `stored-responses ${accountId}`,
      limitPerDay: STORED_RESPONSE_MEGABYTES_PER_DAY * KILOBYTE,
      amount: Math.ceil(bytes / KILOBYTE),
    };
    return shares.run(accountId, () => takeOfDay(pool, use));
  }

  function attemptOf({ accountId, scope, key }: IdempotencyClaim, startedAt: string): Attempt {
    return {
      async mark(tx) {
        const marked = await executeWithPrisma(tx, MARK(scope, key, startedAt));
        if (marked === 0) throw new AppError('IDEMPOTENCY_IN_FLIGHT', { retryAfterSeconds: 1 });
      },
      async finish(response) {
        const status = response === 'too_large' ? DONE : response.status;
        const text = response === 'too_large' ? undefined : JSON.stringify(response);
        const isKept = text !== undefined && (await hasCapacity(accountId, Buffer.byteLength(text)));
        const stored = isKept ? secretBox.seal(text, place(scope, key)) : null;
        await shares.run(accountId, () => runStatement(pool, FINISH(scope, key, startedAt, status, stored)));
      },
      async abandon() {
        await shares.run(accountId, () => runStatement(pool, ABANDON(scope, key, startedAt)));
      },
    };
  }

  return {
    async begin(claim) {
      const { accountId, scope, key, fingerprint } = claim;
      const claimed = await shares.run(accountId, () =>
        runStatement<{ startedAt: string }>(pool, CLAIM(scope, key, fingerprint)),
      );
      const [own] = claimed.rows;
      if (own) return attemptOf(claim, own.startedAt);
      const { rows } = await shares.run(accountId, () => runStatement<KeyRow>(pool, READ(scope, key)));
      const known = rows[0];
      if (known && known.fingerprint !== fingerprint) return 'reused';
      if (!known?.isDone) return 'in_flight';
      if (known.response === null) return 'not_stored';
      return JSON.parse(secretBox.open(known.response, place(scope, key))) as StoredResponse;
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
         "statusCode" = NULL, "response" = NULL, "changedAt" = NULL
   WHERE "IdempotencyKey"."expiresAt" < now()
      OR ("IdempotencyKey"."statusCode" IS NULL AND "IdempotencyKey"."changedAt" IS NULL
          AND "IdempotencyKey"."fingerprint" = EXCLUDED."fingerprint"
          AND "IdempotencyKey"."createdAt" < ${ABANDONED_BEFORE})
   RETURNING "createdAt"::text AS "startedAt"`,
);

const DELETE_EXPIRED = deletionStatement('idempotency-keys-delete-expired', 'IdempotencyKey', '"expiresAt" < now()');
