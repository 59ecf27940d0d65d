import type { AttemptRecord } from './claimed-delivery.ts';
import type { DeliveryOutcome } from './outcome.ts';

type AttemptFacts = Pick<AttemptRecord, 'durationMs' | 'statusCode' | 'errorClass'> & {
  /** `webhook` or the connector's type. */
  kind: string;
  isDelivered: boolean;
};

/** The metrics that the delivery worker reports. */
export type DeliveryMetrics = {
  /** An attempt has finished. */
  onAttempt(facts: AttemptFacts): void;
  /** A claimed delivery moved to its next status. `kind` is `webhook` or the connector's type. */
  onResult(kind: string, status: DeliveryOutcome['status']): void;
  /** A claim of due deliveries took this many seconds. */
  onClaim(seconds: number): void;
  /** A statement on the queue failed and will be retried. */
  onQueueError(operation: 'claim' | 'record'): void;
};
