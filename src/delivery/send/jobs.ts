import type { ConnectorDefinition } from '../../connectors/definition.ts';
import { type EventType, expandEventTypes } from '../../events/types.ts';
import type { SpanOptions } from '../../tracing/tracer.ts';
import type {
  ClaimedConnector,
  ClaimedDelivery,
  ClaimedWebhook,
  SendResult,
  Verdict,
} from '../model/claimed-delivery.ts';
import type { ConnectorGroup, createConnectorSender } from './send-connector.ts';
import type { createWebhookSender, SendControl } from './send-webhook.ts';

/**
 * Deliveries that share a request, and what to do with them: either record a verdict without sending them, or send
 * them. `definition` is the connector's type, if known.
 */
export type Job = { deliveries: readonly ClaimedDelivery[]; definition?: ConnectorDefinition } & (
  | { verdict: Verdict; send?: undefined }
  | { verdict?: undefined; send: (control: SendControl) => Promise<SendResult[]> }
);

export type JobOptions = {
  sendWebhook: ReturnType<typeof createWebhookSender>;
  sendToConnector: ReturnType<typeof createConnectorSender>;
  findConnector: (type: string) => ConnectorDefinition | undefined;
};

/** Plans what to do with claimed deliveries. A problem with one destination doesn't affect the others. */
export function planJobs(deliveries: readonly ClaimedDelivery[], options: JobOptions): Job[] {
  return [...Map.groupBy(deliveries, ({ destination }) => destination).values()].flatMap((group) => {
    try {
      const { connector } = group[0]!;
      return connector
        ? planConnector(group, connector, options)
        : group.map((delivery) => planWebhook(delivery, options));
    } catch (error) {
      return [{ deliveries: group, send: () => Promise.reject(error) }];
    }
  });
}

function planWebhook(delivery: ClaimedDelivery, { sendWebhook }: JobOptions): Job {
  const webhook = delivery.webhook!;
  if (!webhook.isActive) return { deliveries: [delivery], verdict: { kind: 'skip', reason: 'disabled' } };
  if (isHeld(delivery, webhook)) return { deliveries: [delivery], verdict: { kind: 'hold' } };
  return { deliveries: [delivery], send: async (control) => [await sendWebhook(delivery, webhook, control)] };
}

function planConnector(
  deliveries: ClaimedDelivery[],
  connector: ClaimedConnector,
  { findConnector, sendToConnector }: JobOptions,
): Job[] {
  const definition = findConnector(connector.type);
  if (!connector.isActive) return [{ deliveries, verdict: { kind: 'skip', reason: 'disabled' } }];
  if (!definition) return [{ deliveries, verdict: { kind: 'skip', reason: 'unknown_type' } }];

  const jobs: Job[] = [];
  const toSend: ClaimedDelivery[] = [];
  for (const delivery of deliveries) {
    if (isHeld(delivery, connector)) {
      jobs.push({ deliveries: [delivery], verdict: { kind: 'hold' } });
    } else if (!isSupported(definition, connector, delivery)) {
      jobs.push({ deliveries: [delivery], verdict: { kind: 'skip', reason: 'unsupported_event' } });
    } else toSend.push(delivery);
  }

  const secondsToWait = definition.batch ? secondsUntilWindow(toSend, definition.batch.windowSeconds) : 0;
  if (secondsToWait > 0) {
    return [...jobs, { deliveries: toSend, verdict: { kind: 'wait', afterSeconds: secondsToWait } }];
  }
  for (const group of chunks(toSend, definition.batch?.maxEvents ?? 1)) {
    jobs.push({
      deliveries: group,
      definition,
      send: (control) => sendToConnector(group, connector, definition, control),
    });
  }
  return jobs;
}

/** Test events are sent even during a pause, so that a seller can find out whether the destination works again. */
function isHeld({ event }: ClaimedDelivery, { isPaused }: ClaimedWebhook | ClaimedConnector): boolean {
  return isPaused && !event.test;
}

function isSupported(
  definition: ConnectorDefinition,
  connector: ClaimedConnector,
  { event }: ClaimedDelivery,
): boolean {
  return definition.supportsEvent(event.type as EventType, expandEventTypes(connector.eventTypes));
}

/**
 * Time is divided into windows, which are the same for all workers. Deliveries created within a window wait until it
 * ends and are then sent together. No delivery waits twice, and if one can't wait, the others are sent with it.
 *
 * @returns 0 when it is time to send.
 */
function secondsUntilWindow(deliveries: readonly ClaimedDelivery[], windowSeconds: number): number {
  const [first] = deliveries;
  if (!first) return 0;
  // Different connectors' windows end at different times.
  const now = first.databaseTime() / 1000 + offsetOf(first.destination);
  const windowOf = (seconds: number) => Math.floor(seconds / windowSeconds);
  const isTime = deliveries.some(
    ({ ageSeconds, attemptCount, trigger, event }) =>
      attemptCount > 0 || trigger === 'MANUAL' || event.test || windowOf(now - ageSeconds) < windowOf(now),
  );
  return isTime ? 0 : (windowOf(now) + 1) * windowSeconds - now;
}

function offsetOf(id: string): number {
  let hash = 0;
  for (let index = 0; index < id.length; index++) hash = (hash * 31 + id.charCodeAt(index)) % 86_400;
  return hash;
}

function chunks(deliveries: readonly ClaimedDelivery[], size: number): ConnectorGroup[] {
  const result: ConnectorGroup[] = [];
  for (let start = 0; start < deliveries.length; start += size) {
    result.push(deliveries.slice(start, start + size) as unknown as ConnectorGroup);
  }
  return result;
}

/** Continues the event's trace. A batch continues its first event's trace and links to the other events' traces. */
export function spanOf({ deliveries: [first, ...others] }: Job): SpanOptions {
  const { id, event, connector, traceContext, attemptCount } = first!;
  return {
    parent: traceContext,
    links: others.map((other) => other.traceContext),
    attributes: {
      'tollgate.delivery.id': id,
      'tollgate.delivery.attempt': attemptCount + 1,
      'tollgate.delivery.kind': connector?.type ?? 'webhook',
      'tollgate.event.id': event.id,
      'tollgate.event.type': event.type,
      'messaging.batch.message_count': 1 + others.length,
    },
  };
}
