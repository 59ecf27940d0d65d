import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { sharedNow } from '../clock.ts';
import type { Tier } from '../limits/tiers.ts';
import { readOrCreate } from '../secrets/create-once.ts';
import { DEV_ISSUER, type IssuerConfig } from './issuer-config.ts';

export type DevIssuer = {
  /** The token verifier gets this config, and treats the dev issuer like any other issuer. */
  config: IssuerConfig;
  /**
   * Creates a token. If the tier or rate limit is omitted, the user keeps the stored value.
   *
   * @param requestsPerMinute an enterprise user's rate limit, or null for unlimited.
   * @param expiresInSeconds 8 hours by default.
   * @param email a verified address. Omit it for a user without one.
   * @param signedInAt now by default.
   */
  sign(claims: {
    subject: string;
    tier?: Tier | undefined;
    requestsPerMinute?: number | null | undefined;
    expiresInSeconds?: number | undefined;
    email?: string | undefined;
    signedInAt?: Date | undefined;
  }): Promise<string>;
};

const AUDIENCE = 'tollgate';
const ALGORITHM = 'ES256';
const DEFAULT_LIFETIME_SECONDS = 8 * 60 * 60;

/**
 * The local issuer for development: an ES256 key in `<dataDir>/dev-issuer.json`, created on first use. Its tokens go
 * through the same verifier as all other tokens.
 */
export async function openDevIssuer({ dataDir }: { dataDir: string }): Promise<DevIssuer> {
  const privateJwk = JSON.parse(await readOrCreate(join(dataDir, 'dev-issuer.json'), newPrivateJwk)) as JWK;
  const { d: _private, ...publicJwk } = privateJwk;
  const key = await importJWK(privateJwk, ALGORITHM);
  const { kid = '' } = privateJwk;

  return {
    config: {
      issuer: DEV_ISSUER,
      jwks: { keys: [publicJwk] },
      audience: AUDIENCE,
      algorithms: [ALGORITHM],
      tierClaim: 'tier',
      requestsPerMinuteClaim: 'requestsPerMinute',
      emailClaim: 'email',
    },
    sign({ subject, tier, requestsPerMinute, email, signedInAt, expiresInSeconds = DEFAULT_LIFETIME_SECONDS }) {
      const issuedAt = Math.floor(sharedNow() / 1000);
      const auth_time = signedInAt ? Math.floor(signedInAt.getTime() / 1000) : issuedAt;
      return new SignJWT({
        tier,
        requestsPerMinute,
        auth_time,
        ...(email !== undefined && { email, email_verified: true }),
      })
        .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
        .setIssuer(DEV_ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(subject)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + expiresInSeconds)
        .sign(key);
    },
  };
}

async function newPrivateJwk(): Promise<string> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return `${JSON.stringify({ ...jwk, kid: await calculateJwkThumbprint(jwk), alg: ALGORITHM, use: 'sig' })}\n`;
}
