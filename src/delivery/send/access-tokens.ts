import type pg from 'pg';
import { sharedNow } from '../../clock.ts';
import type { OauthApps } from '../../config/oauth-apps.ts';
import type { TokenOutcome } from '../../connectors/credential.ts';
import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { type ConnectorConfig, secretsOf } from '../../connectors/describe.ts';
import type { ConnectorRequest, ConnectorResponse } from '../../connectors/exchange.ts';
import { MIN_LIFETIME_SECONDS } from '../../connectors/shared/token-endpoint.ts';
import type { Egress } from '../../egress/egress.ts';
import { createLru } from '../../lru.ts';
import type { SecretBox } from '../../secrets/secret-box.ts';
import { MAX_RESPONSE_BYTES } from './response-text.ts';
import { createTokenStore, TOKEN_TABLES, type TokenOwner, type TokenRow } from './token-store.ts';
import { toResponse } from './vendor-response.ts';

/** A config with an access token that should work, and all of its secrets. */
export type Ready = { config: ConnectorConfig; secrets: readonly string[] };
/** Why there is no access token: another process is getting one, or the vendor doesn't issue one. */
export type NotReady = { kind: 'wait'; afterSeconds: number } | Exclude<TokenOutcome, { kind: 'token' }>;
export type Tokens = { accessToken: string; refreshToken?: string };

/** How tokens are requested. `refreshToken` is the latest one that was issued. */
export type TokenSource = {
  /** Returns a pause instead of a request if there is no credential to request tokens with. */
  build(refreshToken: string | undefined): Promise<ConnectorRequest | Pause> | ConnectorRequest | Pause;
  classify(response: ConnectorResponse, refreshToken: string | undefined): TokenOutcome;
};

export type WithAccessToken = ReturnType<typeof createWithAccessToken>;
export type WithToken = ReturnType<typeof createWithToken>;

type TokenOptions = {
  pool: pg.Pool;
  /** The egress for a project's token requests. */
  egressOf: (projectId: string) => Pick<Egress, 'send'>;
  secretBox: Pick<SecretBox, 'open' | 'seal'>;
  userAgent: string;
};
type Pause = Extract<TokenOutcome, { kind: 'pause' }>;
type Current = { tokens: Tokens; generation: number };

/** Time limit for a token request. */
export const TOKEN_TIMEOUT_SECONDS = 15;
const WAIT_SECONDS = 2;
/** If the credential is changed at the same time, the new one is used. */
const MAX_ROUNDS = 3;
const MAX_REMEMBERED = 5_000;

/**
 * Creates the function that runs requests with a connector's or webhook's current access token. Tokens are encrypted
 * and shared by all processes. One process at a time gets a new token. No transaction is open during the call. The
 * token, and the refresh token that came with it, are stored before they are used. A token without a refresh token is
 * not stored if the previous one is less than a minute old: it is used only once. Tokens are discarded if the credential
 * was changed in the meantime, or if this process took so long that another one took over.
 */
