import type { ConnectorEvent } from '../definition.ts';

/**
 * One event as a row of a table. The keys are the column names that sellers create (docs/connectors), so that every
 * data type stores the same event under the same names.
 */
export type EventRow = {
  event_id: string;
  /** The event kind; `test.` and the kind for a test event, so that no sum over a kind ever counts it. */
  kind: string;
  /** ISO 8601 UTC. A daily summary happened at the end of its day, so it falls into the partition it describes. */
  occurred_at: string;
  payment_id: string | null;
  endpoint_id: string | null;
  /** The payer's address in lower case: databases compare text by its bytes. */
  customer: string | null;
  /** Only for `payment.*`. One payment has a row as verified and as settled, so sums filter on one kind. */
  amount_usd: string | null;
  amount_atomic: string | null;
  currency: string | null;
  network: string | null;
  tx_hash: string | null;
  /** The whole payload of the event, whatever its kind. */
  payload: Record<string, unknown>;
};

/** Maps an event to its row. Depends on the event alone, so a repeated delivery writes the same row. */
export function eventRow(event: ConnectorEvent): EventRow {
  const data: Record<string, unknown> = storable(event.data);
  const isMoney = event.type.startsWith('payment.') && !event.test;
  return {
    event_id: event.id,
    kind: event.test ? `test.${event.type}` : event.type,
    occurred_at: event.type === 'revenue.daily_summary' ? `${event.data.date}T23:59:59.999Z` : event.timestamp,
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
 * The payload as JSON of at most `maxLength` characters. Longer ones lose the ends of their longest texts, never their
 * syntax: a column of cut-off JSON could not be queried.
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

// PostgreSQL takes neither NUL nor half a surrogate pair, and one such row would block a whole batch.
function storable<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('\0', '').toWellFormed() as T;
  if (Array.isArray(value)) return value.map(storable) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, storable(member)])) as T;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
