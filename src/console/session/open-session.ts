import { mintDevToken } from './dev-token.ts';
import type { OidcSession } from './oidc-session.ts';
import { claimsOf, subjectOf } from './session.ts';
import { loadSettings, type SignIn } from './settings.ts';
import { createTokenSession, type TokenSession } from './token-session.ts';

/** A session and its sign-in method. */
export type OpenSession =
  | { kind: 'oidc'; signIn: Extract<SignIn, { kind: 'oidc' }>; session: OidcSession }
  | { kind: 'development' | 'token'; session: TokenSession };

/** Opens the kind of session that the server's settings require, and restores this tab's user. */
export async function openSession(): Promise<OpenSession> {
  const { signIn } = await loadSettings();
  if (signIn.kind === 'token') return { kind: 'token', session: createTokenSession() };
  if (signIn.kind === 'development')
    return { kind: 'development', session: createTokenSession({ renew: renewDevToken }) };
  // Loaded on demand, so other sign-in methods don't load it.
  const { openOidcSession } = await import('./oidc-session.ts');
  return { kind: 'oidc', signIn, session: await openOidcSession(signIn) };
}

/** A new token for the same user, with the same email address. The server keeps the user's tier. */
function renewDevToken(token: string): Promise<string> {
  const { email } = claimsOf(token);
  return mintDevToken({ subject: subjectOf(token), ...(typeof email === 'string' && { email }) });
}
