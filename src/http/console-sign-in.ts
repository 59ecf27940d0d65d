import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { DevIssuer } from '../auth/dev-issuer.ts';
import { isSubject } from '../auth/jwt.ts';
import type { ConsoleClient } from '../config/config.ts';
import { TIERS, type Tier } from '../limits/tiers.ts';
import { parseInput } from '../validation.ts';
import { VERSION } from '../version.ts';
import { requireDirectCall } from './local-name.ts';

/** How users sign in to the console. */
type ConsoleSignIn =
  /** OpenID Connect: authorization code with PKCE. The browser may call `origins` for it. */
  | { kind: 'oidc'; issuer: string; clientId: string; scopes: string; audience: string | null; origins: string[] }
  /** The dev issuer signs a token for any name. */
  | { kind: 'development' }
  /** The user pastes a token. */
  | { kind: 'token' };

/** The settings that the console needs before sign-in. None of them are secret. */
export type ConsoleSettings = {
  version: string;
  signIn: ConsoleSignIn;
  /** Whether the console can buy from endpoints with test money. */
  hasTestPayments: boolean;
  /** Whether `/graphql` is a page for browsers. */
  hasExplorer: boolean;
};

/** @param mayUseDevIssuer see `registerDevSignIn`. */
export function consoleSettings(
  client: ConsoleClient | undefined,
  { mayUseDevIssuer, ...has }: { mayUseDevIssuer: boolean; hasTestPayments: boolean; hasExplorer: boolean },
): ConsoleSettings {
  return { version: VERSION, signIn: signInBy(client, mayUseDevIssuer), ...has };
}

function signInBy(client: ConsoleClient | undefined, mayUseDevIssuer: boolean): ConsoleSignIn {
  if (client) return { kind: 'oidc', ...client, origins: [new URL(client.issuer).origin, ...client.origins] };
  return { kind: mayUseDevIssuer ? 'development' : 'token' };
}

const tiers = Object.keys(TIERS) as [Tier, ...Tier[]];
const bodySchema = z.strictObject({
  subject: z.string().refine(isSubject, 'Must be 1 to 255 printable characters.'),
  tier: z.enum(tiers, `Must be one of ${tiers.join(', ')}.`).optional(),
  email: z.email('Must be an email address.').optional(),
});

/**
 * Lets the console get tokens from the dev issuer. Use this only on servers that listen on loopback, because anyone who
 * can reach the server can sign in as any user.
 */
export function registerDevSignIn(app: FastifyInstance, sign: DevIssuer['sign']): void {
  // Pages from other origins, even those in CORS_ORIGINS, can't read the response.
  app.post('/console/dev-token', { config: { cors: false } }, async (request) => {
    requireDirectCall(request);
    return { token: await sign(parseInput(bodySchema, request.body)) };
  });
}
