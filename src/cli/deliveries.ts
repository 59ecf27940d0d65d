import { setTimeout as delay } from 'node:timers/promises';
import type { EventType } from '../events/types.ts';
import { CliDeliveriesDocument, type CliDeliveryFragment } from '../generated/cli-documents.ts';
import { Failure } from './failure.ts';
import { clock, typeNameOf } from './output.ts';
import { foundProject, type Session } from './session.ts';
import { noteIfSlow } from './slow.ts';

/** A delivery as it is printed: event types are spelled as in REST. */
export type ShownDelivery = Omit<CliDeliveryFragment, 'eventType'> & { eventType: EventType };

const PAUSES_MILLISECONDS = [200, 300, 500, 1000];

/** Whether the delivery has a result to show: it is finished, or an attempt failed and it is waiting for a retry. */
function hasResult({ status, attemptCount }: CliDeliveryFragment, attemptsBefore: number): boolean {
  if (status === 'PENDING') return attemptCount > attemptsBefore;
  return status !== 'RUNNING';
}

/** A delivery from GraphQL as it is printed. */
export function shownDelivery<Delivery extends CliDeliveryFragment>(delivery: Delivery) {
  return { ...delivery, eventType: typeNameOf(delivery.eventType) };
}

/**
 * Waits until each delivery is finished, or has one more attempt than when it was passed in.
 *
 * @throws Failure if that takes longer than `timeoutSeconds`; AbortError if the user interrupts.
 */
export function waitForResults(
  session: Session,
  deliveries: CliDeliveryFragment[],
  timeoutSeconds: number,
): Promise<ShownDelivery[]> {
  const results = resultsOf(session, deliveries, timeoutSeconds);
  return noteIfSlow(results, `Waiting up to ${timeoutSeconds} s for the result. Press Ctrl-C to stop waiting.`);
}

async function resultsOf(
  { client, signal }: Session,
  deliveries: CliDeliveryFragment[],
  timeoutSeconds: number,
): Promise<ShownDelivery[]> {
  const [first] = deliveries;
  if (!first) return [];
  const since = deliveries.map(({ createdAt }) => createdAt).sort()[0]!;
  const waiting = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
  const results = new Map<string, ShownDelivery>();
  const deadline = performance.now() + timeoutSeconds * 1000;

  for (let round = 0; waiting.size > 0; round += 1) {
    if (performance.now() > deadline) {
      const advice = 'Is a worker running? See tollgate_delivery_oldest_due_seconds at /metrics.';
      throw new Failure(
        'failed',
        `No result within ${timeoutSeconds} s for ${[...waiting.keys()].join(', ')}. ${advice}`,
      );
    }
    const pause = PAUSES_MILLISECONDS[Math.min(round, PAUSES_MILLISECONDS.length - 1)];
    await delay(pause, undefined, { signal });
    const variables = { projectId: first.projectId, filter: { since }, after: null };
    const { project } = await client.run(CliDeliveriesDocument, variables, signal);
    for (const delivery of foundProject(project, first.projectId).deliveries.nodes) {
      const handedOver = waiting.get(delivery.id);
      if (!handedOver || !hasResult(delivery, handedOver.attemptCount)) continue;
      waiting.delete(delivery.id);
      results.set(delivery.id, shownDelivery(delivery));
    }
  }
  return deliveries.map(({ id }) => results.get(id)!);
}

/** One line about a delivery: time, event type, ID, destination, and outcome. */
export function deliveryLine(delivery: ShownDelivery): string {
  const { id, eventType, webhookId, connectorId, updatedAt } = delivery;
  const destination = webhookId ?? connectorId ?? 'deleted destination';
  return `${clock(new Date(updatedAt))}  ${eventType.padEnd(24)}  ${id}  → ${destination}  ${outcomeOf(delivery)}`;
}

function outcomeOf(delivery: ShownDelivery): string {
  const { status, statusCode, responseTimeMs, errorClass, reason, attemptCount, nextAttemptAt } = delivery;
  const why = reason ?? errorClass;
  const words = [
    status,
    statusCode ?? undefined,
    responseTimeMs === null ? undefined : `${responseTimeMs} ms`,
    status === 'SUCCEEDED' || why === null ? undefined : why,
    attemptCount > 1 ? `attempt ${attemptCount}` : undefined,
    status === 'PENDING' && nextAttemptAt && attemptCount > 0
      ? `next attempt at ${clock(new Date(nextAttemptAt))}`
      : undefined,
  ];
  return words.filter((word) => word !== undefined).join('  ');
}
