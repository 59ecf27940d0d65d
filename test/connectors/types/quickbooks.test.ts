import { describe, expect, test } from 'vitest';
import type { ConnectorResponse } from '../../../src/connectors/exchange.ts';
import { quickbooks } from '../../../src/connectors/types/quickbooks.ts';
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
import {
  baseUrl,
  booked,
  company,
  config,
  day,
  fault,
  memory,
  nothing,
  numberOf,
  payment,
  preferences,
  queryOf,
  rate,
  receipts,
} from './quickbooks-company.ts';

describe('a QuickBooks request', () => {
  test('books a day as one sales receipt if the company and the item are known', () => {
    const { outcome, requests, steps } = drive(quickbooks, config, [day], company(), { memory });
    expect(steps).toEqual(['check', 'dated:1', 'send']);
    const url = new URL(requests[2]?.url ?? '');
    expect(requests[2]).toMatchObject({
      method: 'POST',
      headers: {
        authorization: 'Bearer eyJ.qbo.token',
        accept: 'application/json',
        'content-type': 'application/json',
      },
    });
    expect(url.origin + url.pathname).toBe(`${baseUrl}/salesreceipt`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      minorversion: '75',
      requestid: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
    });
    expect(JSON.parse(requests[2]?.body ?? '')).toEqual({
      TxnDate: '2026-01-02',
      DocNumber: numberOf(day),
      PrivateNote: `${numberOf(day)} evt_01jc9x2v5qe3w8k4m6n7p9r0st`,
      Line: [
        {
          DetailType: 'SalesItemLineDetail',
          Amount: 12.34,
          Description: 'Revenue for 2026-01-02 (UTC): 1204 payments from 37 customers, 12.34 USD',
          SalesItemLineDetail: { ItemRef: { value: '21' }, Qty: 1, UnitPrice: 12.34 },
        },
      ],
    });
    expect(outcome).toEqual({ kind: 'delivered', note: `Sales receipt ${numberOf(day)}.` });
  });

  test('first looks up the currency and the item, and remembers both', () => {
    const { steps, requests, memory: remembered } = drive(quickbooks, config, [day], company());
    expect(steps).toEqual(['check', 'dated:1', 'preferences', 'item', 'send']);
    expect(requests[2]?.url).toBe(`${baseUrl}/preferences?minorversion=75`);
    expect(requests[3] && queryOf(requests[3])).toBe("select Id from Item where Name = 'x402 API revenue'");
    expect(remembered).toEqual(memory);
  });

  test('sends to the sandbox only if configured', () => {
    const built = quickbooks.build([day], { ...config, environment: 'sandbox' }, sampleContext());
    expect(requestOf(built).url).toContain('https://sandbox-quickbooks.api.intuit.com/v3/company/');
  });

  test('sends the same bytes on a retry', () => {
    const tries = [1, 5].map((attemptNumber) => drive(quickbooks, config, [day], company(), { memory, attemptNumber }));
    expect(tries[1]?.requests).toEqual(tries[0]?.requests);
  });

  test.each(EVENT_TYPES)('books nothing for a test event of %s', (eventType) => {
    expect(quickbooks.build([testEvent(eventType)], config, sampleContext())).toHaveProperty('skip');
  });

  test('books nothing if a day’s total is less than a cent', () => {
    const built = quickbooks.build(
      [sampleEvent('revenue.daily_summary', { totalUsd: '0.004' })],
      config,
      sampleContext(),
    );
    expect(built).toEqual({ skip: 'Nothing to book: 0.004 USD rounds to 0.00.' });
  });

  test.each(HOSTILE_TEXTS)('keeps hostile text inside the description: %j', (text) => {
    const event = sampleEvent('payment.settled', { endpointPath: text, transactionHash: text, paymentId: text });
    const { requests } = drive(quickbooks, config, [event], company(), { memory });
    expect(queryOf(requests[0]!)).toMatch(
      /^select \* from SalesReceipt where DocNumber in \('[0-9A-Z-]+', '[0-9A-Z]+'\) maxresults 5$/,
    );
    const { DocNumber, Line, ...rest } = JSON.parse(requests[2]?.body ?? '');
    expect(rest).toEqual({ TxnDate: '2026-01-02', PrivateNote: `${DocNumber} evt_01jc9x2v5qe3w8k4m6n7p9r0st` });
    expect(DocNumber).toMatch(/^[0-9A-Z-]{21}$/);
    expect(Line[0].Description).not.toMatch(/[\p{Cc}\p{Cs}\u202A-\u202E]/u);
  });
});

