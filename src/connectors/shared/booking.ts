import { createHash } from 'node:crypto';
import type { EventType } from '../../events/types.ts';
import { formatUsd, parseUsd } from '../../money.ts';
import type { ConnectorEvent, Outcome } from '../definition.ts';
import { reason, vendorText } from './classify.ts';
import { counted, oneLine, shorten } from './plain-text.ts';

/** The booking that an accounting connector makes for one event. */
export type Booking = {
  /** Day in the project's time zone at the time of the event, YYYY-MM-DD. */
  date: string;
  /** When the day ends, or the earliest time when it can end if its time zone isn't known. It has no total until then. */
  dayEndsAt: Date;
  /** US dollars, rounded to cents. */
  amountUsd: number;
  description: string;
  /** The event ID, which marks an entry as ours. */
  reference: string;
  /**
   * The document's number, which has at most 21 characters (the limit in QuickBooks). It is derived from the project
   * and the day or payment, not from the connector, so a second connector or a replay gets the same number.
   */
  number: string;
  /**
   * The number of the document with the day's total. Once that document is booked, the day's individual payments must
   * not be booked.
   */
  dayNumber: string;
  isDayTotal: boolean;
};

const MAX_DESCRIPTION_LENGTH = 400;
const HOUR_MILLISECONDS = 3_600_000;
/** How long after the start of the UTC day the same day ends, first in UTC+14. */
const EARLIEST_END_HOURS = 10;

/** A daily summary includes the day's payments, so individual payments are booked only if summaries aren't selected. */
export function isBooked(eventType: EventType, selected: ReadonlySet<EventType>): boolean {
  return (
    eventType === 'revenue.daily_summary' || (eventType === 'payment.settled' && !selected.has('revenue.daily_summary'))
  );
}

/** What to book for an event, or the reason why nothing is booked. */
export function bookingOf(event: ConnectorEvent): Booking | { skip: string } {
  if (event.test) return { skip: "Test events aren't booked. Use the connection test to check access." };
  if (event.type === 'revenue.daily_summary') {
    const { date, timeZone = 'UTC', totalUsd, paymentCount, customerCount } = event.data;
    const counts = `${counted(paymentCount, 'payment')} from ${counted(customerCount, 'customer')}`;
    const dayHours = timeZone === 'UTC' ? 24 : EARLIEST_END_HOURS;
    return booking(event, {
      date,
      dayHours,
      totalUsd,
      description: `Revenue for ${date} (${timeZone}): ${counts}, ${totalUsd} USD`,
    });
  }
  if (event.type === 'payment.settled') {
    const { amountUsd, endpointPath, transactionHash, paymentId, bookingDate } = event.data;
    const description = `Payment of ${amountUsd} USD for ${endpointPath}, transaction ${transactionHash}`;
    const date = bookingDate ?? new Date(event.timestamp).toISOString().slice(0, 10);
    const dayHours = bookingDate === undefined ? 24 : EARLIEST_END_HOURS;
    return booking(event, { date, dayHours, totalUsd: amountUsd, description, paymentId });
  }
  return { skip: 'Only settled payments and daily summaries are booked.' };
}

/**
 * The outcome if documents already in the books rule out this booking, or undefined if they don't. Nothing is booked
 * twice, even by a replay, by a second connector, or for a day with payments that were booked individually before daily
 * summaries were selected.
 */
export function judgeBooked(
  booking: Booking,
  documents: readonly { number: unknown; reference: unknown }[],
): Outcome | undefined {
  const { date, number, dayNumber, reference, isDayTotal } = booking;
  const own = documents.find((document) => document.number === number);
  if (own && String(own.reference).includes(reference))
    return { kind: 'delivered', note: `${number} is already booked.` };
  if (own) return numberTaken(booking);
  if (documents.some((document) => document.number === dayNumber)) {
    return { kind: 'delivered', note: `Already included in the daily total ${dayNumber}.` };
  }
  if (!isDayTotal || documents.length === 0) return undefined;
  return {
    kind: 'drop',
    reason: `Book the rest of ${date} manually. Its total of ${amountOf(booking)} isn't booked, because some of its payments are already booked individually.`,
  };
}

/** The outcome if a document that isn't ours has the number. */
export function numberTaken(booking: Booking): Outcome {
  const text = `Renumber or delete the other document with this number, then resend this delivery: ${missing(booking)}.`;
  return { kind: 'hold', reason: reason(text) };
}

/**
 * The outcome if the vendor doesn't accept this document as it is, but accepts those of other days. Reasons are cut off
 * at the end, so what to do comes first, and the vendor's message last.
 *
 * @param instruction what to do before the document can be booked, without a period.
 */
export function heldBooking(booking: Booking, instruction: string, from: VendorMessage): Outcome {
  return {
    kind: 'hold',
    reason: reason(`${instruction}, then resend this delivery: ${missing(booking)}. ${quote(from)}`),
  };
}

/** The outcome if the vendor rejects a document for a reason that we don't know. */
export function rejectedBooking(booking: Booking, from: VendorMessage): Outcome {
  const text = `Fix this in ${from.vendor}, then resend this delivery: ${missing(booking)}. ${quote(from)}`;
  return { kind: 'drop', reason: reason(text) };
}

/** What the vendor said. The `secrets` are masked. */
export type VendorMessage = { vendor: string; message: unknown; secrets: readonly string[] };

function quote({ vendor, message, secrets }: VendorMessage): string {
  return `${vendor} returned: ${vendorText(message, secrets) || 'no reason'}`;
}

/** An amount as shown in reasons: `12.30 USD`. */
function amountOf({ amountUsd }: Booking): string {
  return `${amountUsd.toFixed(2)} USD`;
}

function missing(booking: Booking): string {
  return `${amountOf(booking)} for ${booking.date} (${booking.number}) isn't booked`;
}

function booking(
  event: ConnectorEvent,
  facts: { date: string; dayHours: number; totalUsd: string; description: string; paymentId?: string },
): Booking | { skip: string } {
  const cents = ((parseUsd(facts.totalUsd) ?? 0n) + 5_000n) / 10_000n;
  if (cents === 0n) return { skip: `Nothing to book: ${facts.totalUsd} USD rounds to 0.00.` };
  const dayNumber = `X402${facts.date.slice(2).replaceAll('-', '')}${digest(event.projectId, 3)}`;
  return {
    date: facts.date,
    dayEndsAt: new Date(Date.parse(facts.date) + facts.dayHours * HOUR_MILLISECONDS),
    amountUsd: Number(formatUsd(cents * 10_000n)),
    description: shorten(oneLine(facts.description), MAX_DESCRIPTION_LENGTH),
    reference: event.id,
    number: facts.paymentId === undefined ? dayNumber : `${dayNumber}-${digest(facts.paymentId, 7)}`,
    dayNumber,
    isDayTotal: facts.paymentId === undefined,
  };
}

/** A hash of `text` as `length` uppercase letters and digits. */
function digest(text: string, length: number): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return BigInt(`0x${hex}`).toString(36).toUpperCase().padStart(50, '0').slice(-length);
}
