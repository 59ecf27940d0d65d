import { describe, expect, test } from 'vitest';
import type { ConnectorRequest, ConnectorResponse } from '../../../src/connectors/exchange.ts';
import { bookingOf } from '../../../src/connectors/shared/booking.ts';
import { xero } from '../../../src/connectors/types/xero.ts';
import { EVENT_TYPES } from '../../../src/events/types.ts';
import { drive } from '../support/drive.ts';
import {
  accepts,
  classifyContext,
  HOSTILE_TEXTS,
  requestOf,
  sampleContext,
  sampleEvent,
  testEvent,
  vendorResponse,
} from '../support/samples.ts';

const config = { accessToken: 'eyJ.xero.token', tenantId: '70784a63-d24b-46a9-a4db-0e70a274b056' };
const invoicesUrl = 'https://api.xero.com/api.xro/2.0/Invoices';
const day = sampleEvent('revenue.daily_summary');
const payment = sampleEvent('payment.settled');
const numberOf = (event: typeof day) => (bookingOf(event) as { number: string }).number;
const nextDay = { now: new Date('2026-01-03T00:00:05Z') };

const nothing = vendorResponse(200, { Invoices: [] });
const invoices = (...list: object[]) => vendorResponse(200, { Invoices: list });
const drafted = invoices({ InvoiceID: '5a0d…', InvoiceNumber: numberOf(day), HasErrors: false });
const refused = (...messages: string[]) =>
  vendorResponse(400, {
    ErrorNumber: 10,
    Type: 'ValidationException',
    Message: 'A validation exception occurred',
    Elements: [{ ValidationErrors: messages.map((Message) => ({ Message })) }],
  });
const duplicate = refused('Invoice # must be unique.');
const vendor = (answers: Record<string, ConnectorResponse>) => (request: ConnectorRequest) =>
  ({ check: nothing, send: drafted, ...answers })[request.step ?? ''] ?? vendorResponse(500);

describe('a Xero request', () => {
  test('drafts one invoice for a day, without tax or an account', () => {
    const { outcome, requests, steps } = drive(xero, config, [day], vendor({}));
    expect(steps).toEqual(['check', 'send']);
    expect(requests[1]).toMatchObject({
      method: 'PUT',
      url: `${invoicesUrl}?summarizeErrors=true&unitdp=4`,
      headers: {
        authorization: 'Bearer eyJ.xero.token',
        'xero-tenant-id': config.tenantId,
        'idempotency-key': expect.stringMatching(/^[0-9a-f]{32}$/),
        accept: 'application/json',
        'content-type': 'application/json',
      },
    });
    expect(JSON.parse(requests[1]?.body ?? '')).toEqual({
      Invoices: [
        {
          Type: 'ACCREC',
          Status: 'DRAFT',
          InvoiceNumber: numberOf(day),
          Reference: 'evt_01jc9x2v5qe3w8k4m6n7p9r0st',
          Contact: { Name: 'x402 API customers' },
          Date: '2026-01-02',
          DueDate: '2026-02-01',
          CurrencyCode: 'USD',
          LineAmountTypes: 'NoTax',
          LineItems: [
            {
              Description: 'Revenue for 2026-01-02 (UTC): 1204 payments from 37 customers, 12.34 USD',
              Quantity: 1,
              UnitAmount: 12.34,
            },
          ],
        },
      ],
    });
    expect(outcome.kind).toBe('delivered');
  });

  test('drafts an invoice for a payment in one call if it is sent on the same day', () => {
    const { steps, requests } = drive(xero, config, [payment], vendor({}));
    expect(steps).toEqual(['send']);
    expect(JSON.parse(requests[0]?.body ?? '').Invoices[0]).toMatchObject({
      InvoiceNumber: numberOf(payment),
      LineItems: [{ UnitAmount: 0.01 }],
    });
  });

  test('sends the same invoice on a retry', () => {
    const bodies = [1, 4].map((attemptNumber) => drive(xero, config, [day], vendor({}), { attemptNumber }).requests[1]);
    expect(bodies[1]).toEqual(bodies[0]);
  });

  test.each(EVENT_TYPES)('books nothing for a test event of %s', (eventType) => {
    expect(xero.build([testEvent(eventType)], config, sampleContext())).toHaveProperty('skip');
  });

  test.each(HOSTILE_TEXTS)('keeps hostile text inside the description: %j', (text) => {
    const event = sampleEvent('payment.settled', { endpointPath: text, transactionHash: text, paymentId: text });
    const { body = '', headers } = requestOf(xero.build([event], config, sampleContext()));
    const [invoice] = JSON.parse(body).Invoices;
    expect(invoice.InvoiceNumber).toMatch(/^[0-9A-Z-]{21}$/);
    expect(invoice.Contact).toEqual({ Name: 'x402 API customers' });
    expect(invoice.LineItems[0].Description).not.toMatch(/[\p{Cc}\p{Cs}\u202A-\u202E]/u);
    expect(headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/);
  });
});

