import { FAILING_LIMIT_SECONDS } from './outcome/lasting-failure.ts';
import { QUICK_RETRIES, type QuickRetryPolicy } from './send/retry-policy.ts';

export type DeliverySettings = {
  /** Sent to destinations as `user-agent: Tollgate/<version>`. */
  version: string;
  /** The maximum number of deliveries that this process holds at the same time. */
  maxInFlight: number;
  /** The guaranteed number of deliveries in flight for each destination. */
  perDestination: number;
  /** The maximum number of deliveries in flight for a destination while there is capacity. */
  maxPerDestination: number;
  /** The maximum number of extra deliveries per destination that this process may claim and hold. */
  claimedAhead: number;
  /** The maximum number of deliveries in flight to one origin (scheme, host, and port), across all accounts. */
  maxPerOrigin: number;
  /** The maximum number of deliveries per claim. */
  claimBatch: number;
  leaseSeconds: number;
  /** Applies to a whole request. A connector type can have its own timeout. */
  timeoutMilliseconds: number;
  /** How often to check the queue when there are no hints. */
  pollMilliseconds: number;
  /** How long `stop` waits for deliveries in flight. */
  drainMilliseconds: number;
  /** Replaces every retry schedule, including those of connector types. For tests. */
  retryScheduleSeconds?: readonly number[] | undefined;
  quickRetries: QuickRetryPolicy;
  failingLimitSeconds: number;
  /** An event's URL in the console, if known. */
  consoleUrl?: (event: { id: string; projectId: string }) => string | undefined;
  /** Whether payments are settled on a local chain. */
  isLocalChain: boolean;
};

/** The default settings. */
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
  quickRetries: QUICK_RETRIES,
  failingLimitSeconds: FAILING_LIMIT_SECONDS,
  isLocalChain: false,
};
