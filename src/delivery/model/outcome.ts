import type { AttemptRecord, ClaimedDelivery } from './claimed-delivery.ts';

/** How a delivery affects its destination's health. */
export type HealthEffect =
  | { kind: 'healthy' }
  | { kind: 'failing' }
  /**
   * The destination is rate limiting requests (429). It isn't failing, but nothing is sent to it for `afterSeconds`.
   */
  | { kind: 'limited'; afterSeconds: number }
  /** The vendor is blocking this service's address. No destination is to blame, and all connectors of the type wait. */
  | { kind: 'blocked'; afterSeconds: number }
  | { kind: 'disable'; reason: string }
  | { kind: 'pause'; reason: string };

/** A delivery's next status, and everything recorded with it. */
export type DeliveryOutcome = {
  delivery: ClaimedDelivery;
  status: 'PENDING' | 'SUCCEEDED' | 'FAILED' | 'SKIPPED';
  reason: string | null;
  /** Null for a delivery that is finished, held, or parked. */
  dueInSeconds: number | null;
  /** Whether the delivery keeps its due time and waits for its destination to have capacity. */
  isParked: boolean;
  retryStep: number;
  attempts: AttemptRecord[];
  health: HealthEffect | null;
  /** Whether and why the connector's vendor rejected the delivery, as returned by `rejectionOf`. */
  rejection: string | null;
  remember: Record<string, string>;
};
