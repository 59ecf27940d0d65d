import type { OidcSession } from './oidc-session.ts';
import { loadSettings, type SignIn } from './settings.ts';
import { createTokenSession, type TokenSession } from './token-session.ts';

/** A session with the way in that it needs. */
export type OpenSession =
  | { kind: 'oidc'; signIn: Extract<SignIn, { kind: 'oidc' }>; session: OidcSession }
  | { kind: 'development' | 'token'; session: TokenSession };

/** The session that the server's settings call for, with whoever was signed in in this tab. */
export async function openSession(): Promise<OpenSession> {
  const { signIn } = await loadSettings();
  if (signIn.kind !== 'oidc') return { kind: signIn.kind, session: createTokenSession() };
  // Development does not load it.
  const { openOidcSession } = await import('./oidc-session.ts');
  return { kind: 'oidc', signIn, session: await openOidcSession(signIn) };
}
