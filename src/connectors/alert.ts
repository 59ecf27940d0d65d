import type { EventKind } from '../features/events/kinds.ts';
import type { BuildContext, ConnectorEvent, ConnectorMemory } from './definition.ts';
import { describeEvent } from './message.ts';
import { oneLine, shorten } from './plain-text.ts';

/**
 * What on-call tools share: one alert an endpoint, opened by a failed payment and closed by the next settled one. Keyed
 * by the event instead, every failed request would wake somebody up.
 */
export type PaymentEvent = Extract<ConnectorEvent, { type: 'payment.failed' | 'payment.settled' }>;

/** Failed payments open alerts. A settled one closes them, so without those it would never have anything to do. */
export function carriesAlert(kind: EventKind, selected: ReadonlySet<EventKind>): boolean {
  return kind === 'payment.failed' || (kind === 'payment.settled' && selected.has('payment.failed'));
}

/** The vendor's de-duplication key of the endpoint's alert. */
export function alertKey(event: PaymentEvent): string {
  return `tollgate:${event.data.endpointId}:payment_failed`;
}

/** The key of the alert that a test event opens and closes again. */
export function testAlertKey(connectorId: string): string {
  return `tollgate:test:${connectorId}`;
}

/**
 * What to remember once the vendor took the event: an open alert by the time of the newest failure it stands for; the
 * empty text, which means forget, once it is closed.
 */
export function alertMemory(event: ConnectorEvent | undefined, memory: ConnectorMemory): Record<string, string> {
  if (!event || event.test) return {};
  if (event.type === 'payment.settled') return { [memoryKey(event)]: '' };
  if (event.type !== 'payment.failed') return {};
  const [, newest = ''] = [memory[memoryKey(event)] ?? '', event.timestamp].sort();
  return { [memoryKey(event)]: newest };
}

/**
 * Why a settled payment must not close the endpoint's alert, if so. Only alerts this connector opened are closed: the
 * key may be in use elsewhere too. Events may be delivered out of order, and what settled before the failure says nothing.
 */
export function whyNotClose(event: PaymentEvent, memory: ConnectorMemory): string | undefined {
  const failedAt = memory[memoryKey(event)];
  if (!failedAt) return 'No alert is open for this endpoint.';
  if (event.timestamp < failedAt) return 'The payment settled before the failure the open alert is about.';
  return undefined;
}

/** One line that says what happened and at which endpoint, at most `maxLength` UTF-16 units. */
export function alertSummary(event: ConnectorEvent, context: BuildContext, maxLength: number): string {
  const { title } = describeEvent(event, context);
  const path = 'endpointPath' in event.data ? ` (${oneLine(event.data.endpointPath)})` : '';
  return shorten(title + path, maxLength);
}

/** The facts of the event and its ids under fixed names, values as text of at most 200 UTF-16 units. */
export function alertDetails(event: ConnectorEvent, context: BuildContext): Record<string, string> {
  const { facts } = describeEvent(event, context);
  return {
    ...Object.fromEntries(facts.map(({ label, value }) => [label, value])),
    ...('paymentId' in event.data && { Payment: event.data.paymentId }),
    Event: event.id,
  };
}

function memoryKey(event: PaymentEvent): string {
  return `open:${event.data.endpointId}`;
}
