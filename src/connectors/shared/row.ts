import type { EventPayload } from '../../events/types.ts';
import type { ConnectorEvent } from '../definition.ts';

/**
 * An event as a table row. The keys are the names of the columns that sellers create (see docs/connectors), so every
 * data connector uses the same names.
 */
export type EventRow = {
  event_id: string;
  /** The event type, prefixed with `test.` for test events, so that sums by type exclude them. */
  kind: string;
  /** ISO 8601 UTC. For a daily summary, the end of its day, so that the row goes into that day's partition. */
  occurred_at: string;
  payment_id: string | null;
  endpoint_id: string | null;
  /** The payer's address in lowercase, because databases compare text byte by byte. */
  customer: string | null;
  /**
   * Set only for `payment.*`. A payment has one row for `verified` and one for `settled`, so sums must filter on one
   * type.
   */
  amount_usd: string | null;
  amount_atomic: string | null;
  currency: string | null;
  network: string | null;
  tx_hash: string | null;
  /** The event's whole payload. */
  payload: Record<string, unknown>;
};

/** Maps an event to its row. Repeated deliveries write the same row. */
export function eventRow(event: ConnectorEvent): EventRow {
  const data: Record<string, unknown> = storable(event.data);
  const isMoney = event.type.startsWith('payment.') && !event.test;
  return {
    event_id: event.id,
    kind: event.test ? `test.${event.type}` : event.type,
    occurred_at: event.type === 'revenue.daily_summary' ? endOfDay(event.data) : event.timestamp,
    payment_id: textOf(data.paymentId),
    endpoint_id: textOf(data.endpointId),
    customer: textOf(data.payer)?.toLowerCase() ?? null,
    amount_usd: isMoney ? textOf(data.amountUsd) : null,
    amount_atomic: isMoney ? textOf(data.amountAtomic) : null,
    currency: isMoney ? 'USD' : null,
    network: textOf(data.network),
    tx_hash: textOf(data.transactionHash),
    payload: event.test ? { test: true, ...data } : data,
  };
}

/**
 * The payload as JSON of at most `maxLength` characters. If it is longer, its longest strings are truncated, so the
 * result is still valid JSON and can be queried.
 */
export function payloadJson(payload: Record<string, unknown>, maxLength = Number.POSITIVE_INFINITY): string {
  for (const textLength of [Number.POSITIVE_INFINITY, 1000, 200, 40]) {
    const json = JSON.stringify(payload, (_key, value) =>
      typeof value === 'string' && value.length > textLength ? `${value.slice(0, textLength).toWellFormed()}…` : value,
    );
    if (json.length <= maxLength) return json;
  }
  return '{"truncated":true}';
}

/** The last millisecond of a summary's day. Events from earlier versions, whose days are in UTC, have only its date. */
function endOfDay({ date, to }: EventPayload<'revenue.daily_summary'>): string {
  return to === undefined ? `${date}T23:59:59.999Z` : new Date(Date.parse(to) - 1).toISOString();
}

// PostgreSQL rejects NUL characters and lone surrogates, and one row with them would block a whole batch.
function storable<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('\0', '').toWellFormed() as T;
  if (Array.isArray(value)) return value.map(storable) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, storable(member)])) as T;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
