import type { Outcome } from '../definition.ts';
import { reason, retry } from './classify.ts';
import { counted } from './plain-text.ts';

const MINUTE = 60;

/** The waits before a workflow that failed is run again, in seconds. A run may cost money even if it fails. */
export const RUN_WAITS_SECONDS: readonly number[] = [5, 5 * MINUTE, 30 * MINUTE];

/**
 * The outcome of a run that failed (status 500): it is run again after each wait, and the event is then dropped.
 *
 * @param run what failed, such as `The n8n workflow`, and where to find out why.
 */
export function afterFailedRun(run: { name: string; advice: string }, attemptNumber: number): Outcome {
  const waitSeconds = RUN_WAITS_SECONDS[attemptNumber - 1];
  if (waitSeconds !== undefined) return retry(`${run.name} failed. ${run.advice}`, waitSeconds);
  return {
    kind: 'drop',
    reason: reason(`${run.name} failed. Gave up after ${counted(attemptNumber, 'attempt')}. ${run.advice}`),
  };
}
