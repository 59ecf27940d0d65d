import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import { sharedNow } from '../clock.ts';
import type { PaymentProgress } from '../features/payments/payment-record.ts';
import type { GatewayMetrics } from '../gateway/gateway.ts';
import { PaymentStage, PaymentStatus } from '../generated/prisma/client.ts';
import { BUCKETS_SECONDS, SETTLEMENT_BUCKETS_SECONDS } from './buckets.ts';

/** What the gateway of this process does. */
export function createPaymentMetrics(registry: Registry) {
  const registers = [registry];
  const payments = new Counter({
    name: 'tollgate_payments_total',
    help: 'Payments that came to a status by this process; stage is where a FAILED one failed, otherwise empty. VERIFY: the buyer; UPSTREAM: the API of the seller; SETTLE: the facilitator and its chain.',
    labelNames: ['status', 'stage'],
    registers,
  });
  for (const status of Object.values(PaymentStatus)) {
    const stages = status === 'FAILED' ? Object.values(PaymentStage) : [''];
    for (const stage of stages) payments.inc({ status, stage }, 0);
  }
  const stepSeconds = new Histogram({
    name: 'tollgate_payment_step_duration_seconds',
    help: 'How long the steps of paid requests took. claim: the database; verify, settle: the facilitator and its chain; upstream: the API of the seller.',
    labelNames: ['step'],
    buckets: BUCKETS_SECONDS,
    registers,
  });
  const settlementSeconds = new Histogram({
    name: 'tollgate_payment_settlement_duration_seconds',
    help: 'From the arrival of a paid request until its settlement was booked, also when that had to be looked up on the chain.',
    buckets: SETTLEMENT_BUCKETS_SECONDS,
    registers,
  });
  const facilitatorSeconds = new Histogram({
    name: 'tollgate_facilitator_request_duration_seconds',
    help: 'Calls of the facilitator, by operation and outcome. error, not_sent: it is not reached; ambiguous: the chain will tell; refused: the payment is no good.',
    labelNames: ['operation', 'outcome'],
    buckets: BUCKETS_SECONDS,
    registers,
  });

  const gateway: GatewayMetrics = {
    onStep: (step, seconds) => stepSeconds.observe({ step }, seconds),
    onFacilitatorCall: (operation, outcome, seconds) => facilitatorSeconds.observe({ operation, outcome }, seconds),
  };
  return {
    gateway,
    onPaymentStatus({ status, failureStage, createdAt }: PaymentProgress): void {
      payments.inc({ status, stage: failureStage ?? '' });
      if (status === 'SETTLED') settlementSeconds.observe(Math.max(0, sharedNow() - createdAt.getTime()) / 1000);
    },
  };
}