describe('QuickBooks duplicates', () => {
  const steps = (event: typeof day, answers: Record<string, ConnectorResponse>) =>
    drive(quickbooks, config, [event], company(answers), { memory });
  const dayReceipt = { Id: '1', DocNumber: numberOf(day), PrivateNote: day.id };

  test("are prevented by looking up a day's documents before booking the day", () => {
    const request = requestOf(quickbooks.build([day], config, sampleContext()));
    expect(request.method).toBe('GET');
    expect(queryOf(request)).toBe(`select * from SalesReceipt where DocNumber like '${numberOf(day)}%' maxresults 5`);
  });

  test('are prevented if the receipt already exists', () => {
    const { outcome, steps: taken } = steps(day, { check: receipts(dayReceipt) });
    expect(taken).toEqual(['check']);
    expect(outcome).toEqual({ kind: 'delivered', note: `${numberOf(day)} is already booked.` });
  });

  test('are prevented if another document has the number, and that document stays unchanged', () => {
    const { outcome } = steps(day, { check: receipts({ ...dayReceipt, PrivateNote: 'manually' }) });
    expect(outcome).toMatchObject({
      kind: 'hold',
      reason: expect.stringMatching(/^Renumber .*12\.34 USD for 2026-01-02/),
    });
  });

  test("are prevented if a payment's day is already booked", () => {
    const { outcome, steps: taken } = steps(payment, { check: receipts(dayReceipt) });
    expect(taken).toEqual(['check']);
    expect(outcome.kind).toBe('delivered');
  });

  test('are prevented if some payments from a day are already booked', () => {
    const single = { Id: '2', DocNumber: numberOf(payment), PrivateNote: payment.id };
    const { outcome, steps: taken } = steps(day, { check: receipts(single) });
    expect(taken).toEqual(['check']);
    expect(outcome).toMatchObject({ kind: 'drop', reason: expect.stringContaining('manually') });
  });

  test('cause another lookup if QuickBooks reports that the number already exists', () => {
    const duplicate = fault(400, 'ValidationFault', '6140', 'Duplicate Document Number Error');
    expect(steps(day, { send: duplicate }).outcome).toMatchObject({ kind: 'retry', afterSeconds: 60 });
    const third = drive(quickbooks, config, [day], company({ send: duplicate }), { memory, attemptNumber: 3 });
    expect(third.outcome.kind).toBe('hold');
  });

  test('are prevented by one request ID for each company, event, and item, unless someone resends the event', () => {
    const requestId = (overrides: object) => {
      const { requests } = drive(quickbooks, config, [day], company(), { memory, ...overrides });
      return new URL(requests.at(-1)?.url ?? '').searchParams.get('requestid');
    };
    expect(requestId({ attemptNumber: 9 })).toBe(requestId({}));
    expect(requestId({ memory: { ...memory, 'item:9130355377388383': '22' } })).not.toBe(requestId({}));
    expect(requestId({ connectorId: 'con_2' })).toBe(requestId({}));
    expect(requestId({ resentAt: 2, attemptNumber: 2 })).not.toBe(requestId({}));
    expect(requestId({ resentAt: 2, attemptNumber: 3 })).toBe(requestId({ resentAt: 2, attemptNumber: 2 }));
    expect(requestId({ resentAt: 3, attemptNumber: 3 })).not.toBe(requestId({ resentAt: 2, attemptNumber: 3 }));
  });
});

