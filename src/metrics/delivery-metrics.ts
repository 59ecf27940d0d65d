import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import type { DeliveryMetrics } from '../delivery/model/delivery-metrics.ts';
import { BUCKETS_SECONDS } from './buckets.ts';

/** What the delivery worker of this process does. */
export function createDeliveryMetrics(registry: Registry): DeliveryMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'tollgate_delivery_attempts_total',
    help: 'Attempts made by this process, by kind of subscriber and outcome. One kind fails: look at its vendor; all fail: look at your network.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const attemptSeconds = new Histogram({
    name: 'tollgate_delivery_attempt_duration_seconds',
    help: 'How long attempts took, by kind of subscriber. Slow ones take up workers.',
    labelNames: ['kind'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const results = new Counter({
    name: 'tollgate_delivery_results_total',
    help: 'What claims of deliveries came to, by kind of subscriber and status; PENDING is tried again later, or held. FAILED is not: its seller has to act.',
    labelNames: ['kind', 'status'],
    registers,
  });
  const claimSeconds = new Histogram({
    name: 'tollgate_delivery_claim_duration_seconds',
    help: 'How long the statement took that takes due deliveries. Slow ones hold up everything: look at the database.',
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const queueErrors = new Counter({
    name: 'tollgate_delivery_queue_errors_total',
    help: 'Failed statements of the worker, which are repeated: claim takes deliveries, record writes results. See the log, and whether the database is well.',
    labelNames: ['operation'],
    registers,
  });
  for (const operation of ['claim', 'record']) queueErrors.inc({ operation }, 0);

  return {
    onAttempt({ kind, isDelivered, durationMs }) {
      attempts.inc({ kind, outcome: isDelivered ? 'delivered' : 'failed' });
      attemptSeconds.observe({ kind }, durationMs / 1000);
    },
    onResult: (kind, status) => results.inc({ kind, status }),
    onClaim: (seconds) => claimSeconds.observe(seconds),
    onQueueError: (operation) => queueErrors.inc({ operation }),
  };
}
