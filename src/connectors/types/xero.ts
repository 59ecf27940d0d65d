import { z } from 'zod';
import { type ConnectorRequest, type ConnectorResponse, defineConnector, type Outcome } from '../definition.ts';
import { headerSecretField, textField } from '../fields.ts';
import { bearer } from '../shared/bearer.ts';
import { type Booking, bookingOf, booksKind, judgeBooked } from '../shared/booking.ts';
import {
  classifyByStatus,
  failedProbe,
  parseJson,
  reason,
  retry,
  retryAfterSeconds,
  valueAt,
  vendorText,
} from '../shared/classify.ts';
import { requireCredential } from '../shared/credential-rule.ts';
import { derivedId } from '../shared/derived-id.ts';
import { authorizationUrl, clientFields, grantField, oauthClient, refreshTokenField } from '../shared/oauth-client.ts';

const API_URL = 'https://api.xero.com';
const CONTACT_NAME = 'x402 API customers';
const MINUTE_WAIT_SECONDS = 60;
const DAY_WAIT_SECONDS = 3600;
/** Invoices with these statuses no longer count, so a day can be booked again. */
const GONE: ReadonlySet<unknown> = new Set(['VOIDED', 'DELETED']);

const fields = z.strictObject({
  accessToken: headerSecretField({
    title: 'Access token',
    description:
      'An OAuth 2.0 access token with the accounting.invoices scope (accounting.transactions for older apps). It expires after 30 minutes, so a client ID and a client secret are better.',
  }).optional(),
  tenantId: textField({
    title: 'Tenant ID',
    description: "The organization's tenant ID, as listed by GET https://api.xero.com/connections.",
    example: '70784a63-d24b-46a9-a4db-0e70a274b056',
    pattern: /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/,
    hint: 'Must be a UUID.',
  }),
  ...clientFields,
  refreshToken: refreshTokenField('Only if your app isn’t a custom connection. Xero replaces it with each use.'),
  grant: grantField(),
});
const config = requireCredential(fields, ['clientId', 'clientSecret'], ['refreshToken']);
type Config = z.infer<typeof config>;

/** Creates draft sales invoices (https://developer.xero.com/documentation/api/accounting/invoices) for a person to approve. */
export const xero = defineConnector<Config>({
  type: 'xero',
  title: 'Xero',
  category: 'Accounting',
  description:
    "Drafts a sales invoice for each day's revenue, or for each payment if daily summaries aren't selected. You approve it.",
  documentationUrl: 'https://developer.xero.com/documentation/guides/oauth2/overview/',
  config,
  credential: oauthClient({
    vendor: 'Xero',
    tokenUrl: () => 'https://identity.xero.com/connect/token',
    advice: 'Connect your app to the organization again, and save its credentials.',
    grant: {
      vendor: 'xero',
      title: 'Xero',
      authorizationUrl: () =>
        authorizationUrl('https://login.xero.com/identity/connect/authorize', {
          scope: 'offline_access accounting.invoices',
        }),
    },
  }),
  carries: booksKind,
  // At most five requests may run at once.
  vendorLimit: {
    count: 60,
    perSeconds: 60,
    burst: 3,
    // The connector looks for an existing invoice before it creates one.
    requestsPerDelivery: 2,
    documentationUrl: 'https://developer.xero.com/documentation/guides/oauth2/limits/',
  },

  build([event], config, { connectorId, now }) {
    const booking = bookingOf(event);
    if ('skip' in booking) return booking;
    if (booking.isDayTotal) return findDay(booking, config);
    // A daily total can't exist before the day ends, so there is nothing to look for when a payment is booked the same
    // day.
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
      reason: `Xero reported that ${booking.number} already exists but didn't return it. Look for it in Xero.`,
    };
  },

  probe: {
    build: (config) => ({
      method: 'GET',
      url: `${API_URL}/connections`,
      headers: bearer(config.accessToken),
    }),
    classify(response, config) {
      if (response.statusCode !== 200) {
        return failedProbe('Xero', classifyError(response, config, new Date(0)));
      }
      const tenants = parseJson(response.body);
      const wanted = config.tenantId.toLowerCase();
      const tenant = (Array.isArray(tenants) ? tenants : []).find(
        (entry) => String(valueAt(entry, 'tenantId')).toLowerCase() === wanted,
      );
      if (!tenant) return { ok: false, message: "The token works, but it isn't connected to this tenant ID." };
      const name = vendorText(valueAt(tenant, 'tenantName'), [config.accessToken], 60);
      return { ok: true, message: `The token works for the organization ${name}.` };
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
    // PUT rejects a number that already exists; POST would overwrite that invoice.
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

/** Finds our invoices for the day: the one for the total, and any for individual payments. */
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
    // If the invoice was created after all, Xero rejects its number on the next attempt.
    return retry("Xero didn't confirm the invoice.");
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
      reason: "The organization doesn't have USD as a currency. Add it in Xero, then save this connector.",
    };
  }
  return { kind: 'drop', reason: reason(`Xero rejected the invoice: ${detail || 'no reason given'}`) };
}

function classifyError(response: ConnectorResponse, { accessToken }: Config, now: Date): Outcome {
  const { statusCode, headers } = response;
  if (statusCode === 429) {
    const isDaily = headers['x-rate-limit-problem']?.toLowerCase().startsWith('day');
    const wait = isDaily ? DAY_WAIT_SECONDS : MINUTE_WAIT_SECONDS;
    return retry(
      `Xero's ${isDaily ? 'daily' : 'per-minute'} rate limit has been reached.`,
      retryAfterSeconds(response, now) ?? wait,
    );
  }
  if (statusCode === 401) {
    return {
      kind: 'pause',
      reason: 'Xero rejected the access token. Tokens expire after 30 minutes: save a new one.',
    };
  }
  if (statusCode === 403) {
    return {
      kind: 'pause',
      reason: "The access token doesn't have access to this organization. Check the tenant ID and the scopes.",
    };
  }
  const json = parseJson(response.body);
  const detail = vendorText(valueAt(json, 'Message') ?? valueAt(json, 'Detail'), [accessToken]);
  return classifyByStatus('Xero', response, { expected: [], ...(detail && { detail }), now });
}

function authorization({ accessToken, tenantId }: Config): Record<string, string> {
  return { ...bearer(accessToken), 'xero-tenant-id': tenantId };
}
