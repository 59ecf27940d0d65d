import { type User, UserManager, WebStorageStateStore } from 'oidc-client-ts';
import { createSessionStore, type Session, type SessionState, subjectOf } from './session.ts';
import type { SignIn } from './settings.ts';

export type OidcSession = Session & {
  /** Redirects to the identity provider, which returns to this page. */
  redirect(): Promise<void>;
};

const CALLBACK = '/console/callback';

/**
 * Opens a session with OpenID Connect: authorization code with PKCE (RFC 7636). Tokens are kept in this tab and renewed
 * with a refresh token if the provider issues one.
 *
 * @throws Error with the provider's message if the provider returns an error.
 */
export async function openOidcSession(signIn: Extract<SignIn, { kind: 'oidc' }>): Promise<OidcSession> {
  const origin = window.location.origin;
  const manager = new UserManager({
    authority: signIn.issuer,
    client_id: signIn.clientId,
    redirect_uri: origin + CALLBACK,
    post_logout_redirect_uri: `${origin}/console/`,
    response_type: 'code',
    scope: signIn.scopes,
    ...(signIn.audience !== null && { extraQueryParams: { audience: signIn.audience } }),
    userStore: new WebStorageStateStore({ store: sessionStorage }),
    automaticSilentRenew: true,
  });
  if (window.location.pathname === CALLBACK) await finishRedirect(manager);
  const store = createSessionStore(stateOf(await manager.getUser()));

  const end = () => {
    if (store.read().status === 'signedOut') return;
    store.set({ status: 'signedOut', hasEnded: true });
    void manager.removeUser();
  };
  manager.events.addUserLoaded((user) => store.set(stateOf(user)));
  manager.events.addAccessTokenExpired(end);
  const place = () => window.location.pathname + window.location.search;
  return {
    read: store.read,
    subscribe: store.subscribe,
    end,
    redirect: () => manager.signinRedirect({ state: place() }),
    async signInAgain() {
      // Without the prompt, the provider may return immediately with the old sign-in.
      await manager.signinRedirect({ state: place(), prompt: 'login' });
      return false;
    },
    async signOut() {
      // If the provider can't be reached, this tab forgets the tokens anyway.
      const metadata = await manager.metadataService.getMetadata().catch(() => undefined);
      if (metadata?.end_session_endpoint) return manager.signoutRedirect();
      await manager.removeUser();
      store.set({ status: 'signedOut', hasEnded: false });
    },
  };
}

async function finishRedirect(manager: UserManager): Promise<void> {
  const user = await manager.signinRedirectCallback();
  window.history.replaceState(null, '', typeof user.state === 'string' ? user.state : '/console/');
}

function stateOf(user: User | null): SessionState {
  if (!user || user.expired) return { status: 'signedOut', hasEnded: user !== null };
  const { access_token: token, profile } = user;
  return { status: 'signedIn', token, subject: profile.email ?? profile.name ?? profile.sub ?? subjectOf(token) };
}