/** A quarter before and after the day, because bookkeepers may change the dates of entries. */
const DATES = 'Date>=DateTime(2025,10,02) AND Date<=DateTime(2026,04,04)';

/** Successful responses that don't say which entries exist. */
const UNREADABLE: [string, ConnectorResponse][] = [
  ['is cut off', { ...nothing, body: '{"Invoices":[{"InvoiceID":"1"},{"Invoi' }],
  ["isn't JSON", vendorResponse(200, '<html>')],
  ['is empty', { ...nothing, body: '' }],
  ['has no list', vendorResponse(200, { Status: 'OK' })],
];

describe('Xero bank transactions', () => {
  const banked = { ...config, bankAccountCode: '090', revenueAccountCode: '200' };
  const transactionsUrl = 'https://api.xero.com/api.xro/2.0/BankTransactions';
  const list = (...transactions: object[]) => vendorResponse(200, { BankTransactions: transactions });
  const account = (change: object = {}) =>
    vendorResponse(200, {
      Accounts: [{ Code: '090', Type: 'BANK', Status: 'ACTIVE', CurrencyCode: 'USD', ...change }],
    });
  const bank = (answers: Record<string, ConnectorResponse> = {}) =>
    vendor({
      'bank-check': list(),
      'bank-account': account(),
      'bank-send': list({ BankTransactionID: 'b1' }),
      ...answers,
    });
  const known = { [`bank:${config.tenantId}:090`]: 'USD' };

  test('book a day as money received, after checking the bank account once', () => {
    const { outcome, requests, steps, memory } = drive(xero, banked, [day], bank());
    expect(steps).toEqual(['bank-check', 'bank-account', 'bank-send']);
    expect(requests[2]).toMatchObject({
      method: 'PUT',
      url: `${transactionsUrl}?summarizeErrors=true&unitdp=4`,
      headers: { 'idempotency-key': expect.stringMatching(/^[0-9a-f]{32}$/), 'xero-tenant-id': config.tenantId },
    });
    expect(JSON.parse(requests[2]?.body ?? '')).toEqual({
      BankTransactions: [
        {
          Type: 'RECEIVE',
          Contact: { Name: 'x402 API customers' },
          BankAccount: { Code: '090' },
          Date: '2026-01-02',
          Reference: `${numberOf(day)} evt_01jc9x2v5qe3w8k4m6n7p9r0st`,
          LineAmountTypes: 'NoTax',
          LineItems: [
            {
              Description: 'Revenue for 2026-01-02 (UTC): 1204 payments from 37 customers, 12.34 USD',
              Quantity: 1,
              UnitAmount: 12.34,
              AccountCode: '200',
            },
          ],
        },
      ],
    });
    expect(outcome).toEqual({ kind: 'delivered', note: `Bank transaction ${numberOf(day)}.` });
    expect(drive(xero, banked, [day], bank(), { memory }).steps).toEqual(['bank-check', 'bank-send']);
  });

  test('are looked up by their reference before each attempt', () => {
    const whereOf = (event: typeof day) =>
      new URL(requestOf(xero.build([event], banked, sampleContext())).url).searchParams.get('where');
    const start = `Type=="RECEIVE" AND ${DATES} AND Reference!=null AND `;
    expect(whereOf(day)).toBe(`${start}Reference.StartsWith("${numberOf(day)}")`);
    expect(whereOf(payment)).toBe(
      `${start}(Reference.StartsWith("${numberOf(payment)} ") OR Reference.StartsWith("${numberOf(day)} "))`,
    );
  });

  test.each([
    ['the same transaction exists', day, `${numberOf(day)} ${day.id}`, 'AUTHORISED', 'delivered'],
    ['the day is booked', payment, `${numberOf(day)} evt_other`, 'AUTHORISED', 'delivered'],
    ['a payment of the day is booked', day, `${numberOf(payment)} evt_other`, 'AUTHORISED', 'drop'],
    ['another transaction has the number', day, `${numberOf(day)} by hand`, 'AUTHORISED', 'hold'],
  ])("aren't created if %s", (_what, event, Reference, Status, kind) => {
    const check = list({ BankTransactionID: 'b1', Reference, Status });
    const { outcome, steps } = drive(xero, banked, [event], bank({ 'bank-check': check }), { memory: known });
    expect(steps).toEqual(['bank-check']);
    expect(outcome.kind).toBe(kind);
  });

  test.each(UNREADABLE)("aren't created if the lookup's response %s, because they may exist", (_what, response) => {
    for (const event of [day, payment]) {
      const { outcome, steps } = drive(xero, banked, [event], bank({ 'bank-check': response }), { memory: known });
      expect(steps).toEqual(['bank-check']);
      expect(outcome.kind).toBe('retry');
    }
    expect(drive(xero, banked, [day], bank({ 'bank-account': response })).outcome.kind).toBe('retry');
  });

  test.each(['DELETED', 'VOIDED'])('are created again if they were %s', (Status) => {
    const check = list({ Reference: `${numberOf(day)} ${day.id}`, Status });
    const { steps } = drive(xero, banked, [day], bank({ 'bank-check': check }), { memory: known });
    expect(steps).toEqual(['bank-check', 'bank-send']);
  });

  test.each([
    ['is missing', vendorResponse(200, { Accounts: [] }), /no active bank account with the code 090/],
    ["isn't a bank account", account({ Type: 'REVENUE' }), /no active bank account/],
    ['is archived', account({ Status: 'ARCHIVED' }), /no active bank account/],
    ['has another currency', account({ CurrencyCode: 'GBP' }), /has the currency GBP\. Create one in USD/],
  ])('hold the deliveries if the account %s, and the probe says so', (_what, response, reason) => {
    const { outcome, steps } = drive(xero, banked, [day], bank({ 'bank-account': response }));
    expect(steps).toEqual(['bank-check', 'bank-account']);
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringMatching(reason) });
    expect(xero.probe?.classify(response, banked, 'bank-account')).toMatchObject({
      ok: false,
      message: expect.stringMatching(reason),
    });
  });

  test('are checked by the probe', () => {
    const connections = vendorResponse(200, [{ tenantId: config.tenantId, tenantName: 'Shop' }]);
    expect(xero.probe?.classify(connections, banked, 'send')).toMatchObject({ next: { step: 'bank-account' } });
    expect(xero.probe?.classify(account(), banked, 'bank-account')).toMatchObject({ ok: true });
  });

  test.each([
    [refused("Account code '200' is not a valid code for this document."), 'pause'],
    [refused('The description is too long.'), 'drop'],
    [list({}), 'retry'],
    [vendorResponse(503), 'retry'],
    [vendorResponse(401), 'pause'],
  ])('lead to the right outcome if Xero rejects them: %j', (response, kind) => {
    expect(drive(xero, banked, [day], bank({ 'bank-send': response }), { memory: known }).outcome.kind).toBe(kind);
  });

  test('require both accounts', () => {
    expect(accepts(xero, banked)).toBe(true);
    expect(accepts(xero, { ...config, bankAccountCode: '090' })).toBe(false);
    expect(accepts(xero, { ...config, revenueAccountCode: '200' })).toBe(false);
    expect(accepts(xero, { ...banked, bankAccountCode: '0" OR 1==1' })).toBe(false);
  });
});

