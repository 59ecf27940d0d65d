import type { AttemptRecord, ClaimedDelivery } from './claimed-delivery.ts';

/** What a subscriber's health learns from a delivery. */
export type HealthEffect =
  | { kind: 'healthy' }
  | { kind: 'failing' }
  | { kind: 'disable'; reason: string }
  | { kind: 'pause'; reason: string };

/** A delivery's next state, as it is written. */
export type DeliveryOutcome = {
  delivery: ClaimedDelivery;
  status: 'PENDING' | 'SUCCEEDED' | 'FAILED' | 'SKIPPED';
  reason: string | null;
  /** Null for a delivery that is finished or held. */
  dueInSeconds: number | null;
  retryStep: number;
  attempts: AttemptRecord[];
  health: HealthEffect | null;
  /** What it says about what its connector's vendor accepts, in the form of `rejectionOf`. */
  rejection: string | null;
  remember: Record<string, string>;
};
