/** The signed-in user, if there is one. */
export type SessionState =
  | { status: 'signedOut'; hasEnded: boolean }
  | { status: 'signedIn'; token: string; subject: string };

/** This tab's credential. The rest of the console doesn't need to know how the user signed in. */
export type Session = {
  read(): SessionState;
  subscribe(listener: () => void): () => void;
  /** Called when the server rejects the credential. The URL doesn't change, so users return to this page on sign-in. */
  end(): void;
  /**
   * Signs the user in again, for changes that require a recent sign-in. This may redirect them to the identity provider,
   * which returns them to this page.
   *
   * @returns whether the user is still on the page, with everything that they entered.
   */
  signInAgain(): Promise<boolean>;
  signOut(): Promise<void>;
};

/** Holds the session state and notifies listeners. */
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

/** A token's `sub`, for display only. The server verifies the token. */
export function subjectOf(token: string): string {
  const { sub } = claimsOf(token);
  return typeof sub === 'string' ? sub : 'Signed in';
}

/** A token's claims, unverified. Empty if it isn't a JSON Web Token. */
export function claimsOf(token: string): Record<string, unknown> {
  try {
    const payload = token.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(payload), (character) => character.codePointAt(0)!);
    return JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
