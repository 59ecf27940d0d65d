import { decodeJwt, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import type { Logger } from 'pino';
import { sharedNow } from '../clock.ts';
import { AppError } from '../errors.ts';
import { isRequestsPerMinute, parseTier, type Tier } from '../limits/tiers.ts';
import { normalEmail } from './email.ts';
import type { IssuerConfig } from './issuer-config.ts';
import { createRemoteKeys, createStaticKeys, type FetchJson, type KeySource } from './jwks.ts';
import { badCredential } from './unauthenticated.ts';
import { createVerifiedTokens } from './verified-tokens.ts';

/**
 * A verified token's claims. `tier`, `requestsPerMinute`, and `email` are set only if the issuer sent them and is trusted
 * to set them.
 */
export type TokenClaims = {
  issuer: string;
  subject: string;
  expiresAt: Date;
  /** When the person signed in (`auth_time`) or, if the issuer doesn't say, when it issued the token. */
  signedInAt: Date;
  tier?: Tier | undefined;
  /** Null means unlimited. */
  requestsPerMinute?: number | null | undefined;
  /** An address that the issuer has verified, normalized by `normalEmail`. It never identifies the user. */
  email?: string | undefined;
};

export type TokenVerifier = {
  /**
   * @throws AppError `UNAUTHENTICATED` if the token is rejected, or `UNAVAILABLE` if it can't be verified because its
   *   issuer's keys haven't been fetched within the last 24 hours.
   */
  verify(token: string): Promise<TokenClaims>;
  /** Fetches all keys, then keeps them fresh. Doesn't fail if keys can't be fetched. */
  start(): Promise<void>;
  stop(): void;
};

const MAX_TOKEN_LENGTH = 8 * 1024;
const MAX_SUBJECT_LENGTH = 255;
const CLOCK_TOLERANCE_SECONDS = 30;
const RETRY_MILLISECONDS = 30_000;
// RFC 7519 §5.1 and RFC 9068 §2.1. Tokens for other purposes have a different type (RFC 8725 §3.11).
const TOKEN_TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

/**
 * Verifies JSON Web Tokens from the configured issuers according to RFC 8725. The signature algorithm must be listed,
 * the issuer and the audience must match, and `exp`, `iat`, and `sub` are required. Clocks may differ by 30 s. Keys
 * come only from the configuration: `jwk`, `jku`, and `x5u` headers are ignored. Tokens with a `crit` header are
 * rejected. A verified token isn't verified again until it expires or its issuer's keys change.
 *
 * @param now milliseconds since 1970.
 * @param refreshMilliseconds how often to fetch the keys again in the background.
 */
export function createTokenVerifier(options: {
  issuers: readonly IssuerConfig[];
  fetchJson: FetchJson;
  log: Logger;
  now?: () => number;
  refreshMilliseconds?: number;
}): TokenVerifier {
  const { fetchJson, log, now = sharedNow, refreshMilliseconds = 5 * 60_000 } = options;
  const issuers = new Map(options.issuers.map((config) => [config.issuer, { config, keys: openKeys(config) }]));
  const verified = createVerifiedTokens<TokenClaims>({ now, toleranceMilliseconds: CLOCK_TOLERANCE_SECONDS * 1000 });
  const timers = new Map<KeySource, NodeJS.Timeout>();
  let isRunning = false;

  function openKeys({ issuer, jwks, jwksUri, audience, requiredClaims = {} }: IssuerConfig): KeySource {
    // To `jose`, a missing audience means any audience.
    if (!audience && Object.keys(requiredClaims).length === 0) {
      throw new Error(`The issuer ${issuer} has neither audience nor requiredClaims.`);
    }
    if (jwks) return createStaticKeys(jwks);
    if (!jwksUri) throw new Error(`The issuer ${issuer} has neither jwksUri nor jwks.`);
    return createRemoteKeys({ uri: jwksUri, fetchJson, log, now });
  }

  async function verify(token: string): Promise<TokenClaims> {
    if (token.length > MAX_TOKEN_LENGTH) throw badCredential('The token is larger than 8 KB.');
    const known = verified.find(token);
    if (known) return known;
    const issuer = issuers.get(unverifiedIssuer(token));
    if (!issuer) throw badCredential('The token’s issuer is not configured.');
    const { config, keys } = issuer;
    const keyset = keys.usable();
    const claims = readClaims(await verifiedPayload(token, config, keys), config);
    // If the keys changed in the meantime, the token may have been verified with a key that was removed.
    if (keyset && keyset === keys.usable()) verified.remember(token, claims, keys, keyset);
    return claims;
  }

  async function verifiedPayload(token: string, config: IssuerConfig, keys: KeySource): Promise<JWTPayload> {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys.getKey, {
        issuer: config.issuer,
        ...(config.audience && { audience: config.audience }),
        algorithms: config.algorithms,
        requiredClaims: ['exp', 'iat', 'sub', ...Object.keys(config.requiredClaims ?? {})],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(now()),
      });
      checkType(protectedHeader);
      checkIssueTime(payload, now());
      checkRequiredClaims(payload, config);
      return payload;
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (!(error instanceof errors.JOSEError)) {
        log.warn({ err: error, issuer: config.issuer }, 'could not verify a token');
      }
      throw badCredential(detailOf(error));
    }
  }

  async function keepFresh(keys: KeySource): Promise<void> {
    const isFresh = await keys.refresh();
    if (!isRunning) return;
    const delay = isFresh ? refreshMilliseconds : Math.min(refreshMilliseconds, RETRY_MILLISECONDS);
    timers.set(keys, setTimeout(() => void keepFresh(keys), delay).unref());
  }

  return {
    verify,
    async start() {
      isRunning = true;
      await Promise.all([...issuers.values()].map(({ keys }) => keepFresh(keys)));
    },
    stop() {
      isRunning = false;
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

/** The token's unverified `iss`. It only selects the keys and rules to verify the token with. */
function unverifiedIssuer(token: string): string {
  try {
    return decodeJwt(token).iss ?? '';
  } catch {
    throw badCredential('The credential is neither an API key nor a well-formed token.');
  }
}

function checkType({ typ, b64 }: JWTHeaderParameters): void {
  // RFC 7797 §7: a JWT's payload is always encoded.
  if (b64 === false) throw badCredential('The token is malformed.');
  if (typ === undefined || (typeof typ === 'string' && TOKEN_TYPES.has(typ.toLowerCase()))) return;
  throw badCredential('The token is not an access token.');
}

/** `jose` checks this only if a maximum age is set. */
function checkIssueTime({ iat }: JWTPayload, nowMilliseconds: number): void {
  if (Number(iat) <= nowMilliseconds / 1000 + CLOCK_TOLERANCE_SECONDS) return;
  throw badCredential('The token’s iat claim is in the future.');
}

function checkRequiredClaims(payload: JWTPayload, { requiredClaims = {} }: IssuerConfig): void {
  for (const [claim, expected] of Object.entries(requiredClaims)) {
    const accepted: unknown[] = Array.isArray(expected) ? expected : [expected];
    if (!accepted.includes(payload[claim]))
      throw badCredential(`The token’s ${claim} claim has a value that is not accepted.`);
  }
}

function readClaims(payload: JWTPayload, config: IssuerConfig): TokenClaims {
  const { sub: subject, exp, iat, auth_time: authTime } = payload;
  const expiresAt = new Date(Number(exp) * 1000);
  if (Number.isNaN(expiresAt.getTime())) throw badCredential('The token’s exp claim is not a valid time.');
  if (typeof subject !== 'string' || !isSubject(subject)) {
    throw badCredential(`The token’s sub claim must be 1 to ${MAX_SUBJECT_LENGTH} printable characters.`);
  }
  // RFC 9068 §2.2.1. A renewed token keeps its `auth_time`, which can't be later than `iat`.
  const signedInAt = new Date(Math.min(isTime(authTime) ? authTime : Infinity, Number(iat)) * 1000);
  const claims: TokenClaims = { issuer: config.issuer, subject, expiresAt, signedInAt };
  const tier = config.tierClaim === undefined ? undefined : payload[config.tierClaim];
  if (typeof tier === 'string') claims.tier = parseTier(tier);
  const rate = config.requestsPerMinuteClaim === undefined ? undefined : payload[config.requestsPerMinuteClaim];
  if (rate === null || isRequestsPerMinute(rate)) claims.requestsPerMinute = rate;
  const email = verifiedEmail(payload, config);
  if (email !== undefined) claims.email = email;
  return claims;
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Only `true` counts as verified. Any other value, such as the text "true", may come from the user. */
function verifiedEmail(payload: JWTPayload, config: IssuerConfig): string | undefined {
  const { emailClaim, emailVerifiedClaim = 'email_verified' } = config;
  if (emailClaim === undefined || payload[emailVerifiedClaim] !== true) return undefined;
  const email = payload[emailClaim];
  return typeof email === 'string' ? normalEmail(email) : undefined;
}

/**
 * Whether the text can identify a user. Subjects are stored, shown, and compared, so control characters and broken
 * Unicode are rejected.
 */
export function isSubject(text: string): boolean {
  return text.length >= 1 && text.length <= MAX_SUBJECT_LENGTH && text.isWellFormed() && /^\P{Cc}+$/u.test(text);
}

const DETAILS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'The token has expired.',
  ERR_JOSE_ALG_NOT_ALLOWED: 'The token’s signature algorithm is not allowed for its issuer.',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'The token’s signature is invalid.',
  ERR_JWKS_NO_MATCHING_KEY: 'The token does not match any key of its issuer.',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'The token matches more than one key of its issuer.',
};

const CLAIM_DETAILS: Readonly<Record<string, string>> = {
  aud: 'The token is for another audience.',
  nbf: 'The token is not valid yet.',
};

function detailOf(error: unknown): string {
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.reason === 'missing') return `The token has no ${error.claim} claim.`;
    return CLAIM_DETAILS[error.claim] ?? `The token’s ${error.claim} claim is not accepted.`;
  }
  return (error instanceof errors.JOSEError && DETAILS[error.code]) || 'The token is malformed.';
}
