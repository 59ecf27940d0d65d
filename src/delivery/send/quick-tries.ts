import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { AttemptRecord, SendResult, Verdict } from '../model/claimed-delivery.ts';
import { isQuickFailure, QUICK_RETRIES, type QuickRetryPolicy } from './retry-policy.ts';

/** What came of one try. */
export type Try = { attempt?: AttemptRecord; verdict: Verdict; remember?: Record<string, string> };

export type QuickTriesOptions = {
  /** Whether a try that may have arrived can be sent again without harm. */
  isRepeatable: boolean;
  policy?: QuickRetryPolicy;
  /** Ends the quick tries: what is not delivered is left to the schedule. */
  mayRetry?: () => boolean;
};

class FailedTry extends Error {}

/**
 * Tries, and tries again within the same claim as long as the failure is of the kind that a moment heals. Everything
 * slower belongs to the durable schedule.
 *
 * @param tryOnce gets the number of the try, counted from 1. It reports failures, it does not throw them.
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
