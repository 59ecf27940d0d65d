import type pg from 'pg';
import type { OauthApps } from '../../config/oauth-apps.ts';
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
/** The right to get a token: nobody else has one for this connector and generation until the lease ends. */
type Lease = { id: string; generation: number; until: string };

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
 * token that came with it, are stored before they are used. They are discarded if the credential was changed meanwhile, or
 * if this process took so long that another one took over.
 */
export function createWithToken(options: {
  pool: pg.Pool;
  egress: Pick<Egress, 'send'>;
  secretBox: Pick<SecretBox, 'open' | 'seal'>;
  userAgent: string;
  /** The operator's OAuth apps. */
  oauthApps?: OauthApps;
}) {
  const { pool, egress, secretBox, userAgent, oauthApps = {} } = options;
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
      const lease = await takeLease(pool, connector, row.generation);
      if (!lease) {
        if (row.isValid && isAccepted) return ready(definition, config, open(connector, row), row.generation);
        return { kind: 'wait', afterSeconds: WAIT_SECONDS };
      }
      const known = row.sealed === '' ? undefined : open(connector, row);
      const outcome = await request(definition, config, known?.refreshToken).catch(async (error) => {
        await dropLease(pool, lease);
        throw error;
      });
      if (outcome.kind !== 'token') {
        await dropLease(pool, lease);
        return outcome;
      }
      const { accessToken, refreshToken = known?.refreshToken } = outcome;
      const tokens: Tokens = { accessToken, ...(refreshToken !== undefined && { refreshToken }) };
      const sealed = secretBox.seal(JSON.stringify(tokens), cellOf(connector));
      if (await store(pool, lease, { ...outcome, sealed }))
        return ready(definition, config, tokens, row.generation + 1);
    }
    return { kind: 'wait', afterSeconds: WAIT_SECONDS };
  }

  async function request(
    { credential }: ConnectorDefinition,
    config: ConnectorConfig,
    refreshToken: string | undefined,
  ): Promise<TokenOutcome> {
    const { build, classify, grant } = credential!;
    const usedGrant = grant?.isUsed(config) ? grant : undefined;
    const app = usedGrant && oauthApps[usedGrant.vendor];
    if (usedGrant && !app) return { kind: 'pause', reason: noApp(usedGrant.title) };
    const built = await build(config, { now: new Date(), ...(refreshToken && { refreshToken }), ...(app && { app }) });
    const { method, url, headers, body } = built;
    const response = await egress.send({
      ...{ method, url, headers: { 'user-agent': userAgent, ...headers } },
      ...(body !== undefined && { body }),
      ...{ timeoutMilliseconds: TOKEN_TIMEOUT_SECONDS * 1000, maxResponseBytes: MAX_RESPONSE_BYTES },
    });
    return classify(toResponse(response), config, app);
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

const noApp = (vendor: string) =>
  `This service no longer connects ${vendor} accounts. Enter other credentials, or ask its operator.`;

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

/** @returns undefined if another process has the lease, or there is a newer token. */
async function takeLease(
  pool: pg.Pool,
  { id, projectId }: ConnectorIds,
  generation: number,
): Promise<Lease | undefined> {
  const { rows } = await pool.query<{ until: string }>(
    `INSERT INTO "ConnectorToken" AS token ("id", "projectId", "leaseUntil")
     SELECT "id", "projectId", now() + make_interval(secs => ${LEASE_SECONDS})
     FROM "Connector" WHERE "id" = $1 AND "projectId" = $2
     ON CONFLICT ("id") DO UPDATE SET "leaseUntil" = excluded."leaseUntil"
     WHERE token."generation" = $3 AND (token."leaseUntil" IS NULL OR token."leaseUntil" <= now())
     RETURNING "leaseUntil"::text AS "until"`,
    [id, projectId, generation],
  );
  return rows[0] && { id, generation, until: rows[0].until };
}

/** So that a retry doesn't have to wait for the lease to end. */
async function dropLease(pool: pg.Pool, { id, generation, until }: Lease): Promise<void> {
  await pool.query(
    `UPDATE "ConnectorToken" SET "leaseUntil" = NULL
     WHERE "id" = $1 AND "generation" = $2 AND "leaseUntil" = $3::timestamptz`,
    [id, generation, until],
  );
}

/**
 * Stores a token and ends the lease. The connector's row is locked first, as in every change of its config.
 *
 * @returns false if the credential was changed since the lease was taken, if another process took over because the lease
 *   had ended, or if the connector was deleted. In the second case, the vendor may have replaced this token already.
 */
async function store(
  pool: pg.Pool,
  { id, generation, until }: Lease,
  token: { sealed: string; lifetimeSeconds: number; credentialLifetimeSeconds?: number },
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `WITH connector AS (
       SELECT "id", "projectId" FROM "Connector" WHERE "id" = $1 FOR NO KEY UPDATE
     ), stored AS (
       UPDATE "ConnectorToken" AS token SET
         "sealed" = $4, "expiresAt" = now() + make_interval(secs => $5), "generation" = token."generation" + 1,
         "leaseUntil" = NULL
       FROM connector
       WHERE token."id" = connector."id" AND token."projectId" = connector."projectId"
         AND token."generation" = $2 AND token."leaseUntil" = $3::timestamptz
       RETURNING token."id"
     ), dated AS (
       UPDATE "Connector" SET "credentialExpiresAt" = now() + make_interval(secs => $6::float8)
       FROM stored WHERE "Connector"."id" = stored."id" AND $6::float8 IS NOT NULL
     )
     SELECT FROM stored`,
    [id, generation, until, token.sealed, token.lifetimeSeconds, token.credentialLifetimeSeconds ?? null],
  );
  return rowCount === 1;
}
