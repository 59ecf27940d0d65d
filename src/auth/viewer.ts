import type { Logger } from 'pino';
import type { Database } from '../database/client.ts';
import { asReference } from '../database/reference.ts';
import { preparedStatement, runStatement, statement } from '../database/statement.ts';
import { AppError } from '../errors.ts';
import type { TierSetter } from '../generated/prisma/client.ts';
import { newId } from '../ids.ts';
import { sourceOf } from '../limits/failed-credentials.ts';
import { createConnectionShares } from '../limits/fair-queue.ts';
import type { Tier } from '../limits/tiers.ts';
import type { Keyring } from '../secrets/keyring.ts';
import { AccountBlocked } from './account-blocked.ts';
import { isAllowedAddress, shownAddress } from './allowed-addresses.ts';
import { apiKeyHashes, looksLikeApiKey, parseApiKey } from './api-keys.ts';
import type { TokenClaims, TokenVerifier } from './jwt.ts';
import { isListed, type Operator } from './operators.ts';
import type { Role, Scope } from './permissions.ts';
import { badCredential, noCredential } from './unauthenticated.ts';

type Account = {
  userId: string;
  tier: Tier;
  /** The rate limit agreed on with an enterprise account, or null. `limitsOf` turns it into limits. */
  requestsPerMinute: number | null;
};

/** The caller: a person with a token, or a program with an API key for one project. */
export type Viewer =
  | (Account & {
      kind: 'user';
      expiresAt: Date;
      /** When the person signed in, if their token says so. */
      signedInAt?: Date;
      /** The roles in other accounts' projects, by project ID. Undefined if there are none. */
      memberships?: Readonly<Record<string, Role>>;
      /**
       * The projects that the person is a member of but can't use, because the owner's account is blocked. Maps each
       * project's ID to the subject of the owner's token. Undefined if there are none.
       */
      blockedOwners?: Readonly<Record<string, string>>;
      /** An address that the issuer has verified. It only determines which invitations the person sees. */
      email?: string;
      /** Whether this person is one of the server's operators. */
      isOperator?: boolean;
    })
  | (Account & {
      kind: 'apiKey';
      apiKeyId: string;
      projectId: string;
      scopes: readonly Scope[];
      /** Null if the key doesn't expire. */
      expiresAt: Date | null;
    });

/** Identifies the caller of a request that has already been identified. Their permissions may have changed. */
export type IdentifyAgain = () => Promise<Viewer>;

export type Authenticator = {
  /**
   * Identifies a request's caller.
   *
   * @param authorization the value of the `Authorization` header.
   * @param address where the request comes from, as `TrustedProxies.clientOf` returns it.
   * @throws AppError `UNAUTHENTICATED`, `ACCOUNT_BLOCKED`, or `UNAVAILABLE`, for the same reasons as `TokenVerifier.verify`,
   * or `FORBIDDEN` if the API key can't be used from this address.
   */
  authenticate(authorization: string | undefined, address: string): Promise<Viewer>;
  /** Waits until API keys' last-used times are stored. */
  close(): Promise<void>;
};

type TierRow = { tier: Tier; requestsPerMinute: number | null };
/** `blockedReason`: null if the account isn't blocked. */
type UserRow = TierRow & {
  id: string;
  tierSetBy: TierSetter;
  blockedReason: string | null;
  memberships: Record<string, Role> | null;
  blockedOwners: Record<string, string> | null;
};

type ApiKeyRow = {
  id: string;
  projectId: string;
  hash: string;
  isRevoked: boolean;
  isExpired: boolean;
  expiresAt: Date | null;
  scopes: Scope[];
  /** Null in rows of older processes. */
  allowedAddresses: string[] | null;
  isUseNoted: boolean;
  userId: string;
  tier: Tier;
  requestsPerMinute: number | null;
  blockedReason: string | null;
};

// Without `coalesce`, an account that was blocked without a reason wouldn't count as blocked.
const BLOCKED_REASON = `CASE WHEN u."blockedAt" IS NOT NULL THEN coalesce(u."blockedReason", '') END`;
// Blocking an account also blocks its projects for their other members.
const SHARED = `(
  SELECT json_object_agg(m."projectId", m.role ORDER BY m."projectId") FILTER (WHERE owner."blockedAt" IS NULL)
      AS memberships,
    json_object_agg(m."projectId", owner.subject) FILTER (WHERE owner."blockedAt" IS NOT NULL) AS "blockedOwners"
  FROM "ProjectMember" m
  JOIN "Project" p ON p.id = m."projectId"
  JOIN "User" owner ON owner.id = p."userId"
  WHERE m."userId" = ${asReference('u.id')}
) AS shared`;
const USER_COLUMNS = `u.id, u.tier, u."requestsPerMinute", u."tierSetBy", ${BLOCKED_REASON} AS "blockedReason",
  shared.memberships, shared."blockedOwners"`;

