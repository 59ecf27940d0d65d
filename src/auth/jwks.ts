import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { AppError } from '../errors.ts';

/** Fetches a JSON document. @throws if it takes too long or is too large. */
export type FetchJson = (url: string, options: { timeoutMilliseconds: number; maxBytes: number }) => Promise<unknown>;

export type KeySource = {
  /** The key that verifies a token. @throws the error from `jose` if no key or several keys match. */
  getKey: JWTVerifyGetKey;
  /**
   * Returns a function that looks up a key among the currently trusted ones, or undefined if there are none. It is the
   * same function until the keys change.
   */
  usable(): JWTVerifyGetKey | undefined;
  /**
   * Fetches the keys again, unless that was already tried within the last 5 s. Never throws. Returns whether the keys
   * are fresh.
   */
  refresh(): Promise<boolean>;
};

const FETCH_LIMITS = { timeoutMilliseconds: 5_000, maxBytes: 256 * 1024 };
const BACK_OFF_MILLISECONDS = 5_000;
const MAX_STALE_MILLISECONDS = 24 * 60 * 60 * 1000;

/** Keys for an issuer that lists them in its configuration. */
export function createStaticKeys(jwks: JSONWebKeySet): KeySource {
  const getKey = createLocalJWKSet(jwks);
  return { getKey, usable: () => getKey, refresh: async () => true };
}

/**
 * An issuer's published keys, kept in memory. Tokens with a known key never wait for the issuer, and keys stay valid
 * for 24 hours if the issuer can't be reached. A token with an unknown key triggers a fetch. There is at most one fetch
 * every 5 s, including failed fetches.
 *
 * @param now returns the time in milliseconds.
 */
export function createRemoteKeys(options: {
  uri: string;
  fetchJson: FetchJson;
  log: Logger;
  now: () => number;
}): KeySource {
  const { uri, fetchJson, log, now } = options;
  // The query can contain a key.
  const { origin, pathname } = new URL(uri);
  let keys: { getKey: JWTVerifyGetKey; text: string; fetchedAt: number } | undefined;
  let lastAttemptAt = Number.NEGATIVE_INFINITY;
  let running: Promise<boolean> | undefined;

  async function refresh(): Promise<boolean> {
    if (running) return running;
    // Uses the absolute difference, so that setting the clock back doesn't stop refreshes.
    if (Math.abs(now() - lastAttemptAt) < BACK_OFF_MILLISECONDS) return keys?.fetchedAt === lastAttemptAt;
    lastAttemptAt = now();
    running = load(lastAttemptAt).finally(() => {
      running = undefined;
    });
    return running;
  }

  async function load(startedAt: number): Promise<boolean> {
    try {
      const jwks = (await fetchJson(uri, FETCH_LIMITS)) as JSONWebKeySet;
      const text = JSON.stringify(jwks);
      const getKey = keys?.text === text ? keys.getKey : createLocalJWKSet(jwks);
      keys = { getKey, text, fetchedAt: startedAt };
      return true;
    } catch (error) {
      const ageSeconds = keys && Math.round((startedAt - keys.fetchedAt) / 1000);
      log.warn({ err: error, uri: origin + pathname, ageSeconds }, 'could not fetch the keys of a token issuer');
      return false;
    }
  }

  function usable(): JWTVerifyGetKey | undefined {
    return keys && now() - keys.fetchedAt <= MAX_STALE_MILLISECONDS ? keys.getKey : undefined;
  }

  const getKey: JWTVerifyGetKey = async (header, token) => {
    if (!usable()) await refresh();
    const known = usable();
    if (!known) {
      const detail = 'The keys of the token’s issuer cannot be fetched right now. Retry later.';
      throw new AppError('UNAVAILABLE', { detail, retryAfterSeconds: BACK_OFF_MILLISECONDS / 1000 });
    }
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      return (usable() ?? known)(header, token);
    }
  };

  return { getKey, usable, refresh };
}
