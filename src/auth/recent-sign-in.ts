import { sharedNow } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Permission } from './permissions.ts';
import type { Viewer } from './viewer.ts';

/**
 * Call this before a change to who is paid, what buyers get, or who owns the project, and before a person or a key gets
 * permissions to make such changes, so that nobody can do it in a session that was left open.
 *
 * @param action what the person is about to do, for example, "change `walletAddress`".
 * @throws AppError `RECENT_SIGN_IN_REQUIRED` if the person signed in too long ago. API keys have their own rules.
 */
export type RequireRecentSignIn = (viewer: Viewer, action: string) => void;

/**
 * The permissions to make changes that require a recent sign-in, or to let someone else make them. Everyone who can
 * change members or keys, or transfer the project, also has one of these.
 */
const PROTECTED: readonly Permission[] = ['CREDENTIALS', 'MANAGE_HOSTS', 'MANAGE_WALLET'];

/**
 * Whether someone who gets these permissions can make changes that require a recent sign-in, and couldn't before.
 *
 * @param before the permissions that they already have.
 */
export function grantsProtected(given: readonly Permission[], before: readonly Permission[] = []): boolean {
  return PROTECTED.some((permission) => given.includes(permission) && !before.includes(permission));
}

/** Issuers' clocks may differ from this server's. */
const CLOCK_TOLERANCE_SECONDS = 30;

/** @param maxAgeSeconds the maximum time since the person signed in. Undefined turns the rule off. */
export function createRequireRecentSignIn(
  maxAgeSeconds: number | undefined,
  now: () => number = sharedNow,
): RequireRecentSignIn {
  return (viewer, action) => {
    if (maxAgeSeconds === undefined || viewer.kind === 'apiKey') return;
    const ageSeconds = (now() - (viewer.signedInAt?.getTime() ?? 0)) / 1000;
    const isRecent = ageSeconds >= -CLOCK_TOLERANCE_SECONDS && ageSeconds <= maxAgeSeconds + CLOCK_TOLERANCE_SECONDS;
    if (isRecent) return;
    throw new AppError('RECENT_SIGN_IN_REQUIRED', {
      detail: `To ${action}, you must have signed in within the last ${inWords(maxAgeSeconds)}. Sign in again, then retry with the new token.`,
      maxAgeSeconds,
    });
  };
}

function inWords(seconds: number): string {
  if (seconds % 60 !== 0) return `${seconds} seconds`;
  return seconds === 60 ? 'minute' : `${seconds / 60} minutes`;
}
