/** Who is signed in, if anybody. */
export type SessionState =
  | { status: 'signedOut'; hasEnded: boolean }
  | { status: 'signedIn'; token: string; subject: string };

/** The credential of this tab. Every kind of sign-in makes one; the rest of the console knows no difference. */
export type Session = {
  read(): SessionState;
  subscribe(listener: () => void): () => void;
  /** The server no longer takes the credential. The page stays, so that it is there again after signing in. */
  end(): void;
  signOut(): Promise<void>;
};

/** Holds a session state and tells who listens. */
export function createSessionStore(initial: SessionState) {
  let state = initial;
  const listeners = new Set<() => void>();
  return {
    read: () => state,
    set(next: SessionState): void {
      state = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The `sub` of a token, for the eye only: the server is who verifies it. */
export function subjectOf(token: string): string {
  try {
    const payload = token.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(payload), (character) => character.codePointAt(0)!);
    const { sub } = JSON.parse(new TextDecoder().decode(bytes)) as { sub?: unknown };
    return typeof sub === 'string' ? sub : 'signed in';
  } catch {
    return 'signed in';
  }
}
