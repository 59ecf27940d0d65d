import { hash } from 'node:crypto';
import type { JWTVerifyGetKey } from 'jose';
import { createLru } from '../lru.ts';
import type { KeySource } from './jwks.ts';

/**
 * Remembers the claims of verified tokens, because checking a signature costs more than most requests. A token is
 * forgotten when it expires or its issuer's keys change. Only hashes of tokens are kept.
 */
export type VerifiedTokens<Claims extends { expiresAt: Date }> = {
  /** The claims of a token that is still valid. */
  find(token: string): Claims | undefined;
  /** @param keyset the issuer's keys that the token was verified with. */
  remember(token: string, claims: Claims, keys: KeySource, keyset: JWTVerifyGetKey): void;
};

const MAX_REMEMBERED = 20_000;

/**
 * @param now milliseconds since 1970.
 * @param toleranceMilliseconds how long tokens are still accepted after they expire.
 */
export function createVerifiedTokens<Claims extends { expiresAt: Date }>(options: {
  now: () => number;
  toleranceMilliseconds: number;
}): VerifiedTokens<Claims> {
  type Verified = { claims: Claims; keys: KeySource; keyset: JWTVerifyGetKey };
  const { now, toleranceMilliseconds } = options;
  const byDigest = createLru<Verified>(MAX_REMEMBERED);

  const isValid = ({ claims, keys, keyset }: Verified) =>
    claims.expiresAt.getTime() + toleranceMilliseconds > now() && keys.usable() === keyset;

  return {
    find(token) {
      const digest = digestOf(token);
      const verified = byDigest.get(digest);
      if (!verified) return undefined;
      if (isValid(verified)) return verified.claims;
      byDigest.delete(digest);
      return undefined;
    },
    remember(token, claims, keys, keyset) {
      byDigest.set(digestOf(token), { claims, keys, keyset });
    },
  };
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64');
}
