import type { ClassifyContext, Outcome } from '../definition.ts';
import type { ConnectorRequest, ConnectorResponse } from '../exchange.ts';
import { type Booking, judgeBooked } from '../shared/booking.ts';
import { retry, valueAt, vendorText } from '../shared/classify.ts';
import { derivedId, resendSuffix } from '../shared/derived-id.ts';
import {
  bookedIn,
  CONTACT_NAME,
  type Config,
  classifyError,
  create,
  createdIn,
  dateFilter,
  find,
  findWhere,
  listIn,
  UNREADABLE,
} from './xero-api.ts';
import { classifyRejection } from './xero-rejection.ts';

/**
 * Books revenue as money received in a bank account that represents the wallet
 * (https://developer.xero.com/documentation/api/accounting/banktransactions). Bank transactions have no unique number,
 * so their reference starts with our number, and each attempt first looks for it.
 */
const RESOURCE = 'BankTransactions';
const CHECK = 'bank-check';
const ACCOUNT = 'bank-account';

/** A bank transaction uses its account's currency, so the account must use the currency of our amounts. */
const BOOKED_CURRENCY = 'USD';

type Context = ClassifyContext<Config> & { booking: Booking };

/** Finds our transactions for the day: the one for the total and, if a day is booked, those for individual payments. */
export function findReceived({ isDayTotal, date, number, dayNumber }: Booking, config: Config): ConnectorRequest {
  const isOurs = isDayTotal
    ? `Reference.StartsWith("${dayNumber}")`
    : `(Reference.StartsWith("${number} ") OR Reference.StartsWith("${dayNumber} "))`;
  const filter = `Type=="RECEIVE" AND ${dateFilter(date)} AND Reference!=null AND ${isOurs}`;
  return findWhere(RESOURCE, filter, config, CHECK);
}

/** The outcome of a response to one of this file's requests. */
export function classifyReceived(response: ConnectorResponse, context: Context): Outcome {
  const { booking, config, memory, now, step } = context;
  if (step !== CHECK && step !== ACCOUNT) return classifyCreated(response, context);
  if (response.statusCode !== 200) return classifyError(response, config, now);
  const request = createReceived(booking, config, context);
  if (step === ACCOUNT) {
    if (!listIn(response, 'Accounts')) return UNREADABLE;
    const problem = accountProblem(response, config);
    if (problem) return { kind: 'pause', reason: problem };
    return { kind: 'next', request, remember: { [accountKey(config)]: BOOKED_CURRENCY } };
  }
  const documents = documentsIn(response);
  if (!documents) return UNREADABLE;
  const verdict = judgeBooked(booking, documents);
  if (verdict) return verdict;
  return { kind: 'next', request: memory[accountKey(config)] === BOOKED_CURRENCY ? request : findAccount(config) };
}

export function findAccount(config: Config): ConnectorRequest {
  return find('Accounts', `where=${encodeURIComponent(`Code=="${config.bankAccountCode}"`)}`, config, ACCOUNT);
}

/** Why revenue can't be booked to the bank account, or undefined if it can. */
export function accountProblem(response: ConnectorResponse, { bankAccountCode }: Config): string | undefined {
  const account = listIn(response, 'Accounts')?.find((entry) => valueAt(entry, 'Code') === bankAccountCode);
  if (valueAt(account, 'Type') !== 'BANK' || valueAt(account, 'Status') !== 'ACTIVE') {
    return `Xero has no active bank account with the code ${bankAccountCode}. Check the bank account code.`;
  }
  const currency = vendorText(valueAt(account, 'CurrencyCode'), [], 10);
  if (currency === BOOKED_CURRENCY) return undefined;
  return `The bank account ${bankAccountCode} has the currency ${currency || 'of the organization'}. Create one in ${BOOKED_CURRENCY} in Xero, and use its code.`;
}

function createReceived(booking: Booking, config: Config, context: Context): ConnectorRequest {
  const { amountUsd, date, description, number, reference } = booking;
  const { bankAccountCode, revenueAccountCode } = config;
  const line = { Description: description, Quantity: 1, UnitAmount: amountUsd, AccountCode: revenueAccountCode };
  const transaction = {
    Type: 'RECEIVE',
    Contact: { Name: CONTACT_NAME },
    BankAccount: { Code: bankAccountCode },
    Date: date,
    Reference: `${number} ${reference}`,
    LineAmountTypes: 'NoTax',
    LineItems: [line],
  };
  const parts = [reference, bankAccountCode, revenueAccountCode, ...resendSuffix(context)];
  const key = derivedId(parts.join(':'), context.connectorId);
  return create(RESOURCE, transaction, config, key, 'bank-send');
}

function documentsIn(response: ConnectorResponse): { number: unknown; reference: unknown }[] | undefined {
  return bookedIn(response, RESOURCE)?.map((transaction) => {
    const reference = String(valueAt(transaction, 'Reference') ?? '');
    return { number: reference.split(' ')[0], reference };
  });
}

function classifyCreated(response: ConnectorResponse, { booking, config, now }: Context): Outcome {
  const created = createdIn(response, RESOURCE);
  if (!created) return classifyError(response, config, now);
  if ('entry' in created) {
    return typeof valueAt(created.entry, 'BankTransactionID') === 'string'
      ? { kind: 'delivered', note: `Bank transaction ${booking.number}.` }
      : retry("Xero didn't confirm the bank transaction.");
  }
  return classifyRejection(created.messages, booking, config);
}

function accountKey({ tenantId, bankAccountCode }: Config): string {
  return `bank:${tenantId}:${bankAccountCode}`;
}
