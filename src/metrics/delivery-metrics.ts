import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import type { DeliveryMetrics } from '../delivery/model/delivery-metrics.ts';
import { BUCKETS_SECONDS } from './buckets.ts';

/** Metrics from this process's delivery worker. */
export function createDeliveryMetrics(registry: Registry): DeliveryMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'tollgate_delivery_attempts_total',
    help: "This process's attempts, by kind of destination and outcome. If attempts fail for one kind of connector, check that vendor's status. If they fail for all kinds, check your network.",
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const attemptSeconds = new Histogram({
    name: 'tollgate_delivery_attempt_duration_seconds',
    help: 'Duration of attempts, by kind of destination. Slow attempts occupy workers.',
    labelNames: ['kind'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const results = new Counter({
    name: 'tollgate_delivery_results_total',
    help: 'Results of claimed deliveries, by kind of destination and status. PENDING deliveries are retried later or held. FAILED deliveries are not retried: the seller must act.',
    labelNames: ['kind', 'status'],
    registers,
  });
  const claimSeconds = new Histogram({
    name: 'tollgate_delivery_claim_duration_seconds',
    help: 'Duration of the statement that claims due deliveries. Slow claims delay everything: check the database.',
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const queueErrors = new Counter({
    name: 'tollgate_delivery_queue_errors_total',
    help: 'The worker’s failed database statements, which are retried. claim: takes deliveries; record: writes results. Check the log and the database.',
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
