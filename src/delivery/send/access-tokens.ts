import type pg from 'pg';
import type { ConnectorDefinition, TokenOutcome } from '../../connectors/definition.ts';
import { type ConnectorConfig, secretsOf } from '../../connectors/describe.ts';
import type { Egress } from '../../egress/egress.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { MAX_RESPONSE_BYTES } from './response-text.ts';
import { toResponse } from './vendor-response.ts';

/** A config whose access token works, as far as is known, and everything in it that must stay secret. */
export type Ready = { config: ConnectorConfig; secrets: readonly string[] };
/** Why there is no access token: another process is getting one, or the vendor doesn't issue one. */
export type NotReady = { kind: 'wait'; afterSeconds: number } | Exclude<TokenOutcome, { kind: 'token' }>;

export type WithToken = ReturnType<typeof createWithToken>;

type ConnectorIds = { id: string; projectId: string };
type Tokens = { accessToken: string; refreshToken?: string };
type TokenRow = { sealed: string; isFresh: boolean; isValid: boolean; generation: number };
type Current = Ready & { generation: number };

/** How long before it expires a token is replaced. It still works while one process gets the next one. */
const EARLY_SECONDS = 300;
/** Time limit for a request for a token. */
export const TOKEN_TIMEOUT_SECONDS = 15;
/** Longer than a request to a vendor can take, so two processes never get a token at the same time. */
const LEASE_SECONDS = 60;
const WAIT_SECONDS = 2;
/** If the credential is changed at the same time, the new one is used. */
const MAX_ROUNDS = 3;

/**
 * Creates the function that runs requests with a current access token. For connectors whose config has a longer-lived
 * credential, it gets and keeps such tokens. Tokens are sealed and shared by all
 * processes. One process at a time gets a new token. No transaction is open during the call. The token, and the refresh
 * token that came with it, are stored before they are used. They are discarded if the credential was changed meanwhile.
 */
export function createWithToken(options: {
  pool: pg.Pool;
  egress: Pick<Egress, 'send'>;
  secretBox: Pick<SecretBox, 'open' | 'seal'>;
  userAgent: string;
}) {
  const { pool, egress, secretBox, userAgent } = options;
  const cellOf = ({ id, projectId }: ConnectorIds) => ({
    table: 'ConnectorToken',
    column: 'sealed',
    rowId: id,
    projectId,
  });

  /** @param rejected the generation of a token that the vendor rejected. */
  async function current(
    connector: ConnectorIds,
    definition: ConnectorDefinition,
    config: ConnectorConfig,
    rejected?: number,
  ): Promise<Current | NotReady> {
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const row = await readRow(pool, connector.id);
      const isAccepted = row.generation !== rejected;
      if (row.isFresh && isAccepted) return ready(definition, config, open(connector, row), row.generation);
      if (!(await takeLease(pool, connector, row.generation))) {
        if (row.isValid && isAccepted) return ready(definition, config, open(connector, row), row.generation);
        return { kind: 'wait', afterSeconds: WAIT_SECONDS };
      }
      const known = row.sealed === '' ? undefined : open(connector, row);
      const outcome = await request(definition, config, known?.refreshToken).catch(async (error) => {
        await dropLease(pool, connector.id, row.generation);
        throw error;
      });
      if (outcome.kind !== 'token') {
        await dropLease(pool, connector.id, row.generation);
        return outcome;
      }
      const { accessToken, lifetimeSeconds, refreshToken = known?.refreshToken } = outcome;
      const tokens: Tokens = { accessToken, ...(refreshToken !== undefined && { refreshToken }) };
      const sealed = secretBox.seal(JSON.stringify(tokens), cellOf(connector));
      const isStored = await store(pool, { id: connector.id, generation: row.generation, sealed, lifetimeSeconds });
      if (isStored) return ready(definition, config, tokens, row.generation + 1);
    }
    return { kind: 'wait', afterSeconds: WAIT_SECONDS };
  }

  async function request(
    { credential }: ConnectorDefinition,
    config: ConnectorConfig,
    refreshToken: string | undefined,
  ): Promise<TokenOutcome> {
    const built = await credential!.build(config, { now: new Date(), ...(refreshToken && { refreshToken }) });
    const { method, url, headers, body } = built;
    const response = await egress.send({
      ...{ method, url, headers: { 'user-agent': userAgent, ...headers } },
      ...(body !== undefined && { body }),
      ...{ timeoutMilliseconds: TOKEN_TIMEOUT_SECONDS * 1000, maxResponseBytes: MAX_RESPONSE_BYTES },
    });
    return credential!.classify(toResponse(response), config);
  }

  const open = (connector: ConnectorIds, { sealed }: TokenRow): Tokens =>
    JSON.parse(secretBox.open(sealed, cellOf(connector)));

  /**
   * Does `work` with a config that has a current access token. If the vendor rejects a token that was issued here, the work
   * is done once more, with a new token. Configs without a credential are used as they are.
   *
   * @returns what `work` returned, or why there is no token. Throws what `work` throws, and EgressError if the token
   *   endpoint can't be reached.
   */
  return async function withToken<Result extends { isUnauthorized: boolean }>(
    connector: ConnectorIds,
    definition: ConnectorDefinition,
    config: ConnectorConfig,
    work: (ready: Ready) => Promise<Result>,
  ): Promise<Result | NotReady> {
    if (!definition.credential?.isIn(config)) return work({ config, secrets: secretsOf(definition, config) });
    const first = await current(connector, definition, config);
    if ('kind' in first) return first;
    const result = await work(first);
    if (!result.isUnauthorized) return result;
    const second = await current(connector, definition, config, first.generation);
    return 'kind' in second ? second : work(second);
  };
}

