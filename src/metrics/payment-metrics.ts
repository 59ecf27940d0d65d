import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import type { PaymentProgress } from '../features/payments/payment-record.ts';
import type { GatewayMetrics } from '../gateway/gateway.ts';
import { PaymentStage, PaymentStatus } from '../generated/prisma/client.ts';
import { BUCKETS_SECONDS, SETTLEMENT_BUCKETS_SECONDS } from './buckets.ts';

/** Metrics from the gateway in this process. */
export function createPaymentMetrics(registry: Registry) {
  const registers = [registry];
  const payments = new Counter({
    name: 'tollgate_payments_total',
    help: 'Payments that reached a status in this process. For FAILED, stage is the step that failed; otherwise, it is empty. The likely cause is the buyer at VERIFY, the seller’s API at UPSTREAM, and the facilitator or the chain at SETTLE.',
    labelNames: ['status', 'stage'],
    registers,
  });
  for (const status of Object.values(PaymentStatus)) {
    const stages = status === 'FAILED' ? Object.values(PaymentStage) : [''];
    for (const stage of stages) payments.inc({ status, stage }, 0);
  }
  const stepSeconds = new Histogram({
    name: 'tollgate_payment_step_duration_seconds',
    help: 'Duration of each step in a paid request. claim waits for the database, verify and settle wait for the facilitator and the chain, and upstream waits for the seller’s API.',
    labelNames: ['step'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const settlementSeconds = new Histogram({
    name: 'tollgate_payment_settlement_duration_seconds',
    help: 'Time from the arrival of a paid request until its settlement is recorded, including any lookup on the chain.',
    buckets: SETTLEMENT_BUCKETS_SECONDS,
    registers,
  });
  const facilitatorSeconds = new Histogram({
    name: 'tollgate_facilitator_request_duration_seconds',
    help: 'Duration of calls to the facilitator, including the wait for a turn, by operation and outcome. error, not_sent: the facilitator is unreachable; ambiguous: the chain decides the outcome; refused: the payment is invalid; rejected: the facilitator rejects our requests, and the log says why.',
    labelNames: ['operation', 'outcome'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const freeRequests = new Counter({
    name: 'tollgate_free_requests_total',
    help: 'Requests for free endpoints, by outcome. failed: the seller’s API returned no usable response; limited: the client’s address sent too many requests.',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['served', 'failed', 'limited']) freeRequests.inc({ outcome }, 0);

  const gateway: GatewayMetrics = {
    onStep: (step, seconds) => stepSeconds.observe({ step }, seconds),
    onFacilitatorCall: (operation, outcome, seconds) => facilitatorSeconds.observe({ operation, outcome }, seconds),
    onFreeRequest: (outcome) => freeRequests.inc({ outcome }),
  };
  return {
    gateway,
    onPaymentStatus({ status, failureStage, createdAt, updatedAt }: PaymentProgress): void {
      payments.inc({ status, stage: failureStage ?? '' });
      // Both are the database's times, so no other clock's error counts.
      if (status === 'SETTLED') settlementSeconds.observe((updatedAt.getTime() - createdAt.getTime()) / 1000);
    },
  };
}
