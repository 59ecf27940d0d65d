import { createHash } from 'node:crypto';
import type { EventKind } from '../../events/kinds.ts';
import { formatUsd, parseUsd } from '../../money.ts';
import type { ConnectorEvent, Outcome } from '../definition.ts';
import { oneLine, shorten } from './plain-text.ts';

/** What an accounting type books for one event. */
export type Booking = {
  /** UTC day, YYYY-MM-DD. */
  date: string;
  /** US dollars and whole cents. */
  amountUsd: number;
  description: string;
  /** The event id, by which a booking is recognised as ours. */
  reference: string;
  /**
   * The document's number, at most 21 characters (the limit of QuickBooks). It comes from the project and the day or
   * payment, not from the connector, so that a second connector or a replay makes the same number again.
   */
  number: string;
  /** The number of the day's total: while it stands in the books, a payment of that day must not be booked. */
  dayNumber: string;
  isDayTotal: boolean;
};

const MAX_DESCRIPTION_LENGTH = 400;

/** A daily summary totals the payments of its day, so a payment is booked by itself only where no summary is. */
export function booksKind(kind: EventKind, selected: ReadonlySet<EventKind>): boolean {
  return kind === 'revenue.daily_summary' || (kind === 'payment.settled' && !selected.has('revenue.daily_summary'));
}

/** The booking of an event, or why there is none. */
export function bookingOf(event: ConnectorEvent): Booking | { skip: string } {
  if (event.test) return { skip: 'A test event books nothing. The connection test checks the access instead.' };
  if (event.type === 'revenue.daily_summary') {
    const { date, totalUsd, paymentCount, customerCount } = event.data;
    const counts = `${paymentCount} payments by ${customerCount} customers`;
    return booking(event, { date, totalUsd, description: `Revenue of ${date} (UTC): ${counts}, ${totalUsd} USD` });
  }
  if (event.type === 'payment.settled') {
    const { amountUsd, endpointPath, transactionHash, paymentId } = event.data;
    const description = `Payment of ${amountUsd} USD for ${endpointPath}, transaction ${transactionHash}`;
    const date = new Date(event.timestamp).toISOString().slice(0, 10);
    return booking(event, { date, totalUsd: amountUsd, description, paymentId });
  }
  return { skip: 'Only settled payments and daily totals are booked.' };
}

/**
 * What the documents of ours that stand in the books mean for a booking; undefined when it may be made. Nothing is
 * booked twice: not by a replay, not by a second connector, and not on a day whose payments were booked one by one
 * before daily totals were selected.
 */
export function judgeBooked(
  booking: Booking,
  documents: readonly { number: unknown; reference: unknown }[],
): Outcome | undefined {
  const { date, number, dayNumber, reference } = booking;
  const own = documents.find((document) => document.number === number);
  if (own && String(own.reference).includes(reference))
    return { kind: 'delivered', note: `${number} was booked already.` };
  if (own) return { kind: 'drop', reason: `Another document has the number ${number}. Nothing was booked.` };
  if (documents.some((document) => document.number === dayNumber)) {
    return { kind: 'delivered', note: `The payment is part of the total of its day, ${dayNumber}.` };
  }
  if (documents.length === 0) return undefined;
  return {
    kind: 'drop',
    reason: `Payments of ${date} are booked one by one already. Book the rest of the day by hand.`,
  };
}

function booking(
  event: ConnectorEvent,
  facts: { date: string; totalUsd: string; description: string; paymentId?: string },
): Booking | { skip: string } {
  const cents = ((parseUsd(facts.totalUsd) ?? 0n) + 5_000n) / 10_000n;
  if (cents === 0n) return { skip: `${facts.totalUsd} USD rounds to 0.00, so there is nothing to book.` };
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

/** So many upper-case letters and digits that stand for `text`. */
function digest(text: string, length: number): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return BigInt(`0x${hex}`).toString(36).toUpperCase().padStart(50, '0').slice(-length);
}