// RFC 6750 §2.1; the scheme is case-insensitive (RFC 9110 §11.1).
const BEARER_PATTERN = /^bearer +([\w.~+/-]+=*)$/i;

/** The scope of the rate limit: the account. A user and all their API keys share one limit. */
export function rateLimitScope(viewer: Viewer): string {
  return viewer.userId;
}

/**
 * The scope of idempotency keys: the credential's holder. Two API keys in an account never share stored responses,
 * because one may not be allowed to see the other's.
 */
export function idempotencyScope(viewer: Viewer): string {
  return viewer.kind === 'apiKey' ? viewer.apiKeyId : viewer.userId;
}

/** @throws AccountBlocked with the operator's reason. */
function rejectBlocked(userId: string, { blockedReason }: { blockedReason: string | null }): void {
  if (blockedReason !== null) throw new AccountBlocked(userId, blockedReason);
}

/** @throws AppError `FORBIDDEN` that names the address, so that the key's owner can allow it. */
function rejectAddress({ allowedAddresses }: Pick<ApiKeyRow, 'allowedAddresses'>, address: string): void {
  if (isAllowedAddress(allowedAddresses ?? [], address)) return;
  throw new AppError('FORBIDDEN', { detail: `This API key can’t be used from ${shownAddress(address)}.` });
}

const SET_TIER = statement(
  'user-set-tier',
  `UPDATE "User" SET tier = $2::"Tier", "requestsPerMinute" = $3 WHERE id = $1 AND "tierSetBy" = 'ISSUER'
   RETURNING tier, "requestsPerMinute"`,
);

/**
 * Identifies callers by token or API key. Nothing is cached between requests: each request reads the account from the
 * database, so a revoked key, a changed tier, or a blocked account takes effect on every node with the next request.
 */
