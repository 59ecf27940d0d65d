import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { AppError } from '../errors.ts';

/** Fetches a JSON document. @throws when there is none within the time and size allowed. */
export type FetchJson = (url: string, options: { timeoutMilliseconds: number; maxBytes: number }) => Promise<unknown>;

export type KeySource = {
  /** The key a token is to be verified with. @throws what `jose` throws when no key, or more than one, matches. */
  getKey: JWTVerifyGetKey;
  /** Fetches the keys again, unless that was tried in the last 5 s. Never throws. Returns whether they are fresh. */
  refresh(): Promise<boolean>;
};

const FETCH_LIMITS = { timeoutMilliseconds: 5_000, maxBytes: 256 * 1024 };
const BACK_OFF_MILLISECONDS = 5_000;
const MAX_STALE_MILLISECONDS = 24 * 60 * 60 * 1000;

/** The keys of an issuer whose key set is part of its configuration. */
export function createStaticKeys(jwks: JSONWebKeySet): KeySource {
  return { getKey: createLocalJWKSet(jwks), refresh: async () => true };
}

/**
 * The keys an issuer publishes, kept in memory. A token whose key is known never waits for the issuer; keys fetched once
 * go on being used for 24 hours when the issuer cannot be reached. A token that names an unknown key makes one fetch, and
 * at most one in 5 s is made, failures included.
 *
 * @param now milliseconds.
 */
export function createRemoteKeys(options: {
  uri: string;
  fetchJson: FetchJson;
  log: Logger;
  now: () => number;
}): KeySource {
  const { uri, fetchJson, log, now } = options;
  let keys: { getKey: JWTVerifyGetKey; fetchedAt: number } | undefined;
  let lastAttemptAt = Number.NEGATIVE_INFINITY;
  let running: Promise<boolean> | undefined;

  async function refresh(): Promise<boolean> {
    if (running) return running;
    // The distance, so that a clock that was set back does not stop refreshing.
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
      keys = { getKey: createLocalJWKSet(jwks), fetchedAt: startedAt };
      return true;
    } catch (error) {
      const ageSeconds = keys && Math.round((startedAt - keys.fetchedAt) / 1000);
      log.warn({ err: error, uri, ageSeconds }, 'the keys of a token issuer could not be fetched');
      return false;
    }
  }

  function usableKeys(): JWTVerifyGetKey | undefined {
    return keys && now() - keys.fetchedAt <= MAX_STALE_MILLISECONDS ? keys.getKey : undefined;
  }

  const getKey: JWTVerifyGetKey = async (header, token) => {
    if (!usableKeys()) await refresh();
    const known = usableKeys();
    if (!known) {
      const detail = 'The keys of the issuer of the token cannot be fetched right now. Send the request again later.';
      throw new AppError('UNAVAILABLE', { detail, retryAfterSeconds: BACK_OFF_MILLISECONDS / 1000 });
    }
    try {
      return await known(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await refresh();
      return (usableKeys() ?? known)(header, token);
    }
  };

  return { getKey, refresh };
}
