import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { DevIssuer } from '../auth/dev-issuer.ts';
import { isSubject } from '../auth/jwt.ts';
import type { ConsoleClient } from '../config/config.ts';
import { AppError } from '../errors.ts';
import { TIERS, type Tier } from '../limits/tiers.ts';
import { parseInput } from '../validation.ts';
import { VERSION } from '../version.ts';

/** How users sign in to the console. */
type ConsoleSignIn =
  /** OpenID Connect: authorization code with PKCE. The browser may call `origins` for it. */
  | { kind: 'oidc'; issuer: string; clientId: string; scopes: string; audience: string | null; origins: string[] }
  /** The dev issuer signs a token for any name. */
  | { kind: 'development' }
  /** The user pastes a token. */
  | { kind: 'token' };

/** What the console needs before sign-in. Nothing in it is secret. */
export type ConsoleSettings = { version: string; signIn: ConsoleSignIn };

/** @param mayUseDevIssuer see `registerDevSignIn`. */
export function consoleSettings(client: ConsoleClient | undefined, mayUseDevIssuer: boolean): ConsoleSettings {
  return { version: VERSION, signIn: signInBy(client, mayUseDevIssuer) };
}

function signInBy(client: ConsoleClient | undefined, mayUseDevIssuer: boolean): ConsoleSignIn {
  if (client) return { kind: 'oidc', ...client, origins: [new URL(client.issuer).origin, ...client.origins] };
  return { kind: mayUseDevIssuer ? 'development' : 'token' };
}

const tiers = Object.keys(TIERS) as [Tier, ...Tier[]];
const bodySchema = z.strictObject({
  subject: z.string().refine(isSubject, 'Must be 1 to 255 printable characters.'),
  tier: z.enum(tiers, `Must be one of ${tiers.join(', ')}.`).optional(),
});

/**
 * Lets the console get tokens from the dev issuer. Only for servers that listen on loopback: anyone who can reach the
 * server can sign in as any user.
 */
export function registerDevSignIn(app: FastifyInstance, sign: DevIssuer['sign']): void {
  app.post('/console/dev-token', async (request) => {
    // DNS rebinding: another site can make its own host name resolve to this machine.
    if (!isLocalName(request.hostname)) throw new AppError('FORBIDDEN');
    return { token: await sign(parseInput(bodySchema, request.body)) };
  });
}

/** Whether a server that listens on `host` can be reached only from its own machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isLocalName(hostname: string): boolean {
  return isLoopback(hostname.replace(/^\[|\]$/g, ''));
}