describe('Xero duplicates', () => {
  const own = (event: typeof day) => ({
    InvoiceID: '1',
    InvoiceNumber: numberOf(event),
    Reference: event.id,
    Status: 'DRAFT',
  });

  test("are prevented by looking up a day's invoices before booking the day", () => {
    const { method, url } = requestOf(xero.build([day], config, sampleContext()));
    expect(method).toBe('GET');
    expect(new URL(url).searchParams.get('where')).toBe(
      `${DATES} AND InvoiceNumber!=null AND InvoiceNumber.StartsWith("${numberOf(day)}")`,
    );
  });

  test('are prevented if some payments from a day are already booked and not voided', () => {
    const single = own(payment);
    expect(drive(xero, config, [day], vendor({ check: invoices(single) })).outcome.kind).toBe('drop');
    const voided = invoices({ ...single, Status: 'VOIDED' });
    expect(drive(xero, config, [day], vendor({ check: voided })).steps).toEqual(['check', 'send']);
  });

  test('are prevented even if a day has more voided invoices than Xero lists by default', () => {
    const { url, maxResponseBytes } = requestOf(xero.build([day], config, sampleContext()));
    const pageSize = Number(new URL(url).searchParams.get('pageSize'));
    expect(pageSize).toBe(1000);
    // Invoices are listed with their lines and their contact.
    expect(maxResponseBytes).toBeGreaterThanOrEqual(pageSize * 4_000);
    const list = [...Array.from({ length: 200 }, () => ({ ...own(payment), Status: 'VOIDED' })), own(payment)];
    const { outcome } = drive(xero, config, [day], vendor({ check: invoices(...list.slice(0, pageSize)) }));
    expect(outcome.kind).toBe('drop');
  });

  test.each(UNREADABLE)("are prevented if the lookup's response %s", (_what, response) => {
    for (const event of [day, payment]) {
      const { outcome, steps } = drive(xero, config, [event], vendor({ check: response }), nextDay);
      expect(steps).toEqual(['check']);
      expect(outcome.kind).toBe('retry');
    }
    const rejected = drive(xero, config, [day], vendor({ send: duplicate, 'read-back': response }));
    expect(rejected.outcome.kind).toBe('retry');
  });

  test("are prevented by looking up a late payment's day before booking the payment", () => {
    const { outcome, steps, requests } = drive(xero, config, [payment], vendor({ check: invoices(own(day)) }), nextDay);
    expect(steps).toEqual(['check']);
    expect(requests[0]?.url).toBe(`${invoicesUrl}?InvoiceNumbers=${numberOf(payment)},${numberOf(day)}`);
    expect(outcome.kind).toBe('delivered');
    expect(drive(xero, config, [payment], vendor({}), nextDay).steps).toEqual(['check', 'send']);
  });

  test("are prevented from when the payment's day can have ended in its time zone, and no attempt changes its date", () => {
    const local = sampleEvent('payment.settled', { bookingDate: '2026-01-03' });
    const at = (now: string) => drive(xero, config, [local], vendor({}), { now: new Date(now) });
    expect(at('2026-01-03T09:59:59Z').steps).toEqual(['send']);
    for (const now of ['2026-01-03T10:00:00Z', '2026-02-01T00:00:00Z']) {
      const { steps, requests } = at(now);
      expect(steps).toEqual(['check', 'send']);
      expect(JSON.parse(String(requests[1]?.body)).Invoices[0]).toMatchObject({
        Date: '2026-01-03',
        DueDate: '2026-02-02',
      });
    }
  });

  test('are prevented by looking up a rejected number, which finds the existing invoice', () => {
    const { outcome, steps, requests } = drive(
      xero,
      config,
      [day],
      vendor({ send: duplicate, 'read-back': invoices(own(day)) }),
    );
    expect(steps).toEqual(['check', 'send', 'read-back']);
    expect(requests[2]?.url).toBe(`${invoicesUrl}?InvoiceNumbers=${numberOf(day)}`);
    expect(outcome).toEqual({ kind: 'delivered', note: `${numberOf(day)} is already booked.` });
  });

  test.each([
    ['another invoice has the number', invoices({ ...own(day), Reference: 'by hand' })],
    ['the invoice is hidden', nothing],
  ])('hold the delivery if %s', (_case, readBack) => {
    const { outcome } = drive(xero, config, [day], vendor({ send: duplicate, 'read-back': readBack }));
    expect(outcome).toMatchObject({ kind: 'hold', reason: expect.stringMatching(/^Renumber .*12\.34 USD/) });
  });

  test('cause a retry if the lookup fails', () => {
    expect(drive(xero, config, [day], vendor({ send: duplicate, 'read-back': vendorResponse(503) })).outcome.kind).toBe(
      'retry',
    );
  });
});

