import type { Authenticator, Viewer } from '../auth/viewer.ts';
import { type Bus, topics } from '../bus/bus.ts';
import { sharedNow } from '../clock.ts';
import { AppError } from '../errors.ts';

/** How often an open stream's credential is checked, even without a notification. */
const RECHECK_MILLISECONDS = 5_000;

/** Node fires longer timers immediately. The recheck covers credentials that stay valid for longer. */
const MAX_TIMEOUT_MILLISECONDS = 2 ** 31 - 1;

/** Why a stream has to end: its credential is no longer valid, or the caller's permissions have changed. */
export type WatchEnd = 'credential' | 'permissions';

/**
 * Calls back once when the credential expires or is revoked, when its account is blocked, or when the caller's
 * permissions change, because an open stream still has the old ones. Returns a function that stops watching.
 */
export type CredentialWatch = (
  viewer: Viewer,
  credential: { authorization: string; address: string },
  onEnd: (why: WatchEnd) => void,
  options?: {
    /** The only project that the stream is about. Otherwise, it ends if the permissions in any project change. */
    projectId?: string | undefined;
  },
) => () => void;

type Listener = (why: WatchEnd) => void;
/** What a stream is about, and the permissions that it was opened with. */
type Opened = { projectId: string | undefined; permissions: string };
/** Streams with the same credential and address. */
type Watched = { listeners: Map<Listener, Opened>; check(): Promise<void>; stop(): void };

/** Whether an error from `authenticate` means that streams with this credential must end. */
export function hasEnded(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'UNAUTHENTICATED' || error.code === 'ACCOUNT_BLOCKED');
}

/** Whether an API key can't be used from the caller's address. It is the only reason why `identify` throws `FORBIDDEN`. */
export function isForbidden(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'FORBIDDEN';
}

/**
 * Watches the credentials of open streams. Streams with the same credential share its checks, if they come from the same
 * address: an API key may work from only one of two addresses.
 */
export function createCredentialWatch({
  authenticator,
  bus,
  recheckMilliseconds = RECHECK_MILLISECONDS,
}: {
  authenticator: Authenticator;
  bus: Bus;
  recheckMilliseconds?: number | undefined;
}): CredentialWatch {
  const watched = new Map<string, Watched>();

  function startWatching(key: string, viewer: Viewer, credential: { authorization: string; address: string }): Watched {
    const { authorization, address } = credential;
    const listeners: Watched['listeners'] = new Map();
    const end = (why: WatchEnd, ended: readonly Listener[] = [...listeners.keys()]) => {
      // A check that was already running may call `end` again.
      for (const listener of ended) listeners.delete(listener);
      if (listeners.size === 0) stop();
      for (const listener of ended) listener(why);
    };
    const check = async () => {
      try {
        const now = await authenticator.authenticate(authorization, address);
        const isOutdated = ({ projectId, permissions }: Opened) => permissions !== permissionsOf(now, projectId);
        const outdated = [...listeners].flatMap(([listener, opened]) => (isOutdated(opened) ? [listener] : []));
        if (outdated.length > 0) end('permissions', outdated);
      } catch (error) {
        if (hasEnded(error) || isForbidden(error)) end('credential');
      }
    };
    const recheck = setInterval(check, recheckMilliseconds).unref();
    const lifetimeMilliseconds = viewer.expiresAt ? viewer.expiresAt.getTime() - sharedNow() : undefined;
    const expiry =
      lifetimeMilliseconds !== undefined && lifetimeMilliseconds < MAX_TIMEOUT_MILLISECONDS
        ? setTimeout(() => end('credential'), lifetimeMilliseconds).unref()
        : undefined;
    const hints = [
      topics.accountBlocked(viewer.userId),
      viewer.kind === 'apiKey' ? topics.apiKeyRevoked(viewer.apiKeyId) : topics.membershipsChanged(viewer.userId),
    ];
    const unsubscribes = hints.map((topic) => bus.subscribe(topic, () => void check()));

    function stop() {
      if (watched.get(key) === entry) watched.delete(key);
      clearInterval(recheck);
      clearTimeout(expiry);
      for (const unsubscribe of unsubscribes) unsubscribe();
    }
    const entry = { listeners, stop, check };
    watched.set(key, entry);
    return entry;
  }

  return (viewer, credential, onEnd, { projectId } = {}) => {
    const key = `${credential.address} ${credential.authorization}`;
    const isFirst = !watched.has(key);
    const { listeners, stop, check } = watched.get(key) ?? startWatching(key, viewer, credential);
    const listener: Listener = (why) => onEnd(why);
    listeners.set(listener, { projectId, permissions: permissionsOf(viewer, projectId) });
    // The credential may have been revoked, or the permissions changed, between the caller's check and this
    // subscription.
    if (isFirst && (viewer.kind === 'apiKey' || viewer.memberships !== undefined)) void check();
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) stop();
    };
  };
}

/** What an open stream may send, as text. Memberships are in the order of the projects. */
function permissionsOf(viewer: Viewer, projectId: string | undefined): string {
  if (viewer.kind === 'apiKey') return JSON.stringify(viewer.scopes);
  const { memberships = {} } = viewer;
  return JSON.stringify(projectId === undefined ? memberships : (memberships[projectId] ?? null));
}
