import { z } from 'zod';
import {
  type ClassifyContext,
  type ConnectorMemory,
  type ConnectorRequest,
  type ConnectorResponse,
  defineConnector,
  type Outcome,
} from '../definition.ts';
import { choiceField, secretField, textField } from '../fields.ts';
import { type Booking, bookingOf, booksKind, judgeBooked } from '../shared/booking.ts';
import { parseJson, retry, valueAt } from '../shared/classify.ts';
import { derivedUuid } from '../shared/derived-id.ts';
import { BOOKED_CURRENCY, homeCurrencyOf, isCurrency, rateOf, withoutRate } from './quickbooks-currency.ts';
import { classifyFault, DUPLICATE_NUMBER, faultOf, hasFault, MISSING_REFERENCE } from './quickbooks-fault.ts';

const HOSTS = { production: 'quickbooks.api.intuit.com', sandbox: 'sandbox-quickbooks.api.intuit.com' } as const;
const MINOR_VERSION = '75';
const ITEM_NAME = 'x402 API revenue';
const ITEM_NEEDED = `Create a service item named "${ITEM_NAME}" with its income account in QuickBooks, then switch this connector on again.`;

const config = z.strictObject({
  accessToken: secretField({
    title: 'Access token',
    description: 'OAuth 2.0 access token with the scope com.intuit.quickbooks.accounting. It lasts one hour.',
    pattern: /^[\x21-\x7e]+$/,
    hint: 'Must not contain spaces.',
  }),
  realmId: textField({
    title: 'Company ID',
    description: 'The realm ID of the company, shown with the token and under Account and Settings, Billing.',
    example: '9130355377388383',
    pattern: /^\d{5,25}$/,
    hint: 'Must consist of digits only.',
  }),
  environment: choiceField(['production', 'sandbox'], {
    title: 'Environment',
    description: 'Sandbox for a test company of an Intuit developer account. Default: production.',
    decidesAddress: true,
  }).optional(),
});
type Config = z.infer<typeof config>;
type Context = ClassifyContext<Config> & { booking: Booking };

const FOUND = {
  ok: true,
  message: `The company was found. Make sure that it has a service item named "${ITEM_NAME}".`,
};

/** Sales receipts (https://developer.intuit.com/app/developer/qbo/docs/api/accounting/all-entities/salesreceipt). */
export const quickbooks = defineConnector<Config>({
  type: 'quickbooks',
  title: 'QuickBooks Online',
  category: 'Accounting',
  description:
    'Books the revenue of each day, or each payment where daily totals are not selected, as a sales receipt.',
  documentationUrl: 'https://developer.intuit.com/app/developer/qbo/docs/develop/authentication-and-authorization',
  config,
  carries: booksKind,

  build([event], config) {
    const booking = bookingOf(event);
    return 'skip' in booking ? booking : findReceipts(booking, config);
  },

  classify(response, context) {
    const { events } = context;
    const { step, home } = partsOf(context.step);
    const [event] = events;
    const booking = event && bookingOf(event);
    if (!booking || 'skip' in booking) return { kind: 'drop', reason: 'There is nothing to book.' };
    if (hasFault(response)) return afterFault(response, { ...context, booking });
    if (step === 'check') return afterCheck(response, { ...context, booking });
    if (step === 'preferences') return afterPreferences(response, { ...context, booking });
    if (step === 'rate') return afterRate(response, home, { ...context, booking });
    if (step === 'item') return afterItem(response, { ...context, booking });
    const id = valueAt(parseJson(response.body), 'SalesReceipt', 'Id');
    // The next try finds the receipt by its number in case this odd answer hid a success.
    if (typeof id !== 'string') return retry('QuickBooks did not confirm the sales receipt.');
    return { kind: 'delivered', note: `Sales receipt ${booking.number}.` };
  },

  probe: {
    build: (config) => get(config, `companyinfo/${config.realmId}`, 'company'),
    classify(response, config, name) {
      if (hasFault(response))
        return { ok: false, message: messageOf(classifyFault(response, config.accessToken, new Date(0))) };
      const { step, home: known } = partsOf(name);
      if (step === 'rate') {
        const rate = rateOf(response, known, 'today');
        return typeof rate === 'number' ? FOUND : { ok: false, message: messageOf(rate) };
      }
      const json = parseJson(response.body);
      if (step === 'company' && valueAt(json, 'CompanyInfo')) return { next: getPreferences(config) };
      if (!valueAt(json, 'Preferences')) return { ok: false, message: 'QuickBooks did not answer as expected.' };
      const home = homeCurrencyOf(response, config.accessToken);
      if (typeof home !== 'string') return { ok: false, message: messageOf(home) };
      return home === BOOKED_CURRENCY ? FOUND : { next: getRate(config, home) };
    },
  },
});

function findReceipts({ isDayTotal, number, dayNumber }: Booking, config: Config): ConnectorRequest {
  const filter = isDayTotal ? `DocNumber like '${dayNumber}%'` : `DocNumber in ('${number}', '${dayNumber}')`;
  return query(config, `select * from SalesReceipt where ${filter} maxresults 5`, 'check');
}

function afterCheck(response: ConnectorResponse, context: Context): Outcome {
  const { booking, memory } = context;
  const found = valueAt(parseJson(response.body), 'QueryResponse', 'SalesReceipt');
  const documents = (Array.isArray(found) ? found : []).map((receipt) => ({
    number: valueAt(receipt, 'DocNumber'),
    reference: valueAt(receipt, 'PrivateNote'),
  }));
  const verdict = judgeBooked(booking, documents);
  if (verdict) return verdict;
  return { kind: 'next', request: nextRequest(context, memory) };
}

