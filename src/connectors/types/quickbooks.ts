import { z } from 'zod';
import { type Booking, bookingOf, booksKind, judgeBooked } from '../booking.ts';
import { parseJson, retry, valueAt, vendorText } from '../classify.ts';
import {
  type ClassifyContext,
  type ConnectorMemory,
  type ConnectorRequest,
  type ConnectorResponse,
  defineConnector,
  type Outcome,
} from '../definition.ts';
import { derivedUuid } from '../derived-id.ts';
import { choiceField, secretField, textField } from '../fields.ts';
import { classifyFault, DUPLICATE_NUMBER, faultOf, hasFault, MISSING_REFERENCE } from '../quickbooks-fault.ts';

const HOSTS = { production: 'quickbooks.api.intuit.com', sandbox: 'sandbox-quickbooks.api.intuit.com' } as const;
const MINOR_VERSION = '75';
const ITEM_NAME = 'x402 API revenue';
const ITEM_NEEDED = `Create a service item named "${ITEM_NAME}" with its income account in QuickBooks, then save this connector again.`;

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
    const { config, events, step } = context;
    const [event] = events;
    const booking = event && bookingOf(event);
    if (!booking || 'skip' in booking) return { kind: 'drop', reason: 'There is nothing to book.' };
    if (hasFault(response)) return afterFault(response, { ...context, booking });
    if (step === 'check') return afterCheck(response, { ...context, booking });
    if (step === 'preferences') return afterPreferences(response, config);
    if (step === 'item') return afterItem(response, { ...context, booking });
    const id = valueAt(parseJson(response.body), 'SalesReceipt', 'Id');
    // The next try finds the receipt by its number in case this odd answer hid a success.
    if (typeof id !== 'string') return retry('QuickBooks did not confirm the sales receipt.');
    return { kind: 'delivered', note: `Sales receipt ${booking.number}.` };
  },

  probe: {
    build: (config) => get(config, `companyinfo/${config.realmId}`, 'company'),
    classify(response, config, step) {
      if (hasFault(response))
        return { ok: false, message: messageOf(classifyFault(response, config.accessToken, new Date(0))) };
      const json = parseJson(response.body);
      if (step === 'company' && valueAt(json, 'CompanyInfo')) return { next: getPreferences(config) };
      if (!valueAt(json, 'Preferences')) return { ok: false, message: 'QuickBooks did not answer as expected.' };
      const outcome = afterPreferences(response, config);
      if (outcome.kind === 'pause') return { ok: false, message: outcome.reason };
      return { ok: true, message: `The company was found. Make sure that it has a service item named "${ITEM_NAME}".` };
    },
  },
});

function findReceipts({ isDayTotal, number, dayNumber }: Booking, config: Config): ConnectorRequest {
  const filter = isDayTotal ? `DocNumber like '${dayNumber}%'` : `DocNumber in ('${number}', '${dayNumber}')`;
  return query(config, `select * from SalesReceipt where ${filter} maxresults 5`, 'check');
}

function afterCheck(response: ConnectorResponse, context: Context): Outcome {
  const { booking, config, memory } = context;
  const found = valueAt(parseJson(response.body), 'QueryResponse', 'SalesReceipt');
  const documents = (Array.isArray(found) ? found : []).map((receipt) => ({
    number: valueAt(receipt, 'DocNumber'),
    reference: valueAt(receipt, 'PrivateNote'),
  }));
  const verdict = judgeBooked(booking, documents);
  if (verdict) return verdict;
  if (!memory[currencyKey(config)]) return { kind: 'next', request: getPreferences(config) };
  return { kind: 'next', request: memory[itemKey(config)] ? createReceipt(context, memory) : findItem(config) };
}

/** Amounts are dollars: a company with books in another currency must know that it is told so. */
function afterPreferences(response: ConnectorResponse, config: Config): Outcome {
  const currencies = valueAt(parseJson(response.body), 'Preferences', 'CurrencyPrefs');
  const home = valueAt(currencies, 'HomeCurrency', 'value');
  if (typeof home === 'string' && home !== 'USD' && valueAt(currencies, 'MultiCurrencyEnabled') !== true) {
    const currency = vendorText(home, [config.accessToken], 10);
    return {
      kind: 'pause',
      reason: `The company keeps its books in ${currency}. Turn on multicurrency in QuickBooks to book US dollars.`,
    };
  }
  const remember = { [currencyKey(config)]: typeof home === 'string' && home !== 'USD' ? 'foreign' : 'home' };
  return { kind: 'next', request: findItem(config), remember };
}

function afterItem(response: ConnectorResponse, context: Context): Outcome {
  const id = valueAt(parseJson(response.body), 'QueryResponse', 'Item', 0, 'Id');
  // Making the item would mean choosing an income account, which is the bookkeeper's to decide.
  if (typeof id !== 'string' || !/^\d{1,20}$/.test(id)) return { kind: 'pause', reason: ITEM_NEEDED };
  const remember = { [itemKey(context.config)]: id };
  return { kind: 'next', request: createReceipt(context, { ...context.memory, ...remember }), remember };
}

function createReceipt({ booking, config, connectorId }: Context, memory: ConnectorMemory): ConnectorRequest {
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
      ...(memory[currencyKey(config)] === 'foreign' && { CurrencyRef: { value: 'USD' } }),
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

function query(config: Config, statement: string, step: string): ConnectorRequest {
  const request = get(config, 'query', step);
  return { ...request, url: `${request.url}&query=${encodeURIComponent(statement)}` };
}

function get(config: Config, path: string, step: string): ConnectorRequest {
  return { method: 'GET', url: apiUrl(config, path).href, headers: authorization(config), step };
}

function afterFault(response: ConnectorResponse, { booking, config, step, attemptNumber, now }: Context): Outcome {
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
  return classifyFault(response, config.accessToken, now);
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
