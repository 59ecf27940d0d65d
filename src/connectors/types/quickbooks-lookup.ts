import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import type { Booking } from '../shared/booking.ts';
import { parseJson, valueAt } from '../shared/classify.ts';
import { type Config, query } from './quickbooks-config.ts';

/**
 * Before a receipt is created, our receipts for the day are looked up twice. The first lookup is by their number. It
 * also finds receipts whose date someone has changed. The second one is by date, because companies that don't use custom
 * transaction numbers (`CustomTxnNumbers`) replace our number, and the setting may have changed since. QuickBooks can't
 * filter by memo (https://developer.intuit.com/app/developer/qbo/docs/api/accounting/all-entities/salesreceipt), so the
 * memos are read.
 */
const BY_NUMBER = 'check';
const BY_DATE = 'dated';
/** The most that QuickBooks returns in one response. */
const PAGE_SIZE = 1000;
/** A day with more receipts than this is booked only if the company keeps our numbers. */
const MAX_PAGES = 2;
/** Enough for a page even if QuickBooks returns whole receipts. */
const MAX_PAGE_BYTES = 4_194_304;

export function findByNumber({ isDayTotal, number, dayNumber }: Booking, config: Config): ConnectorRequest {
  const filter = isDayTotal ? `DocNumber like '${dayNumber}%'` : `DocNumber in ('${number}', '${dayNumber}')`;
  return query(config, `select * from SalesReceipt where ${filter} maxresults 5`, BY_NUMBER);
}

/** @param start the position of the first receipt to return, starting at 1. */
export function findByDate({ date }: Booking, config: Config, start = 1): ConnectorRequest {
  const page = `orderby Id startposition ${start} maxresults ${PAGE_SIZE}`;
  const statement = `select Id, DocNumber, PrivateNote from SalesReceipt where TxnDate = '${date}' ${page}`;
  return { ...query(config, statement, `${BY_DATE}:${start}`), maxResponseBytes: MAX_PAGE_BYTES };
}

/** The position of the page after a full one. Undefined after the last page that is read. */
export function nextStart(start: number): number | undefined {
  const next = start + PAGE_SIZE;
  return next > MAX_PAGES * PAGE_SIZE ? undefined : next;
}

export type FoundReceipts = { ours: { number: string; reference: string }[]; isPageFull: boolean };

/** Our receipts in the response to a lookup. Undefined if the response can't be read, for example, because it is too long. */
export function receiptsIn(response: ConnectorResponse, booking: Booking): FoundReceipts | undefined {
  const result = valueAt(parseJson(response.body), 'QueryResponse');
  if (typeof result !== 'object' || result === null) return undefined;
  const found = valueAt(result, 'SalesReceipt');
  const receipts = Array.isArray(found) ? found : [];
  const ours = receipts.flatMap((receipt) => {
    const reference = String(valueAt(receipt, 'PrivateNote') ?? '');
    const number = ownNumber(valueAt(receipt, 'DocNumber'), reference, booking);
    return number === undefined ? [] : { number, reference };
  });
  return { ours, isPageFull: receipts.length >= PAGE_SIZE };
}

/** The number that we gave a receipt, even if QuickBooks replaced it. Undefined if the receipt isn't ours. */
function ownNumber(docNumber: unknown, memo: string, { number, dayNumber, reference }: Booking): string | undefined {
  const isOurs = (text: unknown): text is string =>
    typeof text === 'string' && (text === dayNumber || text.startsWith(`${dayNumber}-`));
  if (isOurs(docNumber)) return docNumber;
  const [first] = memo.split(/\s/, 1);
  if (isOurs(first)) return first;
  // Earlier versions wrote only the event's ID, and so can people who book an event themselves.
  return memo.includes(reference) ? number : undefined;
}
