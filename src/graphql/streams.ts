import type { Viewer } from '../auth/viewer.ts';
import { AppError } from '../errors.ts';
import type { Authentication } from '../http/authentication.ts';
import type { WatchEnd } from '../http/credential-watch.ts';
import { type Backlogs, createBacklogs } from '../limits/backlog.ts';

/** How many WebSockets and event streams an account may have open in a process. */
const MAX_STREAMS_PER_ACCOUNT = 50;

export type Streams = {
  /**
   * Reserves a stream for the account, and ends it when its credential stops being valid, or when the person's
   * memberships change.
   *
   * @returns a function that releases it.
   * @throws AppError `RATE_LIMITED` if the account has too many streams.
   */
  open(
    viewer: Viewer,
    credential: { authorization: string; address: string },
    end: (why: WatchEnd) => void,
  ): () => void;
  count(): number;
  /** Data waiting for the clients of all streams. */
  backlogs: Backlogs;
};

/**
 * Limits the number of long-lived connections across all transports, and ends each one when its credential stops being
 * valid.
 */
export function createStreams(authentication: Authentication, backlogs: Backlogs = createBacklogs()): Streams {
  const byAccount = new Map<string, number>();
  let total = 0;
  return {
    open(viewer, credential, end) {
      const open = byAccount.get(viewer.userId) ?? 0;
      if (open >= MAX_STREAMS_PER_ACCOUNT) {
        throw new AppError('RATE_LIMITED', {
          detail: `You have ${MAX_STREAMS_PER_ACCOUNT} open streams, which is the limit. Close one first.`,
        });
      }
      byAccount.set(viewer.userId, open + 1);
      total += 1;
      const unwatch = authentication.watch(viewer, credential, end);
      let released = false;
      return () => {
        if (released) return;
        released = true;
        unwatch();
        total -= 1;
        const left = (byAccount.get(viewer.userId) ?? 1) - 1;
        if (left > 0) byAccount.set(viewer.userId, left);
        else byAccount.delete(viewer.userId);
      };
    },
    count: () => total,
    backlogs,
  };
}
