import type { useSubmit } from '../api/use-submit.ts';
import { showDone } from './toast.tsx';

/** The state that determines whether “Undo” would restore everything. */
type Row = {
  id: string;
  isActive: boolean;
  isPaused: boolean;
  disabledReason?: string | null | undefined;
  pausedReason?: string | null | undefined;
  failingSince?: string | null | undefined;
};

type Change = { isActive: boolean } | { isPaused: boolean };
type Update = ReturnType<typeof useSubmit<unknown, { input: { id: string } & Change }>>;

/**
 * Pauses, resumes, enables, and disables a destination, and explains the effect. There is an “Undo” only if the
 * opposite action would restore everything: deliveries that were skipped or sent can't be taken back, and enabling or
 * resuming clears the reason why Tollgate stopped a destination and the time when it started to fail.
 */
export function switchesOf(what: 'Webhook' | 'Connector', { submit, attempt }: Pick<Update, 'submit' | 'attempt'>) {
  async function turn(id: string, change: Change, message: string, undo?: { change: Change; done: string }) {
    if (!(await submit({ input: { id, ...change } }))) return false;
    const run = () => attempt({ input: { id, ...undo!.change } });
    showDone(message, undo && { label: 'Undo', done: undo.done, run });
    return true;
  }

  return {
    setPaused(row: Row, isPaused: boolean): Promise<boolean> {
      if (!isPaused) return turn(row.id, { isPaused }, resumedMessage(what, row));
      const undo = { change: { isPaused: false }, done: `${what} resumed` };
      return turn(
        row.id,
        { isPaused },
        `${what} paused. Its deliveries are held.`,
        row.failingSince ? undefined : undo,
      );
    },
    setActive(row: Row, isActive: boolean): Promise<boolean> {
      if (!isActive) return turn(row.id, { isActive }, `${what} disabled`);
      const wasHealthy = !row.disabledReason && !row.pausedReason && !row.failingSince;
      const undo = { change: { isActive: false }, done: `${what} disabled again` };
      return turn(row.id, { isActive }, enabledMessage(what, row), wasHealthy ? undo : undefined);
    },
  };
}

function resumedMessage(what: string, { isActive }: Row): string {
  return isActive
    ? `${what} resumed. Held deliveries are being sent.`
    : `${what} resumed, but it’s still disabled, so its events are skipped.`;
}

/** Enabling ends a pause that Tollgate started, but not one that a user started. */
function enabledMessage(what: string, { isPaused, pausedReason }: Row): string {
  return isPaused && !pausedReason
    ? `${what} enabled, but it’s still paused, so its deliveries are held.`
    : `${what} enabled. New events are sent.`;
}
