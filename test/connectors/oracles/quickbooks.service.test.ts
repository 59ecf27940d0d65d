import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import type { ConnectorRequest } from '../../../src/connectors/exchange.ts';
import { quickbooks } from '../../../src/connectors/types/quickbooks.ts';
import { type ReceivedRequest, startReceiver } from '../../support/receiver.ts';
import { drive } from '../support/drive.ts';
import { sampleEvent, vendorResponse } from '../support/samples.ts';

type Done = (error: unknown) => void;
/** The part of the package used here. The package itself has no types. */
type QuickBooksClient = {
  endpoint: string;
  createSalesReceipt(receipt: object, done: Done): void;
  findItems(criteria: string, done: Done): void;
  findSalesReceipts(criteria: string, done: Done): void;
  getPreferences(done: Done): void;
  getExchangeRate(options: object, done: Done): void;
  getCompanyInfo(id: string, done: Done): void;
};
type QuickBooksSdk = new (...settings: unknown[]) => QuickBooksClient;
const QuickBooks: QuickBooksSdk = createRequire(import.meta.url)('node-quickbooks');

const config = { accessToken: 'eyJ.qbo.token', realmId: '9130355377388383' };

async function startQuickBooks() {
  const receiver = await startReceiver(() => ({ headers: { 'content-type': 'application/json' }, body: '{}' }));
  const client = new QuickBooks('', '', config.accessToken, false, config.realmId, false, false, 75, '2.0', null);
  client.endpoint = `${receiver.url}/v3/company/`;
  return { receiver, client };
}

/** The library requests JSON with the `format` parameter; we use the `accept` header. */
function expectSame(theirs: ReceivedRequest | undefined, ours: ConnectorRequest) {
  const their = new URL(theirs?.path ?? '', 'https://quickbooks.api.intuit.com');
  const our = new URL(ours.url);
  expect(theirs?.method).toBe(ours.method);
  expect(our.pathname).toBe(their.pathname);
  expect(their.searchParams.get('format')).toBe('json');
  expect(ours.headers.accept).toBe('application/json');
  their.searchParams.delete('format');
  expect(Object.fromEntries(our.searchParams)).toEqual(Object.fromEntries(their.searchParams));
  expect(theirs?.headers.authorization).toBe(ours.headers.authorization);
}

const ANSWERS: Record<string, object> = {
  check: { QueryResponse: {} },
  dated: { QueryResponse: {} },
  preferences: { Preferences: { CurrencyPrefs: { HomeCurrency: { value: 'GBP' }, MultiCurrencyEnabled: true } } },
  item: { QueryResponse: { Item: [{ Id: '21' }] } },
  rate: { ExchangeRate: { SourceCurrencyCode: 'USD', TargetCurrencyCode: 'GBP', Rate: 0.79 } },
};

/** Returns all calls in a connector's first delivery to a company that keeps its books in pounds, by step. */
function ourRequests(eventType: 'revenue.daily_summary' | 'payment.settled'): Record<string, ConnectorRequest> {
  const stepOf = ({ step = '' }: ConnectorRequest) => step.split(':')[0]!;
  const { requests } = drive(quickbooks, config, [sampleEvent(eventType)], (request) =>
    vendorResponse(200, ANSWERS[stepOf(request)] ?? {}),
  );
  return Object.fromEntries(requests.map((request) => [stepOf(request), request]));
}

test.each(['revenue.daily_summary', 'payment.settled'] as const)(
  'the QuickBooks connector books the same sales receipt for %s as the library',
  async (eventType) => {
    const ours = ourRequests(eventType).send!;
    const receipt = JSON.parse(ours.body ?? '');
    const { receiver, client } = await startQuickBooks();
    await using _ = receiver;
    const requestId = new URL(ours.url).searchParams.get('requestid');
    await new Promise<unknown>((resolve) => client.createSalesReceipt({ ...receipt, requestId }, resolve));
    const [theirs] = await receiver.waitFor(1);
    expectSame(theirs, ours);
    expect(theirs?.headers['content-type']).toBe(ours.headers['content-type']);
    expect(JSON.parse(String(theirs?.body))).toEqual(receipt);
  },
);

test('the QuickBooks connector reads the preferences and the company from the same URLs as the library', async () => {
  const { receiver, client } = await startQuickBooks();
  await using _ = receiver;
  await new Promise<unknown>((resolve) => client.getPreferences(resolve));
  await new Promise<unknown>((resolve) => client.getCompanyInfo(config.realmId, resolve));
  const [preferences, company] = await receiver.waitFor(2);
  expectSame(preferences, ourRequests('revenue.daily_summary').preferences!);
  expectSame(company, quickbooks.probe!.build(config));
});

test('the QuickBooks connector requests the exchange rate for a day the way the library does', async () => {
  const { receiver, client } = await startQuickBooks();
  await using _ = receiver;
  const options = { sourcecurrencycode: 'USD', asofdate: '2026-01-02' };
  await new Promise<unknown>((resolve) => client.getExchangeRate(options, resolve));
  const [theirs] = await receiver.waitFor(1);
  expectSame(theirs, ourRequests('revenue.daily_summary').rate!);
});

test('the QuickBooks connector sends queries the way the library does', async () => {
  const ours = ourRequests('revenue.daily_summary').item!;
  const { receiver, client } = await startQuickBooks();
  await using _ = receiver;
  await new Promise<unknown>((resolve) => client.findItems("where Name = 'x402 API revenue'", resolve));
  const [theirs] = await receiver.waitFor(1);
  // The library can only select all columns, and writes the entity in lowercase.
  expectSame(theirs, { ...ours, url: ours.url.replace('select%20Id%20from%20Item', 'select%20*%20from%20item') });
});

test('the QuickBooks connector looks up the receipts of a day the way the library does', async () => {
  const ours = ourRequests('revenue.daily_summary').dated!;
  const { receiver, client } = await startQuickBooks();
  await using _ = receiver;
  const criteria = "where TxnDate = '2026-01-02' orderby Id startposition 1 maxresults 1000";
  await new Promise<unknown>((resolve) => client.findSalesReceipts(criteria, resolve));
  const [theirs] = await receiver.waitFor(1);
  const columns = encodeURIComponent('Id, DocNumber, PrivateNote from SalesReceipt');
  expectSame(theirs, { ...ours, url: ours.url.replace(columns, encodeURIComponent('* from salesReceipt')) });
});
