import type { EventKind } from '../../events/kinds.ts';
import type { BuildContext, ConnectorEvent, ConnectorMemory, HistoryQuestion } from '../definition.ts';
import { textField } from '../fields.ts';
import { describeEvent } from './message.ts';
import { oneLine, shorten } from './plain-text.ts';

/**
 * What on-call tools share: one alert an endpoint, opened by failures that the seller or this service has to mend and closed
 * by the next settled payment. Keyed by the event instead, every failed request would wake somebody up.
 */
export type PaymentEvent = Extract<ConnectorEvent, { type: 'payment.failed' | 'payment.settled' }>;

type FailedEvent = Extract<ConnectorEvent, { type: 'payment.failed' }>;

/** An upstream that fails so often within so many minutes opens an alert, unless the config says otherwise. */
const UPSTREAM_FAILURE_COUNT = 5;
const UPSTREAM_FAILURE_MINUTES = 5;

/** Reasons by which an upstream gives no answer that can be passed on, whatever the buyer has sent. */
export const UPSTREAM_FAULTS: readonly string[] = [
  'upstream_timeout',
  'upstream_unreachable',
  'upstream_redirect',
  'upstream_answer_invalid',
  'upstream_answer_too_large',
  'interrupted',
];

/** The settings of when an alert is opened, for the config of a type. */
export const alertFields = {
  upstreamFailureCount: textField({
    title: 'Upstream failures',
    description: `How many 5xx answers and timeouts of an endpoint's upstream open an alert. Default ${UPSTREAM_FAILURE_COUNT}.`,
    example: String(UPSTREAM_FAILURE_COUNT),
    pattern: /^[1-9]\d{0,2}$/,
    hint: 'Must be a whole number from 1 to 999.',
  }).optional(),
  upstreamFailureMinutes: textField({
    title: 'Within minutes',
    description: `Within how many minutes they must come. Default ${UPSTREAM_FAILURE_MINUTES}.`,
    example: String(UPSTREAM_FAILURE_MINUTES),
    pattern: /^(?:[1-9]|[1-5]\d|60)$/,
    hint: 'Must be a whole number from 1 to 60.',
  }).optional(),
};

type AlertSettings = { upstreamFailureCount?: string | undefined; upstreamFailureMinutes?: string | undefined };

/** Failed payments open alerts. A settled one closes them, so without those it would never have anything to do. */
export function carriesAlert(kind: EventKind, selected: ReadonlySet<EventKind>): boolean {
  return kind === 'payment.failed' || (kind === 'payment.settled' && selected.has('payment.failed'));
}

/** A failed payment is judged by the others of its endpoint. */
export function alertLookBack(event: ConnectorEvent, settings: AlertSettings): HistoryQuestion | undefined {
  if (event.test || event.type !== 'payment.failed' || !faultOf(event)) return undefined;
  return { endpointId: event.data.endpointId, minutes: minutesOf(settings) };
}

/** What a failed payment asks for: nothing, with the reason; the alert; or that it be closed again. */
export type AlertStep = { skip: string } | { open: Record<string, string> } | 'close';

/**
 * Whether a failed payment opens the endpoint's alert. That it does is announced before it is sent: a payment that settles
 * while it is under way then finds an alert to close, and whichever of the two comes last at the vendor closes it.
 */
export function alertStep(event: FailedEvent, settings: AlertSettings, context: BuildContext): AlertStep {
  const { memory, history, attemptNumber } = context;
  const fault = faultOf(event);
  if (!fault) return { skip: 'The buyer caused this failure, so no alert is opened.' };
  if (history?.settledAt) {
    // An earlier try may have opened it without an answer.
    return attemptNumber > 1 ? 'close' : { skip: 'A payment has settled at this endpoint since.' };
  }
  const openedBy = memory[memoryKey(event)] ?? '';
  if (fault === 'upstream' && !openedBy) {
    const wanted = Number(settings.upstreamFailureCount ?? UPSTREAM_FAILURE_COUNT);
    const closedAt = memory[closedKey(event)] ?? '';
    const faults = (history?.upstreamFaults ?? [event.timestamp]).filter((timestamp) => timestamp > closedAt);
    const count = mostAround(event.timestamp, faults, minutesOf(settings));
    if (count < wanted) {
      return { skip: `${count} of ${wanted} upstream failures within ${minutesOf(settings)} min: no alert yet.` };
    }
  }
  return { open: { [memoryKey(event)]: openedBy > event.timestamp ? openedBy : event.timestamp } };
}

/** Failures of the seller's upstream are counted, those of settling are not. The rest is the buyer's or the payer's. */
function faultOf({ data }: FailedEvent): 'upstream' | 'settlement' | undefined {
  const { stage, reason, upstreamStatusCode = 0 } = data;
  if (stage === 'settle' || reason.startsWith('facilitator_')) return 'settlement';
  return UPSTREAM_FAULTS.includes(reason) || (stage === 'upstream' && upstreamStatusCode >= 500)
    ? 'upstream'
    : undefined;
}

/** The most of these times that lie within so many minutes of each other, `at` among them. */
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
 * empty text, which means forget, once it is closed, and when that was, since failures before it open no other one.
 *
 * @param closedAt when the payment settled that closed it.
 */
export function alertMemory(
  event: ConnectorEvent | undefined,
  memory: ConnectorMemory,
  closedAt?: string | null,
): Record<string, string> {
  if (!event || event.test) return {};
  if (event.type === 'payment.settled') return { [memoryKey(event)]: '', [closedKey(event)]: event.timestamp };
  if (event.type !== 'payment.failed') return {};
  if (closedAt) return { [memoryKey(event)]: '', [closedKey(event)]: closedAt };
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

function closedKey(event: PaymentEvent): string {
  return `closed:${event.data.endpointId}`;
}

function memoryKey(event: PaymentEvent): string {
  return `open:${event.data.endpointId}`;
}
