import { createSessionStore, type Session, subjectOf } from './session.ts';

const KEY = 'tollgate.token';

export type TokenSession = Session & { accept(token: string): void };

/**
 * A session with a token that the dev issuer created or the user pasted. The token is kept in this tab.
 *
 * @param renew gets a new token for the same user. Without it, users have to sign in again to get a new token.
 */
export function createTokenSession(
  options: { storage?: Storage; renew?: ((token: string) => Promise<string>) | undefined } = {},
): TokenSession {
  const { storage = sessionStorage, renew } = options;
  const kept = storage.getItem(KEY);
  const store = createSessionStore(
    kept ? { status: 'signedIn', token: kept, subject: subjectOf(kept) } : { status: 'signedOut', hasEnded: false },
  );
  const leave = (hasEnded: boolean) => {
    storage.removeItem(KEY);
    store.set({ status: 'signedOut', hasEnded });
  };
  const accept = (token: string) => {
    storage.setItem(KEY, token);
    store.set({ status: 'signedIn', token, subject: subjectOf(token) });
  };
  return {
    read: store.read,
    subscribe: store.subscribe,
    accept,
    end: () => leave(true),
    async signInAgain() {
      const state = store.read();
      const isRenewed = renew !== undefined && state.status === 'signedIn';
      if (isRenewed) accept(await renew(state.token));
      else leave(true);
      return isRenewed;
    },
    signOut: async () => leave(false),
  };
}