export function createWithAccessToken(
  { pool, egressOf, secretBox, userAgent }: TokenOptions,
  kind: keyof typeof TOKEN_TABLES,
) {
  const store = createTokenStore(pool, kind);
  /** By owner: the generation of a token that was rejected along with the one requested next, in the last minute. */
  const refused = createLru<{ generation: number; until: number }>(MAX_REMEMBERED);
  const cellOf = ({ id, projectId }: TokenOwner) => ({
    table: TOKEN_TABLES[kind].table,
    column: 'sealed',
    rowId: id,
    projectId,
  });

  /** @param rejected the generation of a token that was rejected. */
  async function current(owner: TokenOwner, source: TokenSource, rejected?: number): Promise<Current | NotReady> {
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const row = await store.read(owner);
      if (!row) break;
      const { generation } = row;
      const isAccepted = generation !== rejected;
      if (row.isFresh && isAccepted) return { tokens: open(owner, row), generation };
      const lease = await store.takeLease(owner, generation);
      if (!lease) {
        if (row.isValid && isAccepted) return { tokens: open(owner, row), generation };
        break;
      }
      const known = row.sealed === '' ? undefined : open(owner, row);
      const outcome = await request(owner, source, known?.refreshToken).catch(async (error) => {
        await store.dropLease(owner, lease);
        throw error;
      });
      if (outcome.kind !== 'token') {
        await store.dropLease(owner, lease);
        return outcome;
      }
      // A destination that rejects every token gets a new one for each request, but only one per minute is stored. A new
      // refresh token is always stored, because the old one may no longer work.
      if (row.isNew && outcome.refreshToken === undefined) {
        const { accessToken } = outcome;
        if (await store.dropLease(owner, lease)) return { tokens: { ...known, accessToken }, generation };
        continue;
      }
      const { accessToken, refreshToken = known?.refreshToken } = outcome;
      const tokens: Tokens = { accessToken, ...(refreshToken !== undefined && { refreshToken }) };
      const sealed = secretBox.seal(JSON.stringify(tokens), cellOf(owner));
      if (await store.store(owner, lease, { ...outcome, sealed })) return { tokens, generation: generation + 1 };
    }
    return { kind: 'wait', afterSeconds: WAIT_SECONDS };
  }

  async function request(
    { projectId }: TokenOwner,
    source: TokenSource,
    refreshToken: string | undefined,
  ): Promise<TokenOutcome> {
    const built = await source.build(refreshToken);
    if ('kind' in built) return built;
    const { method, url, headers, body } = built;
    const response = await egressOf(projectId).send({
      method,
      url,
      headers: { 'user-agent': userAgent, ...headers },
      ...(body !== undefined && { body }),
      timeoutMilliseconds: TOKEN_TIMEOUT_SECONDS * 1000,
      owner: projectId,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    return source.classify(toResponse(response), refreshToken);
  }

  const open = (owner: TokenOwner, { sealed }: TokenRow): Tokens => JSON.parse(secretBox.open(sealed, cellOf(owner)));

  function isRefused({ id }: TokenOwner, { generation }: Current): boolean {
    const known = refused.get(id);
    return known?.generation === generation && performance.now() < known.until;
  }

  function noteRefused({ id }: TokenOwner, { generation }: Current): void {
    refused.set(id, { generation, until: performance.now() + MIN_LIFETIME_SECONDS * 1000 });
  }

  /**
   * Runs `work` with a current access token. If the token is rejected, `work` runs once more with a new token, but not if
   * that has just been in vain. Otherwise, each request to a destination that rejects every token would cost as much as
   * three.
   *
   * @returns what `work` returned, or why there is no token. Throws what `work` throws, and EgressError if the token
   *   endpoint can't be reached.
   */
  return async function withAccessToken<Result extends { isUnauthorized: boolean }>(
    owner: TokenOwner,
    source: TokenSource,
    work: (tokens: Tokens) => Promise<Result>,
  ): Promise<Result | NotReady> {
    const first = await current(owner, source);
    if ('kind' in first) return first;
    const result = await work(first.tokens);
    if (!result.isUnauthorized || isRefused(owner, first)) return result;
    const second = await current(owner, source, first.generation);
    if ('kind' in second) return second;
    const last = await work(second.tokens);
    if (last.isUnauthorized) noteRefused(owner, second);
    return last;
  };
}

/**
 * Creates the function that runs a connector's requests with a current access token, for configs that have a
 * longer-lived credential. Other configs are used as they are.
 *
 * @param options `oauthApps` are the operator's OAuth apps, for configs with a connected account.
 */
export function createWithToken({ oauthApps = {}, ...options }: TokenOptions & { oauthApps?: OauthApps }) {
  const withAccessToken = createWithAccessToken(options, 'connector');

  /** Runs `work` with a config that has a current access token, like `withAccessToken`. */
  return async function withToken<Result extends { isUnauthorized: boolean }>(
    connector: TokenOwner,
    definition: ConnectorDefinition,
    config: ConnectorConfig,
    work: (ready: Ready) => Promise<Result>,
  ): Promise<Result | NotReady> {
    const { credential } = definition;
    if (!credential?.isIn(config)) return work({ config, secrets: secretsOf(definition, config) });
    const grant = credential.grant?.isUsed(config) ? credential.grant : undefined;
    const app = grant && oauthApps[grant.vendor];
    const source: TokenSource = {
      build: (refreshToken) =>
        grant && !app
          ? { kind: 'pause', reason: noApp(grant.title) }
          : credential.build(config, {
              now: new Date(sharedNow()),
              ...(refreshToken && { refreshToken }),
              ...(app && { app }),
            }),
      classify: (response, refreshToken) => credential.classify(response, config, { refreshToken, app }),
    };
    return withAccessToken(connector, source, ({ accessToken, refreshToken }) => {
      const secrets = [...secretsOf(definition, config), accessToken, ...(refreshToken ? [refreshToken] : [])];
      return work({ config: { ...config, accessToken }, secrets });
    });
  };
}

const noApp = (vendor: string) =>
  `This service no longer connects ${vendor} accounts. Enter different credentials, or contact the operator.`;
