import type pg from 'pg';

/** Whose token it is. */
export type TokenOwner = {
  id: string;
  projectId: string;
  /** The encrypted credential that the caller has. If the owner has another one by now, it has no token for the caller. */
  sealedCredential?: string;
};
export type TokenRow = { sealed: string; isFresh: boolean; isValid: boolean; generation: number };

/** The tables of tokens and of their owners, and the column with the credential that tokens come from. */
export const TOKEN_TABLES = {
  connector: { table: 'ConnectorToken', owners: 'Connector', credential: 'secretConfig' },
  webhook: { table: 'WebhookToken', owners: 'Webhook', credential: 'secretCredentials' },
} as const;

/** How long before it expires a token is replaced. It still works while one process gets the next one. */
const EARLY_SECONDS = 300;
/** Longer than a request to a vendor can take, so two processes never get a token at the same time. */
const LEASE_SECONDS = 60;

/** The statements on the tokens of connectors or of webhooks. */
export function createTokenStore(pool: pg.Pool, kind: keyof typeof TOKEN_TABLES) {
  const { table, owners, credential } = TOKEN_TABLES[kind];
  const hasCredential = (parameter: number) =>
    `($${parameter}::text IS NULL OR owner."${credential}" = $${parameter}::text)`;

  return {
    /** @returns undefined if the owner's credential was changed, or the owner was deleted. */
    async read({ id, projectId, sealedCredential }: TokenOwner): Promise<TokenRow | undefined> {
      const { rows } = await pool.query<TokenRow>({
        name: `${kind}-token`,
        text: `
          SELECT coalesce(token."sealed", '') AS "sealed", coalesce(token."generation", 0) AS "generation",
            coalesce(token."expiresAt" > now(), false) AS "isValid",
            coalesce(token."expiresAt" > now() + make_interval(secs => ${EARLY_SECONDS}), false) AS "isFresh"
          FROM "${owners}" owner LEFT JOIN "${table}" token ON token."id" = owner."id"
          WHERE owner."id" = $1 AND owner."projectId" = $2 AND ${hasCredential(3)}`,
        values: [id, projectId, sealedCredential],
      });
      return rows[0];
    },

    async takeLease({ id, projectId, sealedCredential }: TokenOwner, generation: number): Promise<boolean> {
      const { rowCount } = await pool.query(
        `INSERT INTO "${table}" AS token ("id", "projectId", "leaseUntil")
         SELECT owner."id", owner."projectId", now() + make_interval(secs => ${LEASE_SECONDS})
         FROM "${owners}" owner WHERE owner."id" = $1 AND owner."projectId" = $2 AND ${hasCredential(4)}
         ON CONFLICT ("id") DO UPDATE SET "leaseUntil" = excluded."leaseUntil"
         WHERE token."generation" = $3 AND (token."leaseUntil" IS NULL OR token."leaseUntil" <= now())`,
        [id, projectId, generation, sealedCredential],
      );
      return rowCount === 1;
    },

    /** So that a retry doesn't have to wait for the lease to end. */
    async dropLease({ id }: TokenOwner, generation: number): Promise<void> {
      await pool.query(`UPDATE "${table}" SET "leaseUntil" = NULL WHERE "id" = $1 AND "generation" = $2`, [
        id,
        generation,
      ]);
    },

    /** @returns false if the credential was changed since the lease was taken, or the owner was deleted. */
    async store(
      { id, sealedCredential }: TokenOwner,
      token: { generation: number; sealed: string; lifetimeSeconds: number },
    ): Promise<boolean> {
      const { rowCount } = await pool.query(
        `UPDATE "${table}" AS token SET
           "sealed" = $3, "expiresAt" = now() + make_interval(secs => $4), "generation" = token."generation" + 1,
           "leaseUntil" = NULL
         FROM "${owners}" AS owner
         WHERE token."id" = $1 AND token."generation" = $2
           AND owner."id" = token."id" AND owner."projectId" = token."projectId" AND ${hasCredential(5)}`,
        [id, token.generation, token.sealed, token.lifetimeSeconds, sealedCredential],
      );
      return rowCount === 1;
    },
  };
}