function ready(definition: ConnectorDefinition, config: ConnectorConfig, tokens: Tokens, generation: number): Current {
  const { accessToken, refreshToken } = tokens;
  const secrets = [
    ...secretsOf(definition, config),
    accessToken,
    ...(refreshToken === undefined ? [] : [refreshToken]),
  ];
  return { config: { ...config, accessToken }, secrets, generation };
}

async function readRow(pool: pg.Pool, id: string): Promise<TokenRow> {
  const { rows } = await pool.query<TokenRow>({
    name: 'connector-token',
    text: `
      SELECT "sealed", "generation", coalesce("expiresAt" > now(), false) AS "isValid",
        coalesce("expiresAt" > now() + make_interval(secs => ${EARLY_SECONDS}), false) AS "isFresh"
      FROM "ConnectorToken" WHERE "id" = $1`,
    values: [id],
  });
  return rows[0] ?? { sealed: '', isFresh: false, isValid: false, generation: 0 };
}

async function takeLease(pool: pg.Pool, { id, projectId }: ConnectorIds, generation: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    `INSERT INTO "ConnectorToken" AS token ("id", "projectId", "leaseUntil")
     SELECT "id", "projectId", now() + make_interval(secs => ${LEASE_SECONDS})
     FROM "Connector" WHERE "id" = $1 AND "projectId" = $2
     ON CONFLICT ("id") DO UPDATE SET "leaseUntil" = excluded."leaseUntil"
     WHERE token."generation" = $3 AND (token."leaseUntil" IS NULL OR token."leaseUntil" <= now())`,
    [id, projectId, generation],
  );
  return rowCount === 1;
}

/** So that a retry doesn't have to wait for the lease to end. */
async function dropLease(pool: pg.Pool, id: string, generation: number): Promise<void> {
  await pool.query('UPDATE "ConnectorToken" SET "leaseUntil" = NULL WHERE "id" = $1 AND "generation" = $2', [
    id,
    generation,
  ]);
}

/** @returns false if the credential was changed since the lease was taken, or the connector was deleted. */
async function store(
  pool: pg.Pool,
  token: { id: string; generation: number; sealed: string; lifetimeSeconds: number },
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `UPDATE "ConnectorToken" AS token SET
       "sealed" = $3, "expiresAt" = now() + make_interval(secs => $4), "generation" = token."generation" + 1,
       "leaseUntil" = NULL
     FROM "Connector" AS connector
     WHERE token."id" = $1 AND token."generation" = $2
       AND connector."id" = token."id" AND connector."projectId" = token."projectId"`,
    [token.id, token.generation, token.sealed, token.lifetimeSeconds],
  );
  return rowCount === 1;
}