export function createAuthenticator(options: {
  db: Pick<Database, 'pool'>;
  verifier: Pick<TokenVerifier, 'verify'>;
  keyring: Keyring;
  operators?: readonly Operator[];
  log: Logger;
  /** How many database connections the process has. Default: 20. */
  poolSize?: number;
}): Authenticator {
  const { db, verifier, keyring, operators = [], log } = options;
  // Also for requests above the rate limit, which can only be counted once their account is known.
  const shares = createConnectionShares(options.poolSize ?? 20);
  const notes = new Map<string, Promise<void>>();

  async function authenticate(authorization: string | undefined, address: string): Promise<Viewer> {
    if (!authorization) throw noCredential();
    const credential = BEARER_PATTERN.exec(authorization)?.[1];
    if (!credential) throw badCredential('The Authorization header must have the form `Bearer <credential>`.');
    return looksLikeApiKey(credential) ? viewerOfApiKey(credential, address) : viewerOfToken(credential, address);
  }

  async function viewerOfToken(token: string, address: string): Promise<Viewer> {
    const claims = await verifier.verify(token);
    const user = await shares.run(sourceOf(address), () => userWith(claims));
    const { tier, requestsPerMinute } = user;
    const isOperator = isListed(operators, claims);
    return {
      kind: 'user',
      userId: user.id,
      tier,
      requestsPerMinute,
      expiresAt: claims.expiresAt,
      signedInAt: claims.signedInAt,
      ...(user.memberships && { memberships: user.memberships }),
      ...(user.blockedOwners && { blockedOwners: user.blockedOwners }),
      ...(claims.email !== undefined && { email: claims.email }),
      ...(isOperator && { isOperator }),
    };
  }

  async function userWith(claims: TokenClaims): Promise<UserRow> {
    const user = (await findUser(claims)) ?? (await createUser(claims));
    rejectBlocked(user.id, user);
    return { ...user, ...(await withClaims(user, claims)) };
  }

  /** The user's tier and rate limit. A trusted issuer's claims override them, unless an operator has set them. */
  async function withClaims(user: UserRow, claims: TokenClaims): Promise<TierRow> {
    const { tier = user.tier, requestsPerMinute = user.requestsPerMinute } = claims;
    const isSame = tier === user.tier && requestsPerMinute === user.requestsPerMinute;
    if (isSame || user.tierSetBy === 'OPERATOR') return user;
    const { rows } = await runStatement<TierRow>(db.pool, SET_TIER(user.id, tier, requestsPerMinute));
    // If no row was changed, an operator has just set the tier and the rate limit.
    return rows[0] ?? (await findUser(claims)) ?? user;
  }

  async function findUser({ issuer, subject }: TokenClaims): Promise<UserRow | undefined> {
    const { rows } = await runStatement<UserRow>(db.pool, FIND_USER(issuer, subject));
    return rows[0];
  }

  async function createUser({ issuer, subject, tier, requestsPerMinute }: TokenClaims): Promise<UserRow> {
    // If another request inserts the row first, this returns it. DO NOTHING would return no row.
    const { rows } = await runStatement<UserRow>(
      db.pool,
      CREATE_USER(newId('User'), issuer, subject, tier, requestsPerMinute),
    );
    return rows[0]!;
  }

  async function viewerOfApiKey(apiKey: string, address: string): Promise<Viewer> {
    if (!parseApiKey(apiKey)) throw badCredential('The API key is mistyped or incomplete.');
    const hashes = apiKeyHashes(apiKey, keyring);
    const row = await shares.run(sourceOf(address), () => findApiKey(hashes));
    if (!row) throw badCredential('The API key does not exist.');
    if (row.isRevoked) throw badCredential('The API key has been revoked.');
    if (row.isExpired) throw badCredential('The API key has expired.');
    rejectAddress(row, address);
    rejectBlocked(row.userId, row);
    noteUse(row, hashes[0]!);
    const { id: apiKeyId, projectId, scopes, expiresAt, userId, tier, requestsPerMinute } = row;
    return { kind: 'apiKey', apiKeyId, projectId, scopes, expiresAt, userId, tier, requestsPerMinute };
  }

  async function findApiKey(hashes: string[]): Promise<ApiKeyRow | undefined> {
    const { rows } = await runStatement(db.pool, FIND_API_KEY(hashes));
    return rows[0] as ApiKeyRow | undefined;
  }

  /**
   * Records when the key was last used, at most once a minute, and replaces a hash made with an older key. Runs in the background.
   */
  function noteUse({ id, hash, isUseNoted }: ApiKeyRow, currentHash: string): void {
    if ((isUseNoted && hash === currentHash) || notes.has(id)) return;
    const note = runStatement(db.pool, NOTE_USE(id, currentHash))
      .then(() => {})
      .catch((error) => log.warn({ err: error, apiKeyId: id }, 'could not record when an API key was last used'))
      .finally(() => notes.delete(id));
    notes.set(id, note);
  }

  return {
    authenticate,
    async close() {
      await Promise.all(notes.values());
    },
  };
}

const NOTE_USE = statement(
  'api-key-note-use',
  `UPDATE "ApiKey" SET "lastUsedAt" = now(), hash = $2
   WHERE id = $1 AND (hash <> $2 OR "lastUsedAt" IS NULL OR "lastUsedAt" <= now() - interval '1 minute')`,
);

const FIND_USER = preparedStatement(
  'user-of-token',
  `SELECT ${USER_COLUMNS} FROM "User" u CROSS JOIN LATERAL ${SHARED} WHERE u.issuer = $1 AND u.subject = $2`,
);

const CREATE_USER = statement(
  'user-create',
  `WITH u AS (
     INSERT INTO "User" (id, issuer, subject, tier, "requestsPerMinute")
     VALUES ($1, $2, $3, coalesce($4::"Tier", 'STARTER'), $5)
     ON CONFLICT (issuer, subject) DO UPDATE SET subject = excluded.subject
     RETURNING *
   ) SELECT ${USER_COLUMNS} FROM u CROSS JOIN LATERAL ${SHARED}`,
);

const FIND_API_KEY = preparedStatement(
  'api-key-by-hash',
  `SELECT k.id, k."projectId", k.hash, k."revokedAt" IS NOT NULL AS "isRevoked",
         k."expiresAt", coalesce(k."expiresAt" <= now(), false) AS "isExpired", k.scopes::text[], k."allowedAddresses",
         coalesce(k."lastUsedAt" > now() - interval '1 minute', false) AS "isUseNoted",
         p."userId", u.tier, u."requestsPerMinute", ${BLOCKED_REASON} AS "blockedReason"
    FROM "ApiKey" k
    JOIN "Project" p ON p.id = k."projectId"
    JOIN "User" u ON u.id = p."userId"
   WHERE k.hash = ANY ($1::text[])`,
);
