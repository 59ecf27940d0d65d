import type pg from 'pg';
import { MIN_LIFETIME_SECONDS } from '../../connectors/shared/token-endpoint.ts';
import { preparedStatements, runStatement, statement, statements } from '../../database/statement.ts';

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
type TokenKind = keyof typeof TOKEN_TABLES;

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

/** The statements for the tokens of a kind of owner. */
const forEachKind = <Name extends string>(name: Name, textOf: (kind: TokenKind) => string) =>
  statements(name, ['connector', 'webhook'], textOf);

const hasCredential = (kind: TokenKind, parameter: string) =>
  `(${parameter}::text IS NULL OR owner."${TOKEN_TABLES[kind].credential}" = ${parameter}::text)`;

const READ = preparedStatements('token-read', ['connector', 'webhook'], (kind) => {
  const { table, owners } = TOKEN_TABLES[kind];
  return `
    SELECT coalesce(token."sealed", '') AS "sealed", coalesce(token."generation", 0) AS "generation",
      coalesce(token."expiresAt" > now(), false) AS "isValid", coalesce(${IS_NEW}, false) AS "isNew",
      coalesce(token."expiresAt" > now() + make_interval(secs => ${EARLY_SECONDS}) OR ${IS_NEW}, false) AS "isFresh"
    FROM "${owners}" owner LEFT JOIN "${table}" token ON token."id" = $1
    WHERE owner."id" = $1 AND owner."projectId" = $2 AND ${hasCredential(kind, '$3')}`;
});

const TAKE_LEASE = forEachKind('token-take-lease', (kind) => {
  const { table, owners } = TOKEN_TABLES[kind];
  return `
    INSERT INTO "${table}" AS token ("id", "projectId", "leaseUntil")
    SELECT owner."id", owner."projectId", now() + make_interval(secs => ${LEASE_SECONDS})
    FROM "${owners}" owner WHERE owner."id" = $1 AND owner."projectId" = $2 AND ${hasCredential(kind, '$4')}
    ON CONFLICT ("id") DO UPDATE SET "leaseUntil" = excluded."leaseUntil"
    WHERE token."generation" = $3 AND (token."leaseUntil" IS NULL OR token."leaseUntil" <= now())
    RETURNING "leaseUntil"::text AS "until"`;
});

const DROP_LEASE = forEachKind(
  'token-drop-lease',
  (kind) => `UPDATE "${TOKEN_TABLES[kind].table}" SET "leaseUntil" = NULL
    WHERE "id" = $1 AND "generation" = $2 AND "leaseUntil" = $3::timestamptz`,
);

const store = (kind: TokenKind, alsoDone = '') => `
  WITH owner AS (
    SELECT owner."id", owner."projectId" FROM "${TOKEN_TABLES[kind].owners}" owner
    WHERE owner."id" = $1 AND ${hasCredential(kind, '$6')} FOR NO KEY UPDATE
  ), stored AS (
    UPDATE "${TOKEN_TABLES[kind].table}" AS token SET
      "sealed" = $4, "issuedAt" = now(), "expiresAt" = now() + make_interval(secs => $5),
      "generation" = token."generation" + 1, "leaseUntil" = NULL
    FROM owner
    WHERE token."id" = owner."id" AND token."projectId" = owner."projectId"
      AND token."generation" = $2 AND token."leaseUntil" = $3::timestamptz
    RETURNING token."id"
  )${alsoDone}
  SELECT FROM stored`;
const STORE_OF_CONNECTOR = statement('token-store-connector', store('connector', `, ${DATED}`));
const STORE_OF_WEBHOOK = statement('token-store-webhook', store('webhook'));

/** The statements for the tokens of connectors or webhooks. */
export function createTokenStore(pool: pg.Pool, kind: TokenKind) {
  return {
    /** @returns undefined if the owner's credential was changed, or the owner was deleted. */
    async read({ id, projectId, sealedCredential }: TokenOwner): Promise<TokenRow | undefined> {
      const { rows } = await runStatement(pool, READ[kind](id, projectId, sealedCredential));
      return rows[0];
    },

    /** @returns undefined if another process has the lease, or if there is a newer token or credential. */
    async takeLease({ id, projectId, sealedCredential }: TokenOwner, generation: number): Promise<Lease | undefined> {
      const { rows } = await runStatement(pool, TAKE_LEASE[kind](id, projectId, generation, sealedCredential));
      return rows[0] && { generation, until: rows[0].until };
    },

    /**
     * Ends the lease early so that a retry doesn't have to wait for it to expire.
     *
     * @returns false if the lease had ended already, or if the owner's credential was changed.
     */
    async dropLease({ id }: TokenOwner, { generation, until }: Lease): Promise<boolean> {
      const { rowCount } = await runStatement(pool, DROP_LEASE[kind](id, generation, until));
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
      const { sealed, lifetimeSeconds, credentialLifetimeSeconds } = token;
      const values = [id, generation, until, sealed, lifetimeSeconds, sealedCredential] as const;
      const storing =
        kind === 'connector' ? STORE_OF_CONNECTOR(...values, credentialLifetimeSeconds) : STORE_OF_WEBHOOK(...values);
      const { rowCount } = await runStatement(pool, storing);
      return rowCount === 1;
    },
  };
}