describe('the QuickBooks company', () => {
  test('must have the item, because creating it would mean choosing an account', () => {
    const { outcome, steps } = drive(quickbooks, config, [day], company({ item: nothing }));
    expect(steps).toEqual(['check', 'dated:1', 'preferences', 'item']);
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringContaining('"x402 API revenue"') });
  });

  test("must have multicurrency turned on if its books aren't in dollars", () => {
    const { outcome, steps } = drive(quickbooks, config, [day], company({ preferences: preferences('CAD') }));
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringContaining('CAD') });
    expect(steps).toEqual(['check', 'dated:1', 'preferences']);
  });

  test('gets entries in dollars at its own exchange rate for the day if its books are in another currency', () => {
    const british = company({ preferences: preferences('GBP', true), rate: rate('GBP', 0.7893) });
    const event = sampleEvent('revenue.daily_summary', { totalUsd: '1234.57' });
    const { outcome, requests, steps, memory: remembered } = drive(quickbooks, config, [event], british);
    expect(steps).toEqual(['check', 'dated:1', 'preferences', 'item', 'rate:GBP', 'send']);
    expect(requests[4]).toMatchObject({
      method: 'GET',
      url: `${baseUrl}/exchangerate?minorversion=75&sourcecurrencycode=USD&asofdate=2026-01-02`,
    });
    expect(JSON.parse(requests[5]?.body ?? '')).toMatchObject({
      CurrencyRef: { value: 'USD' },
      ExchangeRate: 0.7893,
      Line: [{ Amount: 1234.57 }],
    });
    expect(outcome.kind).toBe('delivered');

    // Rates change daily, so the next delivery requests the rate again.
    const next = drive(quickbooks, config, [event], british, { memory: remembered });
    expect(next.steps).toEqual(['check', 'dated:1', 'rate:GBP', 'send']);
    expect(next.requests[3]?.body).toBe(requests[5]?.body);
  });

  test.each([
    ['no rate', vendorResponse(200, { time: '2026-01-03T00:00:10Z' })],
    ['a rate of zero', rate('GBP', 0)],
    ['a rate that is not a number', rate('GBP', '0.79')],
    ['a rate into another currency', rate('EUR', 0.9)],
    ['a fault', fault(400, 'ValidationFault', '2500', 'Invalid Reference Id')],
    ['404', vendorResponse(404)],
  ])('gets no entry if its books are in another currency and QuickBooks responds with %s', (_case, response) => {
    const british = company({ preferences: preferences('GBP', true), rate: response });
    const { outcome, steps } = drive(quickbooks, config, [day], british);
    expect(steps.at(-1)).toBe('rate:GBP');
    expect(outcome).toEqual({
      kind: 'pause',
      reason: expect.stringMatching(/no exchange rate from USD to GBP for 2026-01-02/),
    });
  });

  test("is asked for its rate again if the response can't be read", () => {
    const answers = { preferences: preferences('GBP', true), rate: vendorResponse(200, '<html>') };
    expect(drive(quickbooks, config, [day], company(answers)).outcome.kind).toBe('retry');
  });

  test.each([
    ['names no currency', vendorResponse(200, { Preferences: { CurrencyPrefs: {} } }), 'pause'],
    ['names an invalid currency', preferences('pounds', true), 'pause'],
    ['has no readable preferences', vendorResponse(404), 'pause'],
    ['returns an unrelated response', vendorResponse(200, {}), 'retry'],
  ])("isn't assumed to have books in dollars if it %s", (_case, response, kind) => {
    const { outcome, steps } = drive(quickbooks, config, [day], company({ preferences: response }));
    expect(steps).toEqual(['check', 'dated:1', 'preferences']);
    expect(outcome.kind).toBe(kind);
  });

  test.each(['home', 'foreign'])('is asked for its currency if the remembered one is "%s"', (known) => {
    const older = { ...memory, 'currency:9130355377388383': known };
    const { steps } = drive(quickbooks, config, [day], company(), { memory: older });
    expect(steps).toEqual(['check', 'dated:1', 'preferences', 'send']);
  });

  test.each(['2500', '610'])('has its item looked up again after code %s', (code) => {
    const { outcome, memory: remembered } = drive(
      quickbooks,
      config,
      [day],
      company({ send: fault(400, 'ValidationFault', code, 'Invalid Reference Id') }),
      { memory },
    );
    expect(outcome.kind).toBe('retry');
    expect(drive(quickbooks, config, [day], company(), { memory: remembered }).steps).toEqual([
      'check',
      'dated:1',
      'item',
      'send',
    ]);
  });
});

