import type { BuildContext, Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { bearer } from '../shared/bearer.ts';
import type { Booking } from '../shared/booking.ts';
import { parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';
import { derivedUuid, resendSuffix } from '../shared/derived-id.ts';
import { apiUrl, type Config } from './quickbooks-config.ts';

/** The largest allowed difference between a receipt's total and our amount, in dollars. */
const MAX_DIFFERENCE_USD = 0.004;

/** A receipt's currency and rate, if the company's home currency isn't the currency of our amounts. */
export type ReceiptCurrency = { CurrencyRef: { value: string }; ExchangeRate: number };

/** https://developer.intuit.com/app/developer/qbo/docs/api/accounting/all-entities/salesreceipt */
export function createReceipt(
  booking: Booking,
  config: Config,
  context: BuildContext,
  { itemId, currency }: { itemId: string; currency?: ReceiptCurrency },
): ConnectorRequest {
  const { amountUsd, date, description, number, reference } = booking;
  const { depositAccountId, taxCodeId } = config;
  const line = {
    DetailType: 'SalesItemLineDetail',
    Amount: amountUsd,
    Description: description,
    SalesItemLineDetail: {
      // Without ItemRef, QuickBooks treats the line as a comment, and the receipt's total is zero.
      ItemRef: { value: itemId },
      Qty: 1,
      UnitPrice: amountUsd,
      ...(taxCodeId && { TaxCodeRef: { value: taxCodeId } }),
      ...(isForeignTax(taxCodeId) && { TaxInclusiveAmt: amountUsd }),
    },
  };
  const url = apiUrl(config, 'salesreceipt');
  // QuickBooks returns its original response for an ID it has seen, so the ID must change when the settings change. All
  // connectors for a company use the same ID, so QuickBooks books the event once even if they send it at the same time.
  const settings = [itemId, depositAccountId, taxCodeId].filter((setting) => setting !== undefined);
  const parts = [reference, ...settings, ...resendSuffix(context)];
  url.searchParams.set('requestid', derivedUuid(parts.join(':'), config.realmId));
  return {
    method: 'POST',
    url: url.href,
    headers: { ...bearer(config.accessToken), 'content-type': 'application/json' },
    body: JSON.stringify({
      TxnDate: date,
      DocNumber: number,
      // Companies that don't use custom transaction numbers replace the number, so it is repeated in the memo.
      PrivateNote: `${number} ${reference}`,
      ...currency,
      ...(depositAccountId && { DepositToAccountRef: { value: depositAccountId } }),
      // The amount received includes any tax.
      ...(isForeignTax(taxCodeId) && { GlobalTaxCalculation: 'TaxInclusive' }),
      Line: [line],
    }),
    step: 'send',
  };
}

/**
 * The outcome of QuickBooks' response to a receipt. A receipt with a different total was booked, but must be corrected.
 */
export function confirmReceipt(response: ConnectorResponse, { amountUsd, number }: Booking): Outcome {
  const receipt = valueAt(parseJson(response.body), 'SalesReceipt');
  // QuickBooks may have created the receipt. If so, the next attempt finds it by its number.
  if (typeof valueAt(receipt, 'Id') !== 'string') return retry("QuickBooks didn't confirm the sales receipt.");
  const total = valueAt(receipt, 'TotalAmt');
  if (typeof total === 'number' && Math.abs(total - amountUsd) > MAX_DIFFERENCE_USD) {
    return {
      kind: 'pause',
      reason: `QuickBooks added tax: receipt ${number} has a total of ${total} instead of ${amountUsd} USD. Correct it, use an item or tax code without tax, and save this connector.`,
    };
  }
  const given = valueAt(receipt, 'DocNumber');
  if (typeof given !== 'string' || given === number) return { kind: 'delivered', note: `Sales receipt ${number}.` };
  const note = `Sales receipt ${vendorText(given, [], 30)}. QuickBooks doesn't use our numbers, so don't change its memo (${number}).`;
  return { kind: 'delivered', note };
}

/** US companies have no tax codes with IDs, and don't accept the fields for amounts that include tax. */
const isForeignTax = (taxCodeId: string | undefined) => taxCodeId !== undefined && /^\d/.test(taxCodeId);
