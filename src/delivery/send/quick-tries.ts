import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { AttemptRecord, SendResult, Verdict } from '../model/claimed-delivery.ts';
import { isQuickFailure, QUICK_RETRIES, type QuickRetryPolicy } from './retry-policy.ts';

/** The result of one attempt. */
export type Try = { attempt?: AttemptRecord; verdict: Verdict; remember?: Record<string, string> };

export type QuickTriesOptions = {
  /** Whether it is safe to resend a request that may have arrived. */
  isRepeatable: boolean;
  policy?: QuickRetryPolicy;
  /** Returns false to end the quick retries and leave the rest to the schedule. */
  mayRetry?: () => boolean;
};

class FailedTry extends Error {}

/**
 * Makes an attempt, and retries within the same claim while the failure is likely to go away quickly. Other failures
 * are left to the retry schedule.
 *
 * @param tryOnce gets the attempt's number, starting at 1. It returns failures instead of throwing them.
 */
export async function withQuickTries(
  tryOnce: (number: number, previous: Try | undefined) => Promise<Try>,
  { isRepeatable, policy = QUICK_RETRIES, mayRetry = () => true }: QuickTriesOptions,
): Promise<SendResult> {
  const attempts: AttemptRecord[] = [];
  let remember: Record<string, string> = {};
  let last: Try | undefined;

  async function run(number: number): Promise<Verdict> {
    last = await tryOnce(number, last);
    if (last.attempt) attempts.push(last.attempt);
    if (last.remember) remember = { ...remember, ...last.remember };
    if (last.verdict.kind === 'retry') throw new FailedTry();
    return last.verdict;
  }

  async function shouldRetry({ error }: { error: Error }): Promise<boolean> {
    if (!(error instanceof FailedTry) || last?.verdict.kind !== 'retry' || !last.attempt || !mayRetry()) return false;
    const { afterSeconds } = last.verdict;
    if (!isQuickFailure(last.attempt, afterSeconds, isRepeatable, policy)) return false;
    if (afterSeconds) await sleep(afterSeconds * 1000);
    return mayRetry();
  }

  try {
    const { maxRetries, minDelayMilliseconds } = policy;
    const options = { retries: maxRetries, minTimeout: minDelayMilliseconds, factor: 2, randomize: true, shouldRetry };
    return { attempts, verdict: await pRetry(run, options), remember };
  } catch (error) {
    if (!(error instanceof FailedTry) || !last) throw error;
    return { attempts, verdict: last.verdict, remember };
  }
}
