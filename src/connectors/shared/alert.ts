import type { EventType } from '../../events/types.ts';
import type { BuildContext, ConnectorEvent, ConnectorMemory, HistoryQuestion } from '../definition.ts';
import { textField } from '../fields.ts';
import { describeEvent } from './message.ts';
import { oneLine, shorten } from './plain-text.ts';

/**
 * Code shared by the connectors for on-call tools: one alert per endpoint, opened by failures that the seller or this
 * service must fix, and closed by the next settled payment. With one alert per event, every failed request would wake
 * someone up.
 */
export type PaymentEvent = Extract<ConnectorEvent, { type: 'payment.failed' | 'payment.settled' }>;

type What = 'alert' | 'issue';
type FailedEvent = Extract<ConnectorEvent, { type: 'payment.failed' }>;

/** By default, this many upstream failures within this many minutes open an alert. */
const UPSTREAM_FAILURE_COUNT = 5;
const UPSTREAM_FAILURE_MINUTES = 5;
/** How many alerts to remember. A project can have 1,000 endpoints, and each has at most an open and a closed one. */
const MAX_REMEMBERED = 2_000;
const REMEMBERED = /^(?:open|closed):/;

/** Failure reasons that are always the upstream's fault, regardless of what the buyer sent. */
export const UPSTREAM_FAULTS: readonly string[] = [
  'upstream_timeout',
  'upstream_unreachable',
  'upstream_redirect',
  'upstream_response_invalid',
  'upstream_response_too_large',
  'interrupted',
];

/** The config fields that determine when an alert opens. `what` is what the vendor calls an alert. */
export const alertFields = (what: What) => ({
  upstreamFailureCount: textField({
    title: `Upstream failures before an ${what}`,
    description: `An ${what} opens after this many 5xx responses and timeouts from an endpoint's upstream. Default: ${UPSTREAM_FAILURE_COUNT}.`,
    example: String(UPSTREAM_FAILURE_COUNT),
    pattern: /^[1-9]\d{0,2}$/,
    hint: 'Must be a whole number from 1 to 999.',
  }).optional(),
  upstreamFailureMinutes: textField({
    title: 'Time window (minutes)',
    description: `An ${what} opens only if the failures happen within this many minutes. Default: ${UPSTREAM_FAILURE_MINUTES}.`,
    example: String(UPSTREAM_FAILURE_MINUTES),
    pattern: /^(?:[1-9]|[1-5]\d|60)$/,
    hint: 'Must be a whole number from 1 to 60.',
  }).optional(),
});

type AlertSettings = { upstreamFailureCount?: string | undefined; upstreamFailureMinutes?: string | undefined };

/**
 * Failed payments open alerts, and settled payments close them. Without failed payments, there would be nothing to
 * close.
 */
export function supportsAlertEvent(eventType: EventType, selected: ReadonlySet<EventType>): boolean {
  return eventType === 'payment.failed' || (eventType === 'payment.settled' && selected.has('payment.failed'));
}

/** What to look up for an event: whether a failed payment opens an alert depends on the endpoint's other payments. */
export function alertLookBack(event: ConnectorEvent, settings: AlertSettings): HistoryQuestion | undefined {
  if (event.test || event.type !== 'payment.failed' || !faultOf(event)) return undefined;
  return { endpointId: event.data.endpointId, minutes: minutesOf(settings) };
}

/**
 * What to do about a failed payment: skip it with a reason, open the alert, or close the alert. `open` has the entries to
 * announce.
 */
export type AlertStep = { skip: string } | { open: Record<string, string> } | 'close';

/**
 * Decides whether a failed payment opens the endpoint's alert. An alert is announced to all processes before it is
 * sent, so that a payment that settles in the meantime closes it. No matter which request reaches the vendor first, the
 * last one closes the alert.
 */
export function alertStep(event: FailedEvent, settings: AlertSettings, context: BuildContext): AlertStep {
  const { memory, history, attemptNumber, previousAttemptAmbiguous } = context;
  const skip = whyNoAlert(event, settings, context);
  // An earlier attempt may have opened the alert, even if its outcome is unknown.
  const mayBeOpen = attemptNumber > 1 || previousAttemptAmbiguous;
  if (skip) return mayBeOpen && faultOf(event) && history?.settledAt ? 'close' : { skip };
  const openedBy = memory[memoryKey(event)];
  // If there is no room, the alert is opened without an announcement, because alerts could keep replacing each other's.
  if (openedBy === undefined && remembered(memory).length >= MAX_REMEMBERED) return { open: {} };
  return { open: { [memoryKey(event)]: (openedBy ?? '') > event.timestamp ? openedBy! : event.timestamp } };
}

/** Why a failed payment doesn't open an alert, or undefined if it does. */
export function whyNoAlert(
  event: FailedEvent,
  settings: AlertSettings,
  { memory, history }: Pick<BuildContext, 'memory' | 'history'>,
  what: What = 'alert',
): string | undefined {
  const fault = faultOf(event);
  if (!fault) return `No ${what} was opened: the buyer caused this failure.`;
  if (history?.settledAt) return `No ${what} was opened: a later payment at this endpoint settled.`;
  if (fault === 'settlement' || memory[memoryKey(event)]) return undefined;
  const wanted = Number(settings.upstreamFailureCount ?? UPSTREAM_FAILURE_COUNT);
  const closedAt = memory[closedKey(event)] ?? '';
  const faults = (history?.upstreamFaults ?? [event.timestamp]).filter((timestamp) => timestamp > closedAt);
  const count = mostAround(event.timestamp, faults, minutesOf(settings));
  if (count >= wanted) return undefined;
  return `No ${what} is open yet: ${count} of ${wanted} upstream failures within ${minutesOf(settings)} min.`;
}

