import type { ConnectorResponse, Outcome } from '../definition.ts';
import { parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';

/** Every amount of ours is in this currency. */
export const BOOKED_CURRENCY = 'USD';
const CURRENCY_CODE = /^[A-Z]{3}$/;

/**
 * The currency of the company's books, from its preferences, or why US dollars cannot be booked there. Nothing is
 * assumed: a receipt that names no currency is taken for one in the currency of the books.
 */
export function homeCurrencyOf(response: ConnectorResponse, accessToken: string): string | Outcome {
  const preferences = valueAt(parseJson(response.body), 'Preferences');
  if (preferences === undefined) return retry('QuickBooks did not say in which currency the company keeps its books.');
  const home = valueAt(preferences, 'CurrencyPrefs', 'HomeCurrency', 'value');
  if (!isCurrency(home)) {
    const told = typeof home === 'string' ? vendorText(home, [accessToken], 10) : 'none';
    return { kind: 'pause', reason: `QuickBooks does not name the currency of the company's books (${told}).` };
  }
  if (home !== BOOKED_CURRENCY && valueAt(preferences, 'CurrencyPrefs', 'MultiCurrencyEnabled') !== true) {
    return {
      kind: 'pause',
      reason: `The company keeps its books in ${home}. Turn on multicurrency in QuickBooks to book US dollars, then switch this connector on again.`,
    };
  }
  return home;
}

/**
 * So many units of the home currency QuickBooks gives for one US dollar on a day, or why there is no answer to that.
 *
 * @param day as a person reads it.
 */
export function rateOf(response: ConnectorResponse, home: string, day: string): number | Outcome {
  const json = parseJson(response.body);
  if (json === undefined) return retry('QuickBooks did not say what the exchange rate is.');
  const found = valueAt(json, 'ExchangeRate');
  const isAsked =
    valueAt(found, 'SourceCurrencyCode') === BOOKED_CURRENCY && valueAt(found, 'TargetCurrencyCode') === home;
  const rate = valueAt(found, 'Rate');
  return isAsked && typeof rate === 'number' && Number.isFinite(rate) && rate > 0 ? rate : withoutRate(home, day);
}

/** Without a rate QuickBooks would take it for 1, so nothing is booked until there is one. */
export function withoutRate(home: string, day: string): Outcome {
  const reason = `QuickBooks has no exchange rate from ${BOOKED_CURRENCY} to ${home} for ${day}. Enter one in its list of currencies, then switch this connector on again.`;
  return { kind: 'pause', reason };
}

export function isCurrency(value: unknown): value is string {
  return typeof value === 'string' && CURRENCY_CODE.test(value);
}
