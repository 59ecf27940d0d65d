import type pg from 'pg';
import { MIN_LIFETIME_SECONDS } from '../../connectors/shared/token-endpoint.ts';

/** The token's owner. */
export type TokenOwner = {
  id: string;
  projectId: string;
  /**
   * The caller's copy of the encrypted credential. If the owner's credential has changed since then, the caller gets no
   * token.
   */
  sealedCredential?: string;
};
/** A lease to get a token. Until it ends, no other process can get one for this owner and generation. */
export type Lease = { generation: number; until: string };
export type TokenRow = {
  sealed: string;
  /** Issued within the last minute. */
  isNew: boolean;
  /** Doesn't need to be replaced yet. */
  isFresh: boolean;
  isValid: boolean;
  generation: number;
};

/** The tables of tokens and of their owners, and the column with the credential that tokens come from. */
export const TOKEN_TABLES = {
  connector: { table: 'ConnectorToken', owners: 'Connector', credential: 'secretConfig' },
  webhook: { table: 'WebhookToken', owners: 'Webhook', credential: 'secretCredentials' },
} as const;

/**
 * A token is replaced this long before it expires, but not while it is new. It still works while one process gets the
 * next one.
 */
const EARLY_SECONDS = 300;
/** This is longer than a request to a vendor can take, so two processes never get a token at the same time. */
const LEASE_SECONDS = 60;

const IS_NEW = `(token."expiresAt" > now() AND token."issuedAt" > now() - interval '${MIN_LIFETIME_SECONDS} seconds')`;

/** Records when the credential itself expires, if the vendor reports this. */
const DATED = `
  dated AS (
    UPDATE "Connector" SET "credentialExpiresAt" = now() + make_interval(secs => $7::float8)
    FROM stored WHERE "Connector"."id" = stored."id" AND $7::float8 IS NOT NULL
  )`;

/** The statements for the tokens of connectors or webhooks. */
export function createTokenStore(pool: pg.Pool, kind: keyof typeof TOKEN_TABLES) {
  const { table, owners, credential } = TOKEN_TABLES[kind];
  const hasCredential = (parameter: number) =>
    `($${parameter}::text IS NULL OR owner."${credential}" = $${parameter}::text)`;
  const isDated = kind === 'connector';

  return {
    /** @returns undefined if the owner's credential was changed, or the owner was deleted. */
    async read({ id, projectId, sealedCredential }: TokenOwner): Promise<TokenRow | undefined> {
      const { rows } = await pool.query<TokenRow>({
        name: `${kind}-token`,
        text: `
          SELECT coalesce(token."sealed", '') AS "sealed", coalesce(token."generation", 0) AS "generation",
            coalesce(token."expiresAt" > now(), false) AS "isValid", coalesce(${IS_NEW}, false) AS "isNew",
            coalesce(token."expiresAt" > now() + make_interval(secs => ${EARLY_SECONDS}) OR ${IS_NEW}, false) AS "isFresh"
          FROM "${owners}" owner LEFT JOIN "${table}" token ON token."id" = $1
          WHERE owner."id" = $1 AND owner."projectId" = $2 AND ${hasCredential(3)}`,
        values: [id, projectId, sealedCredential],
      });
      return rows[0];
    },

    /** @returns undefined if another process has the lease, or if there is a newer token or credential. */
    async takeLease({ id, projectId, sealedCredential }: TokenOwner, generation: number): Promise<Lease | undefined> {
      const { rows } = await pool.query<{ until: string }>(
        `INSERT INTO "${table}" AS token ("id", "projectId", "leaseUntil")
         SELECT owner."id", owner."projectId", now() + make_interval(secs => ${LEASE_SECONDS})
         FROM "${owners}" owner WHERE owner."id" = $1 AND owner."projectId" = $2 AND ${hasCredential(4)}
         ON CONFLICT ("id") DO UPDATE SET "leaseUntil" = excluded."leaseUntil"
         WHERE token."generation" = $3 AND (token."leaseUntil" IS NULL OR token."leaseUntil" <= now())
         RETURNING "leaseUntil"::text AS "until"`,
        [id, projectId, generation, sealedCredential],
      );
      return rows[0] && { generation, until: rows[0].until };
    },

    /**
     * Ends the lease early so that a retry doesn't have to wait for it to expire.
     *
     * @returns false if the lease had ended already, or if the owner's credential was changed.
     */
    async dropLease({ id }: TokenOwner, { generation, until }: Lease): Promise<boolean> {
      const { rowCount } = await pool.query(
        `UPDATE "${table}" SET "leaseUntil" = NULL
         WHERE "id" = $1 AND "generation" = $2 AND "leaseUntil" = $3::timestamptz`,
        [id, generation, until],
      );
      return rowCount === 1;
    },

    /**
     * Stores a token and ends the lease. The owner's row is locked first, as in every change to its credential.
     *
     * @returns false if the credential was changed since the lease was taken, if another process took over because the
     *   lease had ended, or if the owner was deleted. In the second case, the vendor may have replaced this token
     *   already.
     */
    async store(
      { id, sealedCredential }: TokenOwner,
      { generation, until }: Lease,
      token: { sealed: string; lifetimeSeconds: number; credentialLifetimeSeconds?: number },
    ): Promise<boolean> {
      const { rowCount } = await pool.query(
        `WITH owner AS (
           SELECT owner."id", owner."projectId" FROM "${owners}" owner
           WHERE owner."id" = $1 AND ${hasCredential(6)} FOR NO KEY UPDATE
         ), stored AS (
           UPDATE "${table}" AS token SET
             "sealed" = $4, "issuedAt" = now(), "expiresAt" = now() + make_interval(secs => $5),
             "generation" = token."generation" + 1, "leaseUntil" = NULL
           FROM owner
           WHERE token."id" = owner."id" AND token."projectId" = owner."projectId"
             AND token."generation" = $2 AND token."leaseUntil" = $3::timestamptz
           RETURNING token."id"
         )${isDated ? `, ${DATED}` : ''}
         SELECT FROM stored`,
        [
          ...[id, generation, until, token.sealed, token.lifetimeSeconds, sealedCredential],
          ...(isDated ? [token.credentialLifetimeSeconds] : []),
        ],
      );
      return rowCount === 1;
    },
  };
}