/**
 * The cause of the failure: the seller's upstream (whose failures are counted) or settlement. Undefined if the buyer
 * caused it.
 */
function faultOf({ data }: FailedEvent): 'upstream' | 'settlement' | undefined {
  const { stage, reason, upstreamStatusCode = 0 } = data;
  if (stage === 'settle' || reason.startsWith('facilitator_')) return 'settlement';
  return UPSTREAM_FAULTS.includes(reason) || (stage === 'upstream' && upstreamStatusCode >= 500)
    ? 'upstream'
    : undefined;
}

/** The largest number of these times, including `at`, that fall within one window of `minutes`. */
function mostAround(at: string, timestamps: readonly string[], minutes: number): number {
  const times = timestamps.map((timestamp) => Date.parse(timestamp));
  const own = Date.parse(at);
  const length = minutes * 60_000;
  const starts = times.filter((time) => time <= own && own - time <= length);
  return Math.max(0, ...starts.map((start) => times.filter((time) => time >= start && time - start <= length).length));
}

function minutesOf({ upstreamFailureMinutes }: AlertSettings): number {
  return Number(upstreamFailureMinutes ?? UPSTREAM_FAILURE_MINUTES);
}

/** The vendor's deduplication key for the endpoint's alert. */
export function alertKey(event: PaymentEvent): string {
  return `tollgate:${event.data.endpointId}:payment_failed`;
}

/** The key of the alert that a test event opens and then closes. */
export function testAlertKey(connectorId: string): string {
  return `tollgate:test:${connectorId}`;
}

/**
 * What to remember once the vendor has accepted the event. For an open alert, this is the time of its latest failure.
 * For a closed alert, it is an empty string, which means "forget", plus the time when the alert was closed, because
 * earlier failures don't open another alert.
 *
 * @param closedAt when the payment that closed the alert settled.
 */
export function alertMemory(
  event: ConnectorEvent | undefined,
  memory: ConnectorMemory,
  closedAt?: string | null,
): Record<string, string> {
  if (!event || event.test) return {};
  if (event.type === 'payment.settled') return makingRoom(memory, event, event.timestamp);
  if (event.type !== 'payment.failed') return {};
  return makingRoom(memory, event, closedAt);
}

/**
 * The entries for an alert, and the oldest ones to forget if there are too many. Otherwise, the memory would keep growing
 * with endpoints that were deleted, and it is read with every delivery and written with every alert.
 */
function makingRoom(memory: ConnectorMemory, event: PaymentEvent, closedAt?: string | null): Record<string, string> {
  const own = [memoryKey(event), closedKey(event)];
  const [, newest = ''] = [memory[memoryKey(event)] ?? '', event.timestamp].sort();
  const entries = closedAt ? { [memoryKey(event)]: '', [closedKey(event)]: closedAt } : { [memoryKey(event)]: newest };
  const others = remembered(memory).filter((name) => !own.includes(name));
  const excess = others.length + own.length - MAX_REMEMBERED;
  if (excess <= 0) return entries;
  others.sort((a, b) => (memory[a]! < memory[b]! ? -1 : 1));
  return { ...entries, ...Object.fromEntries(others.slice(0, excess).map((name) => [name, ''])) };
}

function remembered(memory: ConnectorMemory): string[] {
  return Object.keys(memory).filter((name) => REMEMBERED.test(name));
}

/**
 * Why a settled payment can't close the endpoint's alert, or undefined if it can. Only alerts that this
 * connector opened are closed, because the key may be in use elsewhere. Events can arrive out of order, and a payment
 * that settled before the failure doesn't show that the problem is solved.
 */
export function whyNotClose(event: PaymentEvent, memory: ConnectorMemory): string | undefined {
  const failedAt = memory[memoryKey(event)];
  if (!failedAt) return 'No alert is open for this endpoint.';
  if (event.timestamp < failedAt) return 'The payment settled before the failure that opened the alert.';
  return undefined;
}

/** One line of at most `maxLength` UTF-16 units that says what happened at which endpoint. */
export function alertSummary(event: ConnectorEvent, context: BuildContext, maxLength: number): string {
  const { title } = describeEvent(event, context);
  const path = 'endpointPath' in event.data ? ` (${oneLine(event.data.endpointPath)})` : '';
  return shorten(title + path, maxLength);
}

/** The event's details and IDs under fixed names. Values are at most 200 UTF-16 units long. */
export function alertDetails(event: ConnectorEvent, context: BuildContext): Record<string, string> {
  const { facts } = describeEvent(event, context);
  return {
    ...Object.fromEntries(facts.map(({ label, value }) => [label, value])),
    ...('paymentId' in event.data && { Payment: event.data.paymentId }),
    Event: event.id,
  };
}

function closedKey(event: PaymentEvent): string {
  return `closed:${event.data.endpointId}`;
}

function memoryKey(event: PaymentEvent): string {
  return `open:${event.data.endpointId}`;
}
