import { type BuildContext, defineConnector, type Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { bearer } from '../shared/bearer.ts';
import { type Booking, bookingOf, isBooked, judgeBooked, numberTaken } from '../shared/booking.ts';
import { failedProbe, parseJson, retry, valueAt, vendorText } from '../shared/classify.ts';
import { derivedId, resendSuffix } from '../shared/derived-id.ts';
import { authorizationUrl, oauthClient } from '../shared/oauth-client.ts';
import {
  API_URL,
  bookedIn,
  CONNECT_AGAIN,
  CONTACT_NAME,
  type Config,
  classifyError,
  config,
  create,
  createdIn,
  dateFilter,
  daysAfter,
  find,
  findWhere,
  UNREADABLE,
} from './xero-api.ts';
import { accountProblem, classifyReceived, findAccount, findReceived } from './xero-bank.ts';
import { classifyRejection } from './xero-rejection.ts';

/** How long a person has to record the payment of an invoice before it counts as overdue. */
const DAYS_UNTIL_DUE = 30;

/**
 * Creates draft sales invoices (https://developer.xero.com/documentation/api/accounting/invoices) for a person to
 * approve or, if the config specifies the accounts, bank transactions.
 */
export const xero = defineConnector<Config>({
  type: 'xero',
  title: 'Xero',
  category: 'Accounting',
  description:
    "Books each day's revenue, or each payment if daily summaries aren't selected: as money received in a bank account, or as a draft invoice that you approve and mark as paid.",
  documentationUrl: 'https://developer.xero.com/documentation/guides/oauth2/overview/',
  config,
  credential: oauthClient({
    vendor: 'Xero',
    tokenUrl: () => 'https://identity.xero.com/connect/token',
    advice: CONNECT_AGAIN,
    grant: {
      vendor: 'xero',
      title: 'Xero',
      authorizationUrl: () =>
        authorizationUrl('https://login.xero.com/identity/connect/authorize', {
          scope: 'offline_access accounting.invoices accounting.banktransactions accounting.settings.read',
        }),
    },
  }),
  supportsEvent: isBooked,
  repeatsResponses: true,
  // At most five requests can run at the same time.
  vendorLimit: {
    count: 60,
    perSeconds: 60,
    burst: 3,
    // The connector looks for an existing invoice before it creates one.
    requestsPerDelivery: 2,
    documentationUrl: 'https://developer.xero.com/documentation/guides/oauth2/limits/',
  },

  build([event], config, context) {
    const { now } = context;
    const booking = bookingOf(event);
    if ('skip' in booking) return booking;
    if (config.bankAccountCode) return findReceived(booking, config);
    if (booking.isDayTotal) return findDay(booking, config);
    // A daily total can't exist before the day ends, so there is nothing to look for when a payment is booked the same
    // day.
    return now >= booking.dayEndsAt ? findNumbers(booking, config, 'check') : createInvoice(booking, config, context);
  },

  classify(response, context) {
    const { config, events, step, now } = context;
    const [event] = events;
    const booking = event && bookingOf(event);
    if (!booking || 'skip' in booking) return { kind: 'drop', reason: 'There is nothing to book.' };
    if (step.startsWith('bank-')) return classifyReceived(response, { ...context, booking });
    if (step === 'send') return classifyInvoice(response, booking, config, now);
    if (response.statusCode !== 200) return classifyError(response, config, now);
    const documents = documentsIn(response);
    if (!documents) return UNREADABLE;
    const verdict = judgeBooked(booking, documents);
    if (verdict) return verdict;
    if (step === 'check') return { kind: 'next', request: createInvoice(booking, config, context) };
    // Xero says that the number exists, but doesn't return the invoice.
    return numberTaken(booking);
  },

  probe: {
    build: (config) => ({
      method: 'GET',
      url: `${API_URL}/connections`,
      headers: bearer(config.accessToken),
    }),
    classify(response, config, step) {
      if (response.statusCode !== 200) {
        return failedProbe('Xero', classifyError(response, config, new Date(0)));
      }
      if (step.startsWith('bank-')) {
        const problem = accountProblem(response, config);
        return problem
          ? { ok: false, message: problem }
          : { ok: true, message: 'The token works, and the bank account is valid.' };
      }
      const tenants = parseJson(response.body);
      const wanted = config.tenantId.toLowerCase();
      const tenant = (Array.isArray(tenants) ? tenants : []).find(
        (entry) => String(valueAt(entry, 'tenantId')).toLowerCase() === wanted,
      );
      if (!tenant) return { ok: false, message: "The token works, but it isn't connected to this tenant ID." };
      if (config.bankAccountCode) return { next: findAccount(config) };
      const name = vendorText(valueAt(tenant, 'tenantName'), [config.accessToken], 60);
      return { ok: true, message: `The token works for the organization ${name}.` };
    },
  },
});

function createInvoice(booking: Booking, config: Config, context: BuildContext): ConnectorRequest {
  const { amountUsd, date, description, number, reference } = booking;
  const invoice = {
    Type: 'ACCREC',
    Status: 'DRAFT',
    InvoiceNumber: number,
    Reference: reference,
    Contact: { Name: CONTACT_NAME },
    Date: date,
    // The money has already been received.
    DueDate: daysAfter(date, DAYS_UNTIL_DUE),
    CurrencyCode: 'USD',
    LineAmountTypes: 'NoTax',
    LineItems: [{ Description: description, Quantity: 1, UnitAmount: amountUsd }],
  };
  // PUT rejects a number that already exists; POST would overwrite that invoice.
  const key = derivedId([reference, ...resendSuffix(context)].join(':'), context.connectorId);
  return create('Invoices', invoice, config, key, 'send');
}

/** Finds our invoices for the day: the one for the total, and any for individual payments. */
function findDay({ date, dayNumber }: Booking, config: Config): ConnectorRequest {
  const filter = `${dateFilter(date)} AND InvoiceNumber!=null AND InvoiceNumber.StartsWith("${dayNumber}")`;
  return findWhere('Invoices', filter, config, 'check');
}

function findNumbers({ number, dayNumber }: Booking, config: Config, step: string): ConnectorRequest {
  return find('Invoices', `InvoiceNumbers=${[...new Set([number, dayNumber])].join(',')}`, config, step);
}

function documentsIn(response: ConnectorResponse): { number: unknown; reference: unknown }[] | undefined {
  return bookedIn(response, 'Invoices')?.map((invoice) => ({
    number: valueAt(invoice, 'InvoiceNumber'),
    reference: valueAt(invoice, 'Reference'),
  }));
}

function classifyInvoice(response: ConnectorResponse, booking: Booking, config: Config, now: Date): Outcome {
  const created = createdIn(response, 'Invoices');
  if (!created) return classifyError(response, config, now);
  if ('entry' in created) {
    if (typeof valueAt(created.entry, 'InvoiceID') === 'string')
      return { kind: 'delivered', note: `Draft invoice ${booking.number}.` };
    // Xero may have created the invoice. If so, it rejects the number on the next attempt.
    return retry("Xero didn't confirm the invoice.");
  }
  const { messages } = created;
  if (messages.some((message) => /must be unique|already exists/i.test(message))) {
    return { kind: 'next', request: findNumbers(booking, config, 'read-back') };
  }
  return classifyRejection(messages, booking, config);
}
