import { describe, expect, test } from 'vitest';
import { AccountingApi } from 'xero-node';
import type { ConnectorRequest } from '../../../src/connectors/exchange.ts';
import { xero } from '../../../src/connectors/types/xero.ts';
import { type ReceivedRequest, startReceiver } from '../../support/receiver.ts';
import { drive } from '../support/drive.ts';
import { requestOf, sampleContext, sampleEvent, vendorResponse } from '../support/samples.ts';

const config = { accessToken: 'eyJ.xero.token', tenantId: '70784a63-d24b-46a9-a4db-0e70a274b056' };

async function startXero() {
  const receiver = await startReceiver(() => ({
    headers: { 'content-type': 'application/json' },
    body: '{"Invoices":[]}',
  }));
  const api = new AccountingApi();
  api.basePath = `${receiver.url}/api.xro/2.0`;
  api.accessToken = config.accessToken;
  return { receiver, api };
}

function expectSame(theirs: ReceivedRequest | undefined, ours: ConnectorRequest) {
  const their = new URL(theirs?.path ?? '', 'https://api.xero.com');
  const our = new URL(ours.url);
  expect(theirs?.method).toBe(ours.method);
  expect(our.pathname).toBe(their.pathname);
  expect(Object.fromEntries(our.searchParams)).toEqual(Object.fromEntries(their.searchParams));
  for (const name of ['authorization', 'xero-tenant-id', 'accept']) {
    expect(theirs?.headers[name]).toBe(ours.headers[name]);
  }
}

test.each(['revenue.daily_summary', 'payment.settled'] as const)(
  'the Xero connector drafts the same invoice for %s as Xero’s library',
  async (eventType) => {
    const { requests } = drive(xero, config, [sampleEvent(eventType)], () => vendorResponse(200, { Invoices: [] }));
    const ours = requests.at(-1)!;
    const [invoice] = JSON.parse(ours.body ?? '').Invoices;
    const { receiver, api } = await startXero();
    await using _ = receiver;
    const line = invoice.LineItems[0];
    const theirInvoice = {
      type: invoice.Type,
      status: invoice.Status,
      invoiceNumber: invoice.InvoiceNumber,
      reference: invoice.Reference,
      contact: { name: invoice.Contact.Name },
      date: invoice.Date,
      dueDate: invoice.DueDate,
      currencyCode: invoice.CurrencyCode,
      lineAmountTypes: invoice.LineAmountTypes,
      lineItems: [{ description: line.Description, quantity: line.Quantity, unitAmount: line.UnitAmount }],
    };
    await api.createInvoices(config.tenantId, { invoices: [theirInvoice] }, true, 4, ours.headers['idempotency-key']);

    const [theirs] = await receiver.waitFor(1);
    expectSame(theirs, ours);
    expect(theirs?.headers['idempotency-key']).toBe(ours.headers['idempotency-key']);
    expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
    // Neither our JSON nor the library's includes undefined members.
    expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body ?? ''));
  },
);

test('the Xero connector looks up the invoices for a day the way the library does', async () => {
  const ours = requestOf(xero.build([sampleEvent('revenue.daily_summary')], config, sampleContext()));
  const where = new URL(ours.url).searchParams.get('where') ?? '';
  const { receiver, api } = await startXero();
  await using _ = receiver;
  const none = undefined;
  await api.getInvoices(
    config.tenantId,
    ...([none, where, none, none, none, none, none, 1, none, none, none, none, 1000] as const),
  );
  expectSame((await receiver.waitFor(1))[0], ours);
});

test('the Xero connector looks up invoice numbers the way the library does', async () => {
  const late = sampleContext({ now: new Date('2026-01-03T00:00:05Z') });
  const ours = requestOf(xero.build([sampleEvent('payment.settled')], config, late));
  const numbers = new URL(ours.url).searchParams.get('InvoiceNumbers')?.split(',') ?? [];
  const { receiver, api } = await startXero();
  await using _ = receiver;
  await api.getInvoices(config.tenantId, undefined, undefined, undefined, undefined, numbers);
  expectSame((await receiver.waitFor(1))[0], ours);
});

describe('the Xero connector with a bank account', () => {
  const banked = { ...config, bankAccountCode: '090', revenueAccountCode: '200' };
  const account = { Code: '090', Type: 'BANK', Status: 'ACTIVE', CurrencyCode: 'USD' };
  const requestsFor = (eventType: 'revenue.daily_summary' | 'payment.settled') =>
    drive(xero, banked, [sampleEvent(eventType)], ({ step }) =>
      vendorResponse(200, step === 'bank-account' ? { Accounts: [account] } : { BankTransactions: [] }),
    ).requests;

  test.each(['revenue.daily_summary', 'payment.settled'] as const)(
    'books the same bank transaction for %s as Xero’s library',
    async (eventType) => {
      const ours = requestsFor(eventType).find(({ step }) => step === 'bank-send')!;
      const [transaction] = JSON.parse(ours.body ?? '').BankTransactions;
      const { receiver, api } = await startXero();
      await using _ = receiver;
      const line = transaction.LineItems[0];
      const theirTransaction = {
        type: transaction.Type,
        contact: { name: transaction.Contact.Name },
        bankAccount: { code: transaction.BankAccount.Code },
        date: transaction.Date,
        reference: transaction.Reference,
        lineAmountTypes: transaction.LineAmountTypes,
        lineItems: [
          {
            description: line.Description,
            quantity: line.Quantity,
            unitAmount: line.UnitAmount,
            accountCode: line.AccountCode,
          },
        ],
      };
      const key = ours.headers['idempotency-key'];
      await api.createBankTransactions(config.tenantId, { bankTransactions: [theirTransaction] }, true, 4, key);
      const [theirs] = await receiver.waitFor(1);
      expectSame(theirs, ours);
      expect(theirs?.headers['idempotency-key']).toBe(key);
      expect(JSON.parse(String(theirs?.body))).toEqual(JSON.parse(ours.body ?? ''));
    },
  );

  test('looks up its transactions and the account the way the library does', async () => {
    const [check, accounts] = requestsFor('revenue.daily_summary');
    const whereOf = ({ url }: ConnectorRequest) => new URL(url).searchParams.get('where') ?? '';
    const { receiver, api } = await startXero();
    await using _ = receiver;
    const none = undefined;
    await api.getBankTransactions(config.tenantId, none, whereOf(check!), none, 1, none, 1000);
    await api.getAccounts(config.tenantId, none, whereOf(accounts!));
    const [theirCheck, theirAccounts] = await receiver.waitFor(2);
    expectSame(theirCheck, check!);
    expectSame(theirAccounts, accounts!);
  });
});
