import { FAILING_LIMIT_SECONDS } from './outcome/lasting-failure.ts';
import { QUICK_RETRIES, type QuickRetryPolicy, RETRY_SCHEDULE_SECONDS } from './send/retry-policy.ts';

export type DeliverySettings = {
  /** Shown to receivers as `user-agent: Tollgate/<version>`. */
  version: string;
  /** Deliveries this process has in its hands at once. */
  maxInFlight: number;
  /** What one destination may always have in flight. */
  perDestination: number;
  /** What it may have in flight while others leave room. */
  maxPerDestination: number;
  /** What may be claimed for it beyond that, and wait in this process for its turn. */
  claimedAhead: number;
  /** What one origin (scheme, host and port) may have in flight, whoever sends there. */
  maxPerOrigin: number;
  /** The most taken from the database at once. */
  claimBatch: number;
  leaseSeconds: number;
  /** Of one request, all in all; a connector type may have its own. */
  timeoutMilliseconds: number;
  /** How often the queue is looked at when nothing announces itself. */
  pollMilliseconds: number;
  /** How long `stop` waits for what is in flight. */
  drainMilliseconds: number;
  retryScheduleSeconds: readonly number[];
  quickRetries: QuickRetryPolicy;
  failingLimitSeconds: number;
  /** Address of an event in the console, where it is known. */
  consoleUrl?: (event: { id: string; projectId: string }) => string | undefined;
};

/** What holds when nothing else is said. */
export const DELIVERY_DEFAULTS: Omit<DeliverySettings, 'version'> = {
  maxInFlight: 2_048,
  perDestination: 64,
  maxPerDestination: 128,
  claimedAhead: 128,
  maxPerOrigin: 256,
  claimBatch: 256,
  leaseSeconds: 30,
  timeoutMilliseconds: 15_000,
  pollMilliseconds: 1_000,
  drainMilliseconds: 25_000,
  retryScheduleSeconds: RETRY_SCHEDULE_SECONDS,
  quickRetries: QUICK_RETRIES,
  failingLimitSeconds: FAILING_LIMIT_SECONDS,
};