describe('the accounts and the tax of a QuickBooks receipt', () => {
  const settings = { ...config, itemId: '77', depositAccountId: '35', taxCodeId: '4' };
  const receiptOf = (
    settings: typeof config,
    answers: Record<string, ConnectorResponse> = {},
    overrides: object = {},
  ) => drive(quickbooks, settings, [day], company(answers), { memory, ...overrides });
  const sent = (settings: typeof config) => JSON.parse(receiptOf(settings).requests.at(-1)?.body ?? '');

  test('come from the config, and the item is not looked up by its name', () => {
    const { steps } = drive(quickbooks, settings, [day], company());
    expect(steps).toEqual(['check', 'dated:1', 'preferences', 'send']);
    expect(sent(settings)).toMatchObject({
      DepositToAccountRef: { value: '35' },
      GlobalTaxCalculation: 'TaxInclusive',
      Line: [{ SalesItemLineDetail: { ItemRef: { value: '77' }, TaxCodeRef: { value: '4' }, TaxInclusiveAmt: 12.34 } }],
    });
  });

  test("don't use fields that US companies don't have", () => {
    const receipt = sent({ ...config, taxCodeId: 'NON' } as typeof config);
    expect(receipt.Line[0].SalesItemLineDetail).toMatchObject({ TaxCodeRef: { value: 'NON' } });
    expect(JSON.stringify(receipt)).not.toMatch(/GlobalTaxCalculation|TaxInclusiveAmt|DepositToAccountRef/);
  });

  test('are part of the request ID, because QuickBooks returns the same response to the same ID', () => {
    const ids = [config, settings, { ...settings, taxCodeId: '5' }, { ...settings, depositAccountId: '36' }].map(
      (each) => new URL(receiptOf(each).requests.at(-1)?.url ?? '').searchParams.get('requestid'),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each([
    ['6000', 'Make sure all your transactions have a VAT rate before you save.', /set the connector's tax code ID/],
    ['6100', 'Valid line TaxCodes for US should be TAX or NON.', /tax code ID/],
    ['6430', 'Invalid account type used', /deposit account ID/],
    ['5020', 'Permission Denied Error', /plan or the user's role/],
  ])('pause the connector if every receipt would be rejected because of them: code %s', (code, detail, advice) => {
    const { outcome } = receiptOf(config, { send: fault(400, 'ValidationFault', code, detail) });
    expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringMatching(advice) });
    expect(outcome).toMatchObject({ reason: expect.stringContaining(detail) });
  });

  test('pause the connector if QuickBooks does not know an ID in the config', () => {
    const send = fault(400, 'ValidationFault', '2500', 'Invalid Reference Id');
    expect(receiptOf(settings, { send }).outcome).toMatchObject({
      kind: 'pause',
      reason: expect.stringContaining('Check their IDs in the config: Invalid Reference Id'),
    });
    // The item that was looked up may be the one that is missing.
    const lookedUp = { ...config, depositAccountId: '35' };
    expect(receiptOf(lookedUp, { send }).outcome.kind).toBe('retry');
    expect(receiptOf(lookedUp, { send }, { attemptNumber: 2 }).outcome.kind).toBe('pause');
  });

  test('pause the connector if QuickBooks adds tax, and the receipt counts as booked once it is corrected', () => {
    const send = vendorResponse(200, { SalesReceipt: { Id: '145', TotalAmt: 14.81 } });
    expect(receiptOf(settings, { send }).outcome).toEqual({
      kind: 'pause',
      reason: expect.stringMatching(/^QuickBooks added tax: receipt \w+ has a total of 14\.81 instead of 12\.34 USD\./),
    });
    const same = vendorResponse(200, { SalesReceipt: { Id: '145', TotalAmt: 12.34 } });
    expect(receiptOf(settings, { send: same }).outcome.kind).toBe('delivered');
  });
});

describe('reading QuickBooks responses', () => {
  const classify = (response: ConnectorResponse, step = 'send') =>
    quickbooks.classify(response, classifyContext(config, day, { step, memory }));

  test.each([
    ['a created receipt', booked, 'delivered'],
    ['200 with a fault', fault(200, 'ValidationFault', '2010'), 'drop'],
    ['200 without a receipt', vendorResponse(200, {}), 'retry'],
    ['200 without JSON', vendorResponse(200, '<html>'), 'retry'],
    ['a rejected value', fault(400, 'ValidationFault', '2010'), 'drop'],
    ['a closed period', fault(400, 'ValidationFault', '6210'), 'hold'],
    ['a subscription that has ended', fault(400, 'ValidationFault', '6190'), 'pause'],
    ['an expired token', fault(401, 'AUTHENTICATION', '3200'), 'pause'],
    [
      "an expired token in the gateway's format",
      vendorResponse(401, {
        fault: { error: [{ message: 'message=AuthenticationFailed', code: '3200' }], type: 'AUTHENTICATION' },
      }),
      'pause',
    ],
    ['a padded code', fault(400, 'ValidationFault', '003200'), 'pause'],
    ['another company', fault(403, 'AuthorizationFault', '3100'), 'pause'],
    ['403 without a body', vendorResponse(403), 'pause'],
    ['429', vendorResponse(429), 'retry'],
    ['a throttle fault', fault(400, 'ThrottleFault', '003001'), 'retry'],
    ['a system fault', fault(400, 'SystemFault', '10000'), 'retry'],
    ['500', fault(500, 'SystemFault', '10000'), 'retry'],
    ['503', vendorResponse(503, '<html>'), 'retry'],
    ['404 without a fault', vendorResponse(404), 'disable'],
    ['400 without a fault', vendorResponse(400), 'drop'],
    ['an unexpected 201', vendorResponse(201), 'drop'],
    ['a redirect', vendorResponse(302), 'drop'],
  ])('classifies %s', (_case, response, kind) => {
    expect(classify(response).kind).toBe(kind);
  });

  test('classifies the lookups before an entry the way it classifies the entry', () => {
    for (const step of ['check', 'dated:1', 'preferences', 'item', 'rate:GBP']) {
      expect(classify(vendorResponse(401), step).kind).toBe('pause');
      expect(classify(vendorResponse(503), step).kind).toBe('retry');
    }
  });

  test('gives advice about a rejected token that fits how the connector gets its tokens', () => {
    const reasonFor = (settings: typeof config) => {
      const outcome = quickbooks.classify(vendorResponse(401), classifyContext(settings, day, { memory }));
      return 'reason' in outcome ? outcome.reason : '';
    };
    expect(reasonFor(config)).toMatch(/Tokens expire after an hour: save a new one\.$/);
    const app = { ...config, clientId: 'c', clientSecret: 's', refreshToken: 'r' };
    expect(reasonFor(app)).toMatch(/Connect your app to the company again, and save the new refresh token\.$/);
  });

  test('honors Retry-After and never reveals the token', () => {
    expect(classify(vendorResponse(429, '', { 'retry-after': '17' }))).toMatchObject({ afterSeconds: 17 });
    expect(classify(vendorResponse(429))).toMatchObject({ afterSeconds: 60 });
    const echo = fault(400, 'ValidationFault', '2010', `eyJ.qbo.token ${'x'.repeat(500)}`);
    expect(classify(echo)).toMatchObject({
      reason: expect.stringMatching(
        /^Fix this in QuickBooks, .*12\.34 USD for 2026-01-02.* QuickBooks returned: •••• x{10}/,
      ),
    });
  });
});

describe('the QuickBooks config', () => {
  test.each([
    [{}, true],
    [{ environment: 'sandbox' }, true],
    [{ environment: 'test' }, false],
    [{ realmId: '12345/../1' }, false],
    [{ realmId: 'abc' }, false],
    [{ realmId: undefined }, false],
    [{ accessToken: 'two words' }, false],
    [{ accessToken: '' }, false],
    [{ itemId: '21', depositAccountId: '35', taxCodeId: '4' }, true],
    [{ taxCodeId: 'NON' }, true],
    [{ taxCodeId: 'NON sense' }, false],
    [{ itemId: "1' or '" }, false],
    [{ depositAccountId: 'Bank' }, false],
    [{ customerId: '1' }, false],
  ])('accepts %j: %s', (change, isGood) => {
    expect(accepts(quickbooks, { ...config, ...change })).toBe(isGood);
  });
});

describe('the QuickBooks probe', () => {
  const probe = (response: ConnectorResponse, step: string) => quickbooks.probe?.classify(response, config, step);

  test('reads the company and then its currency', () => {
    expect(quickbooks.probe?.build(config)).toMatchObject({
      method: 'GET',
      url: `${baseUrl}/companyinfo/9130355377388383?minorversion=75`,
      step: 'company',
    });
    expect(probe(vendorResponse(200, { CompanyInfo: { CompanyName: 'Acme' } }), 'company')).toMatchObject({
      next: { method: 'GET', url: `${baseUrl}/preferences?minorversion=75` },
    });
    expect(probe(preferences('USD'), 'preferences')).toMatchObject({ ok: true });
    expect(probe(preferences('CAD'), 'preferences')).toMatchObject({ ok: false });
    expect(probe(preferences('CAD', true), 'preferences')).toMatchObject({
      next: { url: `${baseUrl}/exchangerate?minorversion=75&sourcecurrencycode=USD`, step: 'rate:CAD' },
    });
    expect(probe(rate('CAD', 1.4), 'rate:CAD')).toMatchObject({ ok: true });
    expect(probe(rate('CAD', 0), 'rate:CAD')).toMatchObject({ ok: false, message: expect.stringContaining('CAD') });
  });

  test('reports an expired token and a missing permission', () => {
    expect(probe(vendorResponse(401), 'company')).toMatchObject({
      ok: false,
      message: expect.stringContaining('save a new one'),
    });
    expect(probe(fault(403, 'AuthorizationFault', '3100'), 'company')).toMatchObject({ ok: false });
  });
});
