import type { Outcome } from '../definition.ts';
import { reason, retry } from './classify.ts';
import { counted } from './plain-text.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** When to retry requests that start a workflow run. A run has effects, and may cost money, even if it fails. */
export const RUN_DELAYS_SECONDS: readonly number[] = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** The first run, and one after each of the first three delays. */
export const MAX_FAILED_RUNS = 4;

/**
 * The outcome of a run that failed (status 500).
 *
 * @param run what failed, such as `The n8n workflow`, and where to find out why.
 */
export function afterFailedRun(run: { name: string; advice: string }, attemptNumber: number): Outcome {
  if (attemptNumber < MAX_FAILED_RUNS) return retry(`${run.name} failed. ${run.advice}`);
  const attempts = counted(attemptNumber, 'attempt');
  return { kind: 'drop', reason: reason(`${run.name} failed. Gave up after ${attempts}. ${run.advice}`) };
}
