import type { Logger } from 'pino';
import type { Database } from '../database/client.ts';
import { newId } from '../ids.ts';
import type { Tier } from '../limits/tiers.ts';
import type { Keyring } from '../secrets/keyring.ts';
import { apiKeyHashes, looksLikeApiKey, parseApiKey } from './api-keys.ts';
import type { TokenClaims, TokenVerifier } from './jwt.ts';
import { badCredential, noCredential } from './unauthenticated.ts';

type Account = {
  userId: string;
  tier: Tier;
  /** The rate limit agreed on with an enterprise account, or null. `limitsOf` turns it into limits. */
  requestsPerMinute: number | null;
};

/** The caller: a person with a token, or a program with an API key for one project. */
export type Viewer =
  | (Account & { kind: 'user'; expiresAt: Date })
  | (Account & { kind: 'apiKey'; apiKeyId: string; projectId: string; expiresAt: null });

export type Authenticator = {
  /**
   * Identifies a request's caller.
   *
   * @param authorization the value of the `Authorization` header.
   * @throws AppError `UNAUTHENTICATED`, or `UNAVAILABLE` like `TokenVerifier.verify`.
   */
  authenticate(authorization: string | undefined): Promise<Viewer>;
  /** Waits until API keys' last-used times are stored. */
  close(): Promise<void>;
};

type UserRow = { id: string; tier: Tier; requestsPerMinute: number | null };

type ApiKeyRow = {
  id: string;
  projectId: string;
  hash: string;
  isRevoked: boolean;
  isUseNoted: boolean;
  userId: string;
  tier: Tier;
  requestsPerMinute: number | null;
};

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

/**
 * Identifies callers by token or API key. Nothing is kept between requests: each request reads the account from the
 * database, so a revoked key or a changed tier takes effect on every node with the next request.
 */
export function createAuthenticator(options: {
  db: Pick<Database, 'pool'>;
  verifier: Pick<TokenVerifier, 'verify'>;
  keyring: Keyring;
  log: Logger;
}): Authenticator {
  const { db, verifier, keyring, log } = options;
  const notes = new Map<string, Promise<void>>();

  async function authenticate(authorization: string | undefined): Promise<Viewer> {
    if (!authorization) throw noCredential();
    const credential = BEARER_PATTERN.exec(authorization)?.[1];
    if (!credential) throw badCredential('The Authorization header must have the form `Bearer <credential>`.');
    return looksLikeApiKey(credential) ? viewerOfApiKey(credential) : viewerOfToken(credential);
  }

  async function viewerOfToken(token: string): Promise<Viewer> {
    const claims = await verifier.verify(token);
    const user = (await findUser(claims)) ?? (await createUser(claims));
    const { tier = user.tier, requestsPerMinute = user.requestsPerMinute } = claims;
    if (tier !== user.tier || requestsPerMinute !== user.requestsPerMinute) {
      await db.pool.query('UPDATE "User" SET tier = $2::"Tier", "requestsPerMinute" = $3 WHERE id = $1', [
        user.id,
        tier,
        requestsPerMinute,
      ]);
    }
    return { kind: 'user', userId: user.id, tier, requestsPerMinute, expiresAt: claims.expiresAt };
  }

  async function findUser({ issuer, subject }: TokenClaims): Promise<UserRow | undefined> {
    const { rows } = await db.pool.query<UserRow>({
      name: 'user-of-token',
      text: 'SELECT id, tier, "requestsPerMinute" FROM "User" WHERE issuer = $1 AND subject = $2',
      values: [issuer, subject],
    });
    return rows[0];
  }

  async function createUser({ issuer, subject, tier, requestsPerMinute }: TokenClaims): Promise<UserRow> {
    // If another request inserts the row first, this returns it. DO NOTHING would return no row.
    const { rows } = await db.pool.query<UserRow>(
      `INSERT INTO "User" (id, issuer, subject, tier, "requestsPerMinute")
       VALUES ($1, $2, $3, coalesce($4::"Tier", 'STARTER'), $5)
       ON CONFLICT (issuer, subject) DO UPDATE SET subject = excluded.subject
       RETURNING id, tier, "requestsPerMinute"`,
      [newId('User'), issuer, subject, tier, requestsPerMinute],
    );
    return rows[0]!;
  }

  async function viewerOfApiKey(apiKey: string): Promise<Viewer> {
    if (!parseApiKey(apiKey)) throw badCredential('The API key is mistyped or incomplete.');
    const hashes = apiKeyHashes(apiKey, keyring);
    const row = await findApiKey(hashes);
    if (!row) throw badCredential('The API key does not exist.');
    if (row.isRevoked) throw badCredential('The API key has been revoked.');
    noteUse(row, hashes[0]!);
    const { id: apiKeyId, projectId, userId, tier, requestsPerMinute } = row;
    return { kind: 'apiKey', apiKeyId, projectId, userId, tier, requestsPerMinute, expiresAt: null };
  }

  async function findApiKey(hashes: string[]): Promise<ApiKeyRow | undefined> {
    const { rows } = await db.pool.query<ApiKeyRow>({
      name: 'api-key-by-hash',
      text: `SELECT k.id, k."projectId", k.hash, k."revokedAt" IS NOT NULL AS "isRevoked",
                    coalesce(k."lastUsedAt" > now() - interval '1 minute', false) AS "isUseNoted",
                    p."userId", u.tier, u."requestsPerMinute"
               FROM "ApiKey" k
               JOIN "Project" p ON p.id = k."projectId"
               JOIN "User" u ON u.id = p."userId"
              WHERE k.hash = ANY ($1::text[])`,
      values: [hashes],
    });
    return rows[0];
  }

  /**
   * Stores the time of use at most once a minute, and replaces a hash made with an older key. Runs in the background.
   */
  function noteUse({ id, hash, isUseNoted }: ApiKeyRow, currentHash: string): void {
    if ((isUseNoted && hash === currentHash) || notes.has(id)) return;
    const note = db.pool
      .query(
        `UPDATE "ApiKey" SET "lastUsedAt" = now(), hash = $2
          WHERE id = $1 AND (hash <> $2 OR "lastUsedAt" IS NULL OR "lastUsedAt" <= now() - interval '1 minute')`,
        [id, currentHash],
      )
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
