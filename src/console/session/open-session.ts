import type { OidcSession } from './oidc-session.ts';
import { loadSettings, type SignIn } from './settings.ts';
import { createTokenSession, type TokenSession } from './token-session.ts';

/** A session and its sign-in method. */
export type OpenSession =
  | { kind: 'oidc'; signIn: Extract<SignIn, { kind: 'oidc' }>; session: OidcSession }
  | { kind: 'development' | 'token'; session: TokenSession };

/** Opens the session that the server's settings call for, and restores this tab's user. */
export async function openSession(): Promise<OpenSession> {
  const { signIn } = await loadSettings();
  if (signIn.kind !== 'oidc') return { kind: signIn.kind, session: createTokenSession() };
  // Loaded on demand, so other sign-in methods don't load it.
  const { openOidcSession } = await import('./oidc-session.ts');
  return { kind: 'oidc', signIn, session: await openOidcSession(signIn) };
}
