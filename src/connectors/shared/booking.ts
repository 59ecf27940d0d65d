import { createHash } from 'node:crypto';
import type { EventKind } from '../../events/kinds.ts';
import { formatUsd, parseUsd } from '../../money.ts';
import type { ConnectorEvent, Outcome } from '../definition.ts';
import { counted, oneLine, shorten } from './plain-text.ts';

/** The booking that an accounting connector makes for one event. */
export type Booking = {
  /** UTC day, YYYY-MM-DD. */
  date: string;
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

/** A daily summary includes the day's payments, so individual payments are booked only if summaries aren't selected. */
export function booksKind(kind: EventKind, selected: ReadonlySet<EventKind>): boolean {
  return kind === 'revenue.daily_summary' || (kind === 'payment.settled' && !selected.has('revenue.daily_summary'));
}

/** What to book for an event, or the reason why nothing is booked. */
export function bookingOf(event: ConnectorEvent): Booking | { skip: string } {
  if (event.test) return { skip: "Test events aren't booked. Use the connection test to check access." };
  if (event.type === 'revenue.daily_summary') {
    const { date, totalUsd, paymentCount, customerCount } = event.data;
    const counts = `${counted(paymentCount, 'payment')} from ${counted(customerCount, 'customer')}`;
    return booking(event, { date, totalUsd, description: `Revenue for ${date} (UTC): ${counts}, ${totalUsd} USD` });
  }
  if (event.type === 'payment.settled') {
    const { amountUsd, endpointPath, transactionHash, paymentId } = event.data;
    const description = `Payment of ${amountUsd} USD for ${endpointPath}, transaction ${transactionHash}`;
    const date = new Date(event.timestamp).toISOString().slice(0, 10);
    return booking(event, { date, totalUsd: amountUsd, description, paymentId });
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
  const { date, number, dayNumber, reference } = booking;
  const own = documents.find((document) => document.number === number);
  if (own && String(own.reference).includes(reference))
    return { kind: 'delivered', note: `${number} is already booked.` };
  if (own) return { kind: 'drop', reason: `Not booked: another document already has the number ${number}.` };
  if (documents.some((document) => document.number === dayNumber)) {
    return { kind: 'delivered', note: `Already included in the daily total ${dayNumber}.` };
  }
  if (documents.length === 0) return undefined;
  return {
    kind: 'drop',
    reason: `Not booked: some payments from ${date} are already booked individually. Book the rest of that day manually.`,
  };
}

function booking(
  event: ConnectorEvent,
  facts: { date: string; totalUsd: string; description: string; paymentId?: string },
): Booking | { skip: string } {
  const cents = ((parseUsd(facts.totalUsd) ?? 0n) + 5_000n) / 10_000n;
  if (cents === 0n) return { skip: `Nothing to book: ${facts.totalUsd} USD rounds to 0.00.` };
  const dayNumber = `X402${facts.date.slice(2).replaceAll('-', '')}${digest(event.projectId, 3)}`;
  return {
    date: facts.date,
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
