import type { Outcome } from '../definition.ts';
import type { ConnectorResponse } from '../exchange.ts';
import { parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';

/** The currency of all our amounts. */
export const BOOKED_CURRENCY = 'USD';
const CURRENCY_CODE = /^[A-Z]{3}$/;

/**
 * The company's home currency, from its preferences, or the outcome if US dollars can't be booked there. The currency
 * is never assumed, because QuickBooks uses the home currency for receipts that don't specify one.
 */
export function homeCurrencyOf(response: ConnectorResponse, accessToken: string): string | Outcome {
  const preferences = valueAt(parseJson(response.body), 'Preferences');
  if (preferences === undefined) return retry("QuickBooks didn't return the company's home currency.");
  const home = valueAt(preferences, 'CurrencyPrefs', 'HomeCurrency', 'value');
  if (!isCurrency(home)) {
    const found = typeof home === 'string' ? vendorText(home, [accessToken], 10) : 'none';
    return {
      kind: 'pause',
      reason: `QuickBooks returned no valid home currency for the company (${found}). Check the company's settings in QuickBooks.`,
    };
  }
  if (home !== BOOKED_CURRENCY && valueAt(preferences, 'CurrencyPrefs', 'MultiCurrencyEnabled') !== true) {
    return {
      kind: 'pause',
      reason: `The company's home currency is ${home}. Turn on multicurrency in QuickBooks to record transactions in US dollars, then save this connector.`,
    };
  }
  return home;
}

/**
 * QuickBooks' exchange rate for a day, in units of the home currency per US dollar. If QuickBooks has no rate for that
 * day, returns the delivery's outcome instead.
 *
 * @param day the day as shown in messages.
 */
export function rateOf(response: ConnectorResponse, home: string, day: string): number | Outcome {
  const json = parseJson(response.body);
  if (json === undefined) return retry("QuickBooks didn't return the exchange rate.");
  const found = valueAt(json, 'ExchangeRate');
  const isAsked =
    valueAt(found, 'SourceCurrencyCode') === BOOKED_CURRENCY && valueAt(found, 'TargetCurrencyCode') === home;
  const rate = valueAt(found, 'Rate');
  return isAsked && typeof rate === 'number' && Number.isFinite(rate) && rate > 0 ? rate : withoutRate(home, day);
}

/** Without a rate, QuickBooks would assume a rate of 1, so nothing is booked until there is one. */
export function withoutRate(home: string, day: string): Outcome {
  const reason = `QuickBooks has no exchange rate from ${BOOKED_CURRENCY} to ${home} for ${day}. Enter one in QuickBooks under Currencies, then save this connector.`;
  return { kind: 'pause', reason };
}

export function isCurrency(value: unknown): value is string {
  return typeof value === 'string' && CURRENCY_CODE.test(value);
}
