import { z } from 'zod';
import { type ConnectorRequest, type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
import { secretField, textField } from '../fields.ts';
import { type Booking, bookingOf, booksKind, judgeBooked } from '../shared/booking.ts';
import {
  classifyByStatus,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { derivedId } from '../shared/derived-id.ts';

const API_URL = 'https://api.xero.com';
const CONTACT_NAME = 'x402 API customers';
const MINUTE_WAIT_SECONDS = 60;
const DAY_WAIT_SECONDS = 3600;
/** Such invoices no longer count: a day may be booked again. */
const GONE: ReadonlySet<unknown> = new Set(['VOIDED', 'DELETED']);

const config = z.strictObject({
  accessToken: secretField({
    title: 'Access token',
    description:
      'OAuth 2.0 access token with the scope accounting.invoices (accounting.transactions for older apps). It lasts 30 minutes.',
    pattern: /^[\x21-\x7e]+$/,
    hint: 'Must not contain spaces.',
  }),
  tenantId: textField({
    title: 'Tenant ID',
    description: 'The organisation, as GET https://api.xero.com/connections lists it.',
    example: '70784a63-d24b-46a9-a4db-0e70a274b056',
    pattern: /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/,
    hint: 'Must be a UUID.',
  }),
});
type Config = z.infer<typeof config>;

/** Draft sales invoices (https://developer.xero.com/documentation/api/accounting/invoices), which a person approves. */
export const xero = defineConnector<Config>({
  type: 'xero',
  title: 'Xero',
  category: 'Accounting',
  description:
    'Drafts one sales invoice per day, or per payment where daily totals are not selected, for you to approve.',
  documentationUrl: 'https://developer.xero.com/documentation/guides/oauth2/overview/',
  config,
  carries: booksKind,

  build([event], config, { connectorId, now }) {
    const booking = bookingOf(event);
    if ('skip' in booking) return booking;
    if (booking.isDayTotal) return findDay(booking, config);
    // The total of a day exists after its end at the earliest, so a payment booked in time need not look for it.
    const isLate = now.toISOString().slice(0, 10) > booking.date;
    return isLate ? findNumbers(booking, config, 'check') : createInvoice(booking, config, connectorId);
  },

  classify(response, { config, connectorId, events, step, now }) {
    const [event] = events;
    const booking = event && bookingOf(event);
    if (!booking || 'skip' in booking) return { kind: 'drop', reason: 'There is nothing to book.' };
    if (step === 'send') return classifyInvoice(response, booking, config, now);
    if (response.statusCode !== 200) return classifyError(response, config, now);
    const verdict = judgeBooked(booking, documentsOf(response));
    if (verdict) return verdict;
    if (step === 'check') return { kind: 'next', request: createInvoice(booking, config, connectorId) };
    return {
      kind: 'drop',
      reason: `Xero says that ${booking.number} exists, but does not show it. Look for it in Xero.`,
    };
  },

  probe: {
    build: (config) => ({
      method: 'GET',
      url: `${API_URL}/connections`,
      headers: { authorization: `Bearer ${config.accessToken}`, accept: 'application/json' },
    }),
    classify(response, config) {
      if (response.statusCode !== 200) {
        const outcome = classifyError(response, config, new Date(0));
        return { ok: false, message: 'reason' in outcome ? outcome.reason : 'Xero did not answer as expected.' };
      }
      const tenants = parseJson(response.body);
      const wanted = config.tenantId.toLowerCase();
      const tenant = (Array.isArray(tenants) ? tenants : []).find(
        (entry) => String(valueAt(entry, 'tenantId')).toLowerCase() === wanted,
      );
      if (!tenant) return { ok: false, message: 'The token works, but is not connected to this tenant ID.' };
      const name = vendorText(valueAt(tenant, 'tenantName'), [config.accessToken], 60);
      return { ok: true, message: `The token works for the organisation ${name}.` };
    },
  },
});

function createInvoice(booking: Booking, config: Config, connectorId: string): ConnectorRequest {
  const { amountUsd, date, description, number, reference } = booking;
  const invoice = {
    Type: 'ACCREC',
    Status: 'DRAFT',
    InvoiceNumber: number,
    Reference: reference,
    Contact: { Name: CONTACT_NAME },
    Date: date,
    DueDate: date,
    CurrencyCode: 'USD',
    LineAmountTypes: 'NoTax',
    LineItems: [{ Description: description, Quantity: 1, UnitAmount: amountUsd }],
  };
  return {
    // PUT creates and refuses a number that exists; POST would overwrite that invoice.
    method: 'PUT',
    url: `${API_URL}/api.xro/2.0/Invoices?summarizeErrors=true&unitdp=4`,
    headers: {
      ...authorization(config),
      'content-type': 'application/json',
      'idempotency-key': derivedId(reference, connectorId),
    },
    body: JSON.stringify({ Invoices: [invoice] }),
    step: 'send',
  };
}

/** Every invoice of ours of the day: the total and those of single payments. */
function findDay({ date, dayNumber }: Booking, config: Config): ConnectorRequest {
  const [year, month, day] = date.split('-');
  const filter = `Date==DateTime(${year},${month},${day}) AND InvoiceNumber!=null AND InvoiceNumber.StartsWith("${dayNumber}")`;
  return find(`where=${encodeURIComponent(filter)}&page=1&pageSize=20`, config, 'check');
}

function findNumbers({ number, dayNumber }: Booking, config: Config, step: string): ConnectorRequest {
  return find(`InvoiceNumbers=${[...new Set([number, dayNumber])].join(',')}`, config, step);
}

function find(query: string, config: Config, step: string): ConnectorRequest {
  return { method: 'GET', url: `${API_URL}/api.xro/2.0/Invoices?${query}`, headers: authorization(config), step };
}

function documentsOf(response: ConnectorResponse): { number: unknown; reference: unknown }[] {
  const invoices = valueAt(parseJson(response.body), 'Invoices');
  return (Array.isArray(invoices) ? invoices : [])
    .map((invoice) => ({
      number: valueAt(invoice, 'InvoiceNumber'),
      reference: valueAt(invoice, 'Reference'),
      status: valueAt(invoice, 'Status'),
    }))
    .filter(({ status }) => !GONE.has(status));
}

function classifyInvoice(response: ConnectorResponse, booking: Booking, config: Config, now: Date): Outcome {
  const json = parseJson(response.body);
  const isSuccess = response.statusCode === 200 || response.statusCode === 201;
  const invoice = valueAt(json, isSuccess ? 'Invoices' : 'Elements', 0);
  const hasErrors = valueAt(invoice, 'HasErrors') === true || valueAt(invoice, 'StatusAttributeString') === 'ERROR';
  if (isSuccess && !hasErrors) {
    if (typeof valueAt(invoice, 'InvoiceID') === 'string')
      return { kind: 'delivered', note: `Draft invoice ${booking.number}.` };
    // The next try learns from the refused number whether this odd answer hid a success.
    return retry('Xero did not confirm the invoice.');
  }
  if (!isSuccess && response.statusCode !== 400) return classifyError(response, config, now);
  const problems = valueAt(invoice, 'ValidationErrors');
  const messages = (Array.isArray(problems) ? problems : []).map((problem) =>
    String(valueAt(problem, 'Message') ?? ''),
  );
  if (messages.some((message) => /must be unique|already exists/i.test(message))) {
    return { kind: 'next', request: findNumbers(booking, config, 'read-back') };
  }
  const detail = vendorText(messages[0] ?? valueAt(json, 'Message'), [config.accessToken]);
  if (messages.some((message) => /not subscribed to currency/i.test(message))) {
    return {
      kind: 'pause',
      reason: 'The organisation does not have the currency USD. Add it in Xero, then save this connector again.',
    };
  }
  return { kind: 'drop', reason: reason(`Xero did not accept the invoice: ${detail || 'no reason given'}`) };
}

function classifyError(response: ConnectorResponse, { accessToken }: Config, now: Date): Outcome {
  const { statusCode, headers } = response;
  if (statusCode === 429) {
    const isDaily = headers['x-rate-limit-problem']?.toLowerCase().startsWith('day');
    const wait = isDaily ? DAY_WAIT_SECONDS : MINUTE_WAIT_SECONDS;
    return retry(
      `The ${isDaily ? 'daily' : 'per-minute'} limit of Xero is used up.`,
      retryAfterSeconds(response, now) ?? wait,
    );
  }
  if (statusCode === 401) {
    return {
      kind: 'pause',
      reason: 'Xero refused the access token. Tokens last 30 minutes: save a new one in the settings.',
    };
  }
  if (statusCode === 403) {
    return {
      kind: 'pause',
      reason: 'The token has no access to this organisation. Check the tenant ID and the scopes.',
    };
  }
  const json = parseJson(response.body);
  const detail = vendorText(valueAt(json, 'Message') ?? valueAt(json, 'Detail'), [accessToken]);
  return classifyByStatus(response, { expected: [], ...(detail && { detail }), now });
}

function authorization({ accessToken, tenantId }: Config): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, accept: 'application/json', 'xero-tenant-id': tenantId };
}
