import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';

// Asymmetric algorithms only: with a shared secret, anyone who can verify tokens could also create them.
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

/** The local issuer. A host name under `.invalid` (RFC 2606) can't belong to a real issuer. */
export const DEV_ISSUER = 'https://dev.tollgate.invalid';

type ClaimValue = string | number | boolean;

/** An identity provider that is trusted to issue tokens, and the conditions for accepting its tokens. */
export type IssuerConfig = {
  /** The exact `iss` of its tokens. */
  issuer: string;
  /** The URL of its public keys (RFC 7517). Set either this or `jwks`. */
  jwksUri?: string | undefined;
  /** The public keys themselves, for an issuer without a `jwksUri`. */
  jwks?: JSONWebKeySet | undefined;
  /**
   * One or more audiences. The token's `aud` must contain one of them. Required unless `requiredClaims` ties tokens to
   * this service.
   */
  audience?: string | string[] | undefined;
  /**
   * Claims, each with its required value or a list of accepted values. Set this for providers that don't set `aud`.
   * Examples: `{"client_id":"x","token_use":"access"}` for Amazon Cognito, and
   * `{"azp":["https://console.example"]}` for Clerk.
   */
  requiredClaims?: Record<string, ClaimValue | ClaimValue[]> | undefined;
  /** Accepted signature algorithms. */
  algorithms: string[];
  /** The claim with the user's tier (`starter`, `pro`, …). Set this only if you trust the provider to assign tiers. */
  tierClaim?: string | undefined;
  /** The claim with an enterprise user's requests per minute, or null for unlimited. The same caution applies. */
  requestsPerMinuteClaim?: string | undefined;
  /**
   * The claim with the user's email address, which is matched against invitations. Set this only if you trust the provider
   * to verify addresses. Without it, the provider's users can't accept invitations.
   */
  emailClaim?: string | undefined;
  /** The claim that is `true` if the address is verified. Defaults to `email_verified`. */
  emailVerifiedClaim?: string | undefined;
};

const text = z.string('Must be a string.').min(1, "Can't be empty.");
const claimValue = z.union([z.string(), z.number(), z.boolean()]);

const issuerSchema = z
  .strictObject({
    issuer: text,
    jwksUri: z.url({ protocol: /^https?$/, error: 'Must be the http(s) URL of a JSON Web Key Set.' }),
    audience: z.union([text, z.array(text).min(1)], 'Must be a string or a list of strings.').optional(),
    requiredClaims: z
      .record(
        text,
        z.union([claimValue, z.array(claimValue).min(1)]),
        'Must be an object that maps claims to their values.',
      )
      .optional(),
    algorithms: z
      .array(z.enum(ALGORITHMS, `Must be one of ${ALGORITHMS.join(', ')}.`), 'Must be a list of algorithms.')
      .min(1, "Can't be empty.")
      .default(['RS256', 'ES256', 'EdDSA']),
    tierClaim: text.optional(),
    requestsPerMinuteClaim: text.optional(),
    emailClaim: text.optional(),
    emailVerifiedClaim: text.optional(),
  })
  .refine(
    ({ audience, requiredClaims = {} }) => audience !== undefined || Object.keys(requiredClaims).length > 0,
    'Requires `audience`, or `requiredClaims` for providers that don’t set an audience. Otherwise, tokens for other services would be accepted.',
  );

const issuersSchema = z
  .array(issuerSchema, 'Must be a list of issuers.')
  .refine(
    (issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length,
    'Must not list an issuer twice.',
  );

/**
 * Reads `AUTH_ISSUERS`, a JSON list of issuers. Each has `issuer`, `jwksUri`, and either `audience` or
 * `requiredClaims`. The other fields are optional. See `IssuerConfig`.
 *
 * @throws Error that names every invalid field.
 */
export function parseAuthIssuers(json: string): IssuerConfig[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Error(`Must be valid JSON: ${(error as Error).message}`);
  }
  const result = issuersSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(({ path, message }) => `${nameOf(path)}${message}`);
  throw new Error(problems.join(' '));
}

/** `[0].audience: ` for the path `[0, 'audience']`. */
function nameOf(path: readonly PropertyKey[]): string {
  const name = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return name && `${name}: `;
}
