import { AccountBlocked } from '../auth/account-blocked.ts';
import type { KnownCredentials } from '../auth/known-credentials.ts';
import type { Authenticator, Viewer } from '../auth/viewer.ts';
import { rateLimitScope } from '../auth/viewer.ts';
import type { Bus } from '../bus/bus.ts';
import type { Database } from '../database/client.ts';
import { AppError } from '../errors.ts';
import { takeBeyondTheLimit } from '../limits/beyond-the-limit.ts';
import type { FailedCredentials } from '../limits/failed-credentials.ts';
import { type RateLimiter, rateLimitHeaders } from '../limits/rate-limit.ts';
import { CONSOLE_READS_PER_MINUTE, limitsOf } from '../limits/tiers.ts';
import { type CredentialWatch, createCredentialWatch, isForbidden } from './credential-watch.ts';

export type Authentication = {
  /**
   * Identifies the caller. Every transport rejects missing and invalid credentials in the same way.
   *
   * @param address the caller's address, as `TrustedProxies.clientOf` returns it. Some API keys work only from certain addresses.
   * @throws AppError `UNAUTHENTICATED`, `ACCOUNT_BLOCKED`, `FORBIDDEN` for an API key that can't be used from this address,
   * or `RATE_LIMITED` for an address that sent too many invalid credentials, or one of the other two too often.
   */
  identify(authorization: string | undefined, address: string): Promise<Viewer>;
  /**
   * Counts a request against the account's rate limit.
   *
   * @returns the RateLimit headers for the response, or none for accounts without a limit.
   * @throws AppError `RATE_LIMITED` with the same headers.
   */
  count(viewer: Viewer): Promise<Record<string, string>>;
  /**
   * Counts additional requests, like `count`. One request never counts for more than the whole limit. The rest counts
   * toward a daily limit.
   */
  countMore(viewer: Viewer, requests: number): Promise<Record<string, string>>;
  /**
   * Like `count`, but counts a query or subscription from the console toward a separate limit. Only people have that
   * limit: for API keys, this is the same as `count`.
   */
  countConsoleRead(viewer: Viewer): Promise<Record<string, string>>;
  /**
   * Calls back once when an open stream's credential expires or is revoked, or its account is blocked. Returns a
   * function that stops watching.
   */
  watch: CredentialWatch;
};

/** Checks every request, on every transport: who sends it, and whether they may send it now. */
export function createAuthentication(options: {
  authenticator: Authenticator;
  rateLimiter: RateLimiter;
  db: Pick<Database, 'pool'>;
  failedCredentials: FailedCredentials;
  knownCredentials: KnownCredentials;
  bus: Bus;
  /** How often the credentials of open streams are checked, even without a notification. */
  credentialRecheckMilliseconds?: number | undefined;
  /** Called for every rate-limited request. */
  onRateLimited?: (reason: 'rate' | 'credentials') => void;
}): Authentication {
  const { authenticator, rateLimiter, db, failedCredentials, knownCredentials, bus, onRateLimited } = options;

  /** The credentials of a blocked account share a limit, because it may have thousands of API keys. */
  function noteRefusal(error: unknown, authorization: string, address: string): void {
    if (!isRefused(error)) return;
    knownCredentials.refuse(authorization, address, error instanceof AccountBlocked ? error.userId : undefined);
  }

  /** Recently valid credentials are checked even if their address is blocked. */
  async function identifyKnown(authorization: string, address: string): Promise<Viewer> {
    try {
      return await authenticator.authenticate(authorization, address);
    } catch (error) {
      // Counted once, because concurrent requests with a credential that used to be valid aren't guesses.
      if (isBad(error) && knownCredentials.forget(authorization)) failedCredentials.record(address);
      noteRefusal(error, authorization, address);
      throw error;
    }
  }

  /** @param refused what identifies the credential or the account, if it was refused at this address. */
  async function identifyUnknown(authorization: string, address: string, refused: string | undefined): Promise<Viewer> {
    const bucket = refused ?? knownCredentials.claimedBy(authorization, address);
    const attempt = await failedCredentials.reserve(address, bucket).catch((error) => {
      onRateLimited?.('credentials');
      throw error;
    });
    try {
      const viewer = await authenticator.authenticate(authorization, address);
      knownCredentials.remember(authorization, address);
      return viewer;
    } catch (error) {
      noteRefusal(error, authorization, address);
      if (isBad(error) || (isRefused(error) && refused !== undefined)) attempt.fail();
      throw error;
    } finally {
      attempt.giveBack();
    }
  }

  async function takeConsoleRead(viewer: Viewer): Promise<Record<string, string>> {
    if (limitsOf(viewer.tier, viewer.requestsPerMinute).requestsPerMinute === null) return {};
    const result = await rateLimiter.take(`console ${rateLimitScope(viewer)}`, CONSOLE_READS_PER_MINUTE);
    const headers = rateLimitHeaders(result, 'console');
    if (result.allowed) return headers;
    onRateLimited?.('rate');
    throw new AppError('RATE_LIMITED', { retryAfterSeconds: result.retryAfterSeconds, headers });
  }

  /** @param before requests counted so far for the same operation. A retry counts them again. */
  async function take(viewer: Viewer, requests: number, before: number): Promise<Record<string, string>> {
    const { requestsPerMinute } = limitsOf(viewer.tier, viewer.requestsPerMinute);
    if (requestsPerMinute === null) return {};
    const cost = Math.min(requests, requestsPerMinute - before);
    const key = rateLimitScope(viewer);
    const giveBack = await takeBeyondTheLimit(db.pool, { key, requestsPerMinute, requests: requests - cost });
    const result = await rateLimiter.take(key, requestsPerMinute, cost);
    if (result.allowed) return rateLimitHeaders(result);
    onRateLimited?.('rate');
    const retryAfterSeconds = result.retryAfterSeconds + Math.ceil((before * 60) / requestsPerMinute);
    const headers = rateLimitHeaders({ ...result, retryAfterSeconds });
    return giveBack(new AppError('RATE_LIMITED', { retryAfterSeconds, headers }));
  }

  return {
    async identify(authorization, address) {
      // A missing credential doesn't count as an attempt.
      if (!authorization) return authenticator.authenticate(authorization, address);
      const refused = knownCredentials.refusedAt(authorization, address);
      const isKnown = refused === undefined && knownCredentials.isKnown(authorization);
      return isKnown ? identifyKnown(authorization, address) : identifyUnknown(authorization, address, refused);
    },

    count: (viewer) => take(viewer, 1, 0),

    countMore: (viewer, requests) => take(viewer, requests, 1),

    countConsoleRead: (viewer) => (viewer.kind === 'user' ? takeConsoleRead(viewer) : take(viewer, 1, 0)),

    watch: createCredentialWatch({ authenticator, bus, recheckMilliseconds: options.credentialRecheckMilliseconds }),
  };
}

/** Whether a credential was checked and is invalid. */
function isBad(error: unknown): boolean {
  return error instanceof AppError && error.code === 'UNAUTHENTICATED';
}

/**
 * Whether a credential is valid, but its account is blocked, or it can't be used from this address. These requests don't
 * count toward the account's rate limit, so the credential or the blocked account has its own limit. It isn't the
 * address's, because the credential may be a program's that others share the address with.
 */
function isRefused(error: unknown): boolean {
  return error instanceof AppError && (error.code === 'ACCOUNT_BLOCKED' || isForbidden(error));
}
