import type { Authenticator, Viewer } from '../auth/viewer.ts';
import { type Bus, topics } from '../bus/bus.ts';
import { AppError } from '../errors.ts';

/** How often an open stream's credential is checked, even without a notification. */
const RECHECK_MILLISECONDS = 5_000;

/** Node fires longer timers immediately. The recheck covers credentials that stay valid for longer. */
const MAX_TIMEOUT_MILLISECONDS = 2 ** 31 - 1;

/** Calls back once when the credential expires or is revoked. Returns a function that stops watching. */
export type CredentialWatch = (viewer: Viewer, authorization: string, onEnd: () => void) => () => void;

type Watched = { listeners: Set<() => void>; stop(): void };

/** Watches the credentials of open streams. Streams with the same credential share its checks. */
export function createCredentialWatch({
  authenticator,
  bus,
}: {
  authenticator: Authenticator;
  bus: Bus;
}): CredentialWatch {
  const watched = new Map<string, Watched>();

  function startWatching(viewer: Viewer, authorization: string): Watched {
    const listeners = new Set<() => void>();
    const end = () => {
      stop();
      const ended = [...listeners];
      // A check that was already running may call `end` again.
      listeners.clear();
      for (const listener of ended) listener();
    };
    const check = () =>
      authenticator.authenticate(authorization).catch((error) => {
        if (error instanceof AppError && error.code === 'UNAUTHENTICATED') end();
      });
    const recheck = setInterval(check, RECHECK_MILLISECONDS).unref();
    const lifetimeMilliseconds = viewer.expiresAt ? viewer.expiresAt.getTime() - Date.now() : undefined;
    const expiry =
      lifetimeMilliseconds !== undefined && lifetimeMilliseconds < MAX_TIMEOUT_MILLISECONDS
        ? setTimeout(end, lifetimeMilliseconds).unref()
        : undefined;
    const unsubscribe =
      viewer.kind === 'apiKey' ? bus.subscribe(topics.apiKeyRevoked(viewer.apiKeyId), check) : () => {};
    // It may have been revoked between the caller's check and this subscription.
    if (viewer.kind === 'apiKey') check();

    function stop() {
      if (watched.get(authorization) === entry) watched.delete(authorization);
      clearInterval(recheck);
      clearTimeout(expiry);
      unsubscribe();
    }
    const entry = { listeners, stop };
    watched.set(authorization, entry);
    return entry;
  }

  return (viewer, authorization, onEnd) => {
    const { listeners, stop } = watched.get(authorization) ?? startWatching(viewer, authorization);
    const listener = () => onEnd();
    listeners.add(listener);
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) stop();
    };
  };
}
