import { sharedNow } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Viewer } from './viewer.ts';

/**
 * Call this before a change to who is paid, what buyers get, or who owns the project, so that nobody can make it in a
 * session that was left open.
 *
 * @param what the changed field, for example, `walletAddress`.
 * @throws AppError `RECENT_SIGN_IN_REQUIRED` if the person signed in too long ago. API keys have their own rules.
 */
export type RequireRecentSignIn = (viewer: Viewer, what: string) => void;

/** Issuers' clocks may differ from this server's. */
const CLOCK_TOLERANCE_SECONDS = 30;

/** @param maxAgeSeconds the maximum time since the person signed in. Undefined turns the rule off. */
export function createRequireRecentSignIn(
  maxAgeSeconds: number | undefined,
  now: () => number = sharedNow,
): RequireRecentSignIn {
  return (viewer, what) => {
    if (maxAgeSeconds === undefined || viewer.kind === 'apiKey') return;
    const ageSeconds = (now() - (viewer.signedInAt?.getTime() ?? 0)) / 1000;
    const isRecent = ageSeconds >= -CLOCK_TOLERANCE_SECONDS && ageSeconds <= maxAgeSeconds + CLOCK_TOLERANCE_SECONDS;
    if (isRecent) return;
    throw new AppError('RECENT_SIGN_IN_REQUIRED', {
      detail: `To change \`${what}\`, you must have signed in within the last ${inWords(maxAgeSeconds)}. Sign in again, then retry with the new token.`,
      maxAgeSeconds,
    });
  };
}

function inWords(seconds: number): string {
  if (seconds % 60 !== 0) return `${seconds} seconds`;
  return seconds === 60 ? 'minute' : `${seconds / 60} minutes`;
}
