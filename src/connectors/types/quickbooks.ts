import { type ClassifyContext, type ConnectorMemory, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { type Booking, bookingOf, heldBooking, isBooked, judgeBooked } from '../shared/booking.ts';
import { failedProbe, parseJson, retry, valueAt } from '../shared/classify.ts';
import { authorizationUrl, oauthClient } from '../shared/oauth-client.ts';
import { CONNECT_AGAIN, type Config, config, get, ITEM_NAME, query } from './quickbooks-config.ts';
import { BOOKED_CURRENCY, homeCurrencyOf, isCurrency, rateOf, withoutRate } from './quickbooks-currency.ts';
import {
  classifyFault,
  classifyReceiptFault,
  classifyReference,
  faultOf,
  hasFault,
  isReference,
} from './quickbooks-fault.ts';
import { findByDate, findByNumber, nextStart, receiptsIn } from './quickbooks-lookup.ts';
import { confirmReceipt, createReceipt } from './quickbooks-receipt.ts';

const ITEM_NEEDED = `In QuickBooks, create a service item named "${ITEM_NAME}" with an income account, or set the connector's item ID. Then save this connector.`;

type Context = ClassifyContext<Config> & { booking: Booking };

/** In the names of steps: the company replaces our numbers. */
const UNNUMBERED = 'unnumbered';
/** In the names of steps: the day has more receipts than are read. */
const CROWDED = 'crowded';

const found = ({ itemId }: Config, isUnnumbered: boolean) => ({
  ok: true,
  message: `The token works. Make sure the company has ${itemId ? 'the item' : `a service item named "${ITEM_NAME}"`}.${
    isUnnumbered
      ? " QuickBooks replaces our numbers, because custom transaction numbers are off. Receipts are recognized by their memos, so don't change those."
      : ''
  }`,
});

/** Creates sales receipts (https://developer.intuit.com/app/developer/qbo/docs/api/accounting/all-entities/salesreceipt). */
export const quickbooks = defineConnector<Config>({
  type: 'quickbooks',
  title: 'QuickBooks Online',
  category: 'Accounting',
  description:
    "Creates a sales receipt for each day's revenue, or for each payment if daily summaries aren't selected.",
  documentationUrl: 'https://developer.intuit.com/app/developer/qbo/docs/develop/authentication-and-authorization',
  config,
  credential: oauthClient({
    vendor: 'Intuit',
    tokenUrl: () => 'https://oauth.platform.intuit.com/oauth2/v1/tokens/bearer',
    needsRefreshToken: true,
    advice: CONNECT_AGAIN,
    // Each response extends `x_refresh_token_expires_in`. Only this field counts down to the final expiration after
    // five years (https://github.com/intuit/oauth-jsclient/blob/4.2.5/CHANGELOG.md).
    credentialLifetime: {
      header: { 'x-include-refresh-token-hard-expires-in': 'true' },
      field: 'x_refresh_token_hard_expires_in',
    },
    grant: {
      vendor: 'quickbooks',
      title: 'QuickBooks',
      authorizationUrl: () =>
        authorizationUrl('https://appcenter.intuit.com/connect/oauth2', { scope: 'com.intuit.quickbooks.accounting' }),
    },
  }),
  supportsEvent: isBooked,
  repeatsResponses: true,
  // Two pages of receipts by date, a first delivery's lookups, and an exchange rate.
  maxCalls: 7,
  // Each receipt takes two lookups and one write. At most ten requests can run at the same time.
  vendorLimit: {
    count: 500,
    perSeconds: 60,
    burst: 5,
    requestsPerDelivery: 3,
    documentationUrl: 'https://developer.intuit.com/app/developer/qbo/docs/learn/limits-and-throttles',
  },

  build([event], config) {
    const booking = bookingOf(event);
    return 'skip' in booking ? booking : findByNumber(booking, config);
  },

  classify(response, context) {
    const { events } = context;
    const { step, detail } = partsOf(context.step);
    const [event] = events;
    const booking = event && bookingOf(event);
    if (!booking || 'skip' in booking) return { kind: 'drop', reason: 'There is nothing to book.' };
    if (hasFault(response)) return afterFault(response, { ...context, booking });
    if (step === 'check') return afterLookup(response, undefined, { ...context, booking });
    if (step === 'dated') return afterLookup(response, Number(detail), { ...context, booking });
    if (step === 'preferences') return afterPreferences(response, detail === CROWDED, { ...context, booking });
    if (step === 'rate') return afterRate(response, detail, { ...context, booking });
    if (step === 'item') return afterItem(response, { ...context, booking });
    return confirmReceipt(response, booking);
  },

  probe: {
    build: (config) => get(config, `companyinfo/${config.realmId}`, 'company'),
    classify(response, config, name) {
      if (hasFault(response)) return failedProbe('QuickBooks', classifyFault(response, config, new Date(0)));
      const { step, detail, note } = partsOf(name);
      if (step === 'rate') {
        const rate = rateOf(response, detail, 'today');
        return typeof rate === 'number' ? found(config, note === UNNUMBERED) : failedProbe('QuickBooks', rate);
      }
      const json = parseJson(response.body);
      if (step === 'company' && valueAt(json, 'CompanyInfo')) return { next: getPreferences(config) };
      if (!valueAt(json, 'Preferences')) return { ok: false, message: 'QuickBooks returned an unexpected response.' };
      const home = homeCurrencyOf(response, config.accessToken);
      if (typeof home !== 'string') return failedProbe('QuickBooks', home);
      const isUnnumbered = numbersItself(response);
      if (home === BOOKED_CURRENCY) return found(config, isUnnumbered);
      const next = getRate(config, home);
      return { next: isUnnumbered ? { ...next, step: `${next.step}:${UNNUMBERED}` } : next };
    },
  },
});

/** @param start the position of a page of receipts by date. Undefined after the lookup by number. */
function afterLookup(response: ConnectorResponse, start: number | undefined, context: Context): Outcome {
  const { booking, config, memory } = context;
  const found = receiptsIn(response, booking);
  if (!found) return retry("QuickBooks' list of receipts couldn't be read.");
  const verdict = judgeBooked(booking, found.ours);
  if (verdict) return verdict;
  if (start === undefined) return { kind: 'next', request: findByDate(booking, config) };
  if (!found.isPageFull) return { kind: 'next', request: nextRequest(context, memory) };
  const next = nextStart(start);
  const request = next === undefined ? getPreferences(config, CROWDED) : findByDate(booking, config, next);
  return { kind: 'next', request };
}

/** The next lookup request or, once everything is known, the request for the receipt. */
function nextRequest(context: Context, memory: ConnectorMemory, rate?: number): ConnectorRequest {
  const { booking, config } = context;
  const home = memory[currencyKey(config)];
  if (!isCurrency(home)) return getPreferences(config);
  const itemId = config.itemId ?? memory[itemKey(config)];
  if (!itemId) return findItem(config);
  if (home === BOOKED_CURRENCY) return createReceipt(booking, config, context, { itemId });
  // The rate is read each time, because the company may change it.
  if (rate === undefined) return getRate(config, home, booking.date);
  const currency = { CurrencyRef: { value: BOOKED_CURRENCY }, ExchangeRate: rate };
  return createReceipt(booking, config, context, { itemId, currency });
}

/** @param isCrowded whether the day has more receipts than were read. */
function afterPreferences(response: ConnectorResponse, isCrowded: boolean, context: Context): Outcome {
  const home = homeCurrencyOf(response, context.config.accessToken);
  if (typeof home !== 'string') return home;
  if (isCrowded && numbersItself(response)) {
    const message = 'too many receipts on that day to read their memos';
    const instruction = 'Turn on custom transaction numbers in QuickBooks (Account and settings > Sales)';
    return heldBooking(context.booking, instruction, { vendor: 'QuickBooks', message, secrets: [] });
  }
  const remember = { [currencyKey(context.config)]: home };
  return { kind: 'next', request: nextRequest(context, { ...context.memory, ...remember }), remember };
}

function afterRate(response: ConnectorResponse, home: string, context: Context): Outcome {
  const rate = rateOf(response, home, context.booking.date);
  return typeof rate === 'number' ? { kind: 'next', request: nextRequest(context, context.memory, rate) } : rate;
}

function afterItem(response: ConnectorResponse, context: Context): Outcome {
  const id = valueAt(parseJson(response.body), 'QueryResponse', 'Item', 0, 'Id');
  // Creating the item would require an income account, and choosing one is up to the bookkeeper.
  if (typeof id !== 'string' || !/^\d{1,20}$/.test(id)) return { kind: 'pause', reason: ITEM_NEEDED };
  const remember = { [itemKey(context.config)]: id };
  return { kind: 'next', request: nextRequest(context, { ...context.memory, ...remember }), remember };
}

function findItem(config: Config): ConnectorRequest {
  return query(config, `select Id from Item where Name = '${ITEM_NAME}'`, 'item');
}

function getPreferences(config: Config, detail?: string): ConnectorRequest {
  return get(config, 'preferences', detail === undefined ? 'preferences' : `preferences:${detail}`);
}

/** Whether the company's preferences say that QuickBooks numbers receipts and ignores our numbers. */
function numbersItself(response: ConnectorResponse): boolean {
  const setting = valueAt(parseJson(response.body), 'Preferences', 'SalesFormsPrefs', 'CustomTxnNumbers');
  return setting === false;
}

/** @param date defaults to today. */
function getRate(config: Config, home: string, date?: string): ConnectorRequest {
  const request = get(config, 'exchangerate', `rate:${home}`);
  const day = date === undefined ? '' : `&asofdate=${date}`;
  return { ...request, url: `${request.url}&sourcecurrencycode=${BOOKED_CURRENCY}${day}` };
}

/** Splits a step's name, because some names include what the step is about, such as the currency of a rate. */
function partsOf(name: string): { step: string; detail: string; note: string } {
  const [step = '', detail = '', note = ''] = name.split(':');
  return { step, detail, note };
}

function afterFault(response: ConnectorResponse, context: Context): Outcome {
  const { booking, config, attemptNumber, now } = context;
  const { step, detail } = partsOf(context.step);
  const fault = faultOf(response);
  const ofReceipt = classifyReceiptFault(fault, booking, { accessToken: config.accessToken, attemptNumber });
  if (step === 'send' && ofReceipt) return ofReceipt;
  if (step === 'send' && isReference(fault?.code)) {
    const { itemId, depositAccountId, taxCodeId } = config;
    const mayBeItem = !itemId && (attemptNumber === 1 || !(depositAccountId || taxCodeId));
    if (!mayBeItem) return classifyReference(response, config.accessToken);
    return {
      kind: 'retry',
      reason: 'The QuickBooks item was deleted or is inactive. The next attempt looks it up again.',
      remember: { [itemKey(config)]: '' },
    };
  }
  const outcome = classifyFault(response, config, now, booking);
  // While the currency or its rate is unknown, deliveries are held, because every other event would fail, too.
  const isFinal = outcome.kind === 'drop' || outcome.kind === 'disable';
  if (isFinal && step === 'rate') return withoutRate(detail, booking.date);
  return isFinal && step === 'preferences' ? { kind: 'pause', reason: outcome.reason } : outcome;
}

function itemKey({ realmId }: Config): string {
  return `item:${realmId}`;
}

function currencyKey({ realmId }: Config): string {
  return `currency:${realmId}`;
}