/** The first question that is still open, or the receipt when there is none. */
function nextRequest(context: Context, memory: ConnectorMemory, rate?: number): ConnectorRequest {
  const { booking, config } = context;
  const home = memory[currencyKey(config)];
  if (!isCurrency(home)) return getPreferences(config);
  if (!memory[itemKey(config)]) return findItem(config);
  if (home === BOOKED_CURRENCY) return createReceipt(context, memory);
  // The rate of the day is asked for each time: it is the company's to correct.
  if (rate === undefined) return getRate(config, home, booking.date);
  return createReceipt(context, memory, { CurrencyRef: { value: BOOKED_CURRENCY }, ExchangeRate: rate });
}

function afterPreferences(response: ConnectorResponse, context: Context): Outcome {
  const home = homeCurrencyOf(response, context.config.accessToken);
  if (typeof home !== 'string') return home;
  const remember = { [currencyKey(context.config)]: home };
  return { kind: 'next', request: nextRequest(context, { ...context.memory, ...remember }), remember };
}

function afterRate(response: ConnectorResponse, home: string, context: Context): Outcome {
  const rate = rateOf(response, home, context.booking.date);
  return typeof rate === 'number' ? { kind: 'next', request: nextRequest(context, context.memory, rate) } : rate;
}

function afterItem(response: ConnectorResponse, context: Context): Outcome {
  const id = valueAt(parseJson(response.body), 'QueryResponse', 'Item', 0, 'Id');
  // Making the item would mean choosing an income account, which is the bookkeeper's to decide.
  if (typeof id !== 'string' || !/^\d{1,20}$/.test(id)) return { kind: 'pause', reason: ITEM_NEEDED };
  const remember = { [itemKey(context.config)]: id };
  return { kind: 'next', request: nextRequest(context, { ...context.memory, ...remember }), remember };
}

function createReceipt(context: Context, memory: ConnectorMemory, currency: object = {}): ConnectorRequest {
  const { booking, config, connectorId } = context;
  const { amountUsd, date, description, number, reference } = booking;
  // Without ItemRef the line is taken for a remark and the receipt is zero.
  const detail = { ItemRef: { value: memory[itemKey(config)] }, Qty: 1, UnitPrice: amountUsd };
  const line = {
    DetailType: 'SalesItemLineDetail',
    Amount: amountUsd,
    Description: description,
    SalesItemLineDetail: detail,
  };
  const url = apiUrl(config, 'salesreceipt');
  // QuickBooks answers a repeated id as it did the first time, so another item needs another id.
  url.searchParams.set('requestid', derivedUuid(`${reference}:${memory[itemKey(config)]}`, connectorId));
  return {
    method: 'POST',
    url: url.href,
    headers: { ...authorization(config), 'content-type': 'application/json' },
    body: JSON.stringify({
      TxnDate: date,
      DocNumber: number,
      PrivateNote: reference,
      ...currency,
      Line: [line],
    }),
    step: 'send',
  };
}

function findItem(config: Config): ConnectorRequest {
  return query(config, `select Id from Item where Name = '${ITEM_NAME}'`, 'item');
}

function getPreferences(config: Config): ConnectorRequest {
  return get(config, 'preferences', 'preferences');
}

/** @param date left out for today. */
function getRate(config: Config, home: string, date?: string): ConnectorRequest {
  const request = get(config, 'exchangerate', `rate:${home}`);
  const day = date === undefined ? '' : `&asofdate=${date}`;
  return { ...request, url: `${request.url}&sourcecurrencycode=${BOOKED_CURRENCY}${day}` };
}

/** The question about the rate carries the currency it is asked for. */
function partsOf(name: string): { step: string; home: string } {
  const [step = '', home = ''] = name.split(':');
  return { step, home };
}

function query(config: Config, statement: string, step: string): ConnectorRequest {
  const request = get(config, 'query', step);
  return { ...request, url: `${request.url}&query=${encodeURIComponent(statement)}` };
}

function get(config: Config, path: string, step: string): ConnectorRequest {
  return { method: 'GET', url: apiUrl(config, path).href, headers: authorization(config), step };
}

function afterFault(response: ConnectorResponse, context: Context): Outcome {
  const { booking, config, attemptNumber, now } = context;
  const { step, home } = partsOf(context.step);
  const code = faultOf(response)?.code;
  if (step === 'send' && code === DUPLICATE_NUMBER && attemptNumber < 3) {
    return retry(`QuickBooks has a document ${booking.number} already. The next try compares it.`, 60);
  }
  if (step === 'send' && code && MISSING_REFERENCE.has(code)) {
    return {
      kind: 'retry',
      reason: 'The item is gone. It will be looked up again.',
      remember: { [itemKey(config)]: '' },
    };
  }
  const outcome = classifyFault(response, config.accessToken, now);
  // While the currency or its rate is unknown the booking waits: no other event would fare better.
  const isFinal = outcome.kind === 'drop' || outcome.kind === 'disable';
  if (isFinal && step === 'rate') return withoutRate(home, booking.date);
  return isFinal && step === 'preferences' ? { kind: 'pause', reason: outcome.reason } : outcome;
}

function messageOf(outcome: Outcome): string {
  return 'reason' in outcome ? outcome.reason : 'QuickBooks did not answer as expected.';
}

function apiUrl({ environment = 'production', realmId }: Config, path: string): URL {
  return new URL(`https://${HOSTS[environment]}/v3/company/${realmId}/${path}?minorversion=${MINOR_VERSION}`);
}

function authorization({ accessToken }: Config): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, accept: 'application/json' };
}

function itemKey({ realmId }: Config): string {
  return `item:${realmId}`;
}

function currencyKey({ realmId }: Config): string {
  return `currency:${realmId}`;
}
