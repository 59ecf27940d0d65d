import type { Viewer } from '../auth/viewer.ts';
import { AppError } from '../errors.ts';
import type { Admission } from '../http/admission.ts';
import { type Backlogs, createBacklogs } from '../limits/backlog.ts';

/** Open WebSockets and event streams an account may have at once, on one process. */
const MAX_STREAMS_PER_ACCOUNT = 50;

export type Streams = {
  /**
   * Takes one of the account's places and ends the stream when its credential does.
   *
   * @returns how to give the place back.
   * @throws AppError `RATE_LIMITED` when all places are taken.
   */
  open(viewer: Viewer, authorization: string, end: () => void): () => void;
  count(): number;
  /** What waits for the clients of all of them. */
  backlogs: Backlogs;
};

/** Keeps the long-lived connections of all transports within bounds, and no longer than their credentials. */
export function createStreams(admission: Admission, backlogs: Backlogs = createBacklogs()): Streams {
  const byAccount = new Map<string, number>();
  let total = 0;
  return {
    open(viewer, authorization, end) {
      const open = byAccount.get(viewer.userId) ?? 0;
      if (open >= MAX_STREAMS_PER_ACCOUNT) {
        throw new AppError('RATE_LIMITED', {
          detail: `More than ${MAX_STREAMS_PER_ACCOUNT} streams are open. Close some.`,
        });
      }
      byAccount.set(viewer.userId, open + 1);
      total += 1;
      const unwatch = admission.watch(viewer, authorization, end);
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