describe('reading Xero responses', () => {
  const classify = (response: ConnectorResponse, step = 'send') =>
    xero.classify(response, classifyContext(config, day, { step }));

  test.each([
    ['a created draft', drafted, 'delivered'],
    ['200 with errors', invoices({ HasErrors: true, ValidationErrors: [{ Message: 'bad' }] }), 'drop'],
    [
      '200 with an error status',
      invoices({ StatusAttributeString: 'ERROR', ValidationErrors: [{ Message: 'bad' }] }),
      'drop',
    ],
    [
      '200 with a number that is taken',
      invoices({ HasErrors: true, ValidationErrors: [{ Message: 'Invoice # must be unique.' }] }),
      'next',
    ],
    ['200 without an invoice', nothing, 'retry'],
    ['200 without JSON', vendorResponse(200, '<html>'), 'retry'],
    ['a rejected value', refused('The description is too long.'), 'drop'],
    ['a locked date', refused('The document date cannot be before the lock date.'), 'hold'],
    [
      "a currency that the organization doesn't have",
      refused('Organisation is not subscribed to currency USD'),
      'pause',
    ],
    ['a number that is taken', duplicate, 'next'],
    ['an expired token', vendorResponse(401, { Title: 'Unauthorized', Detail: 'TokenExpired' }), 'pause'],
    [
      'another tenant or scope',
      vendorResponse(403, { Title: 'Forbidden', Detail: 'AuthenticationUnsuccessful' }),
      'pause',
    ],
    ['429', vendorResponse(429), 'retry'],
    ['500', vendorResponse(500), 'retry'],
    ['503', vendorResponse(503), 'retry'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('waits a minute for the minute limit and an hour for the daily limit', () => {
    const limited = (headers: Record<string, string>) => classify(vendorResponse(429, '', headers));
    expect(limited({ 'x-rate-limit-problem': 'minute' })).toMatchObject({ afterSeconds: 60 });
    expect(limited({ 'x-rate-limit-problem': 'Day' })).toMatchObject({ afterSeconds: 3600 });
    expect(limited({ 'x-rate-limit-problem': 'day', 'retry-after': '30000' })).toMatchObject({ afterSeconds: 30_000 });
  });

  test('classifies the lookups before an entry the way it classifies the entry, and never reveals the token', () => {
    expect(classify(vendorResponse(401), 'check').kind).toBe('pause');
    expect(classify(vendorResponse(503), 'check').kind).toBe('retry');
    expect(classify(vendorResponse(204), 'check').kind).toBe('drop');
    expect(JSON.stringify(classify(refused('bad eyJ.xero.token')))).not.toContain('eyJ.xero.token');
  });
});

describe('the Xero config', () => {
  test.each([
    [{}, true],
    [{ tenantId: '70784A63-D24B-46A9-A4DB-0E70A274B056' }, true],
    [{ tenantId: 'acme' }, false],
    [{ tenantId: undefined }, false],
    [{ accessToken: 'two words' }, false],
    [{ accessToken: undefined }, false],
    [{ accountCode: '200' }, false],
  ])('accepts %j: %s', (change, isGood) => {
    expect(accepts(xero, { ...config, ...change })).toBe(isGood);
  });
});

describe('the Xero probe', () => {
  const probe = (response: ConnectorResponse) => xero.probe?.classify(response, config, 'send');

  test("looks for the tenant in the token's connections", () => {
    expect(xero.probe?.build(config)).toEqual({
      method: 'GET',
      url: 'https://api.xero.com/connections',
      headers: { authorization: 'Bearer eyJ.xero.token', accept: 'application/json' },
    });
    expect(probe(vendorResponse(200, [{ tenantId: config.tenantId.toUpperCase(), tenantName: 'Acme\n(AU)' }]))).toEqual(
      {
        ok: true,
        message: 'The token works for the organization Acme (AU).',
      },
    );
    expect(probe(vendorResponse(200, [{ tenantId: 'other', tenantName: 'Other' }]))).toMatchObject({ ok: false });
    expect(probe(vendorResponse(200, '<html>'))).toMatchObject({ ok: false });
    expect(probe(vendorResponse(401))).toMatchObject({ ok: false, message: expect.stringContaining('save a new one') });
  });
});
