import { createSessionStore, type Session, subjectOf } from './session.ts';

const KEY = 'tollgate.token';

export type TokenSession = Session & { accept(token: string): void };

/** A session with a token that the dev issuer created or the user pasted. The token is kept in this tab. */
export function createTokenSession(storage: Storage = sessionStorage): TokenSession {
  const kept = storage.getItem(KEY);
  const store = createSessionStore(
    kept ? { status: 'signedIn', token: kept, subject: subjectOf(kept) } : { status: 'signedOut', hasEnded: false },
  );
  const leave = (hasEnded: boolean) => {
    storage.removeItem(KEY);
    store.set({ status: 'signedOut', hasEnded });
  };
  return {
    read: store.read,
    subscribe: store.subscribe,
    accept(token) {
      storage.setItem(KEY, token);
      store.set({ status: 'signedIn', token, subject: subjectOf(token) });
    },
    end: () => leave(true),
    signOut: async () => leave(false),
  };
}
