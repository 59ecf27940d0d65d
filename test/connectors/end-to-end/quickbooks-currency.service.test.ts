import { afterAll, beforeAll, expect, test } from 'vitest';
import { json } from '../support/vendors/vendor.ts';
import { openStage, type Stage } from './stage.ts';

let stage: Stage;
/** The settings that the fake company returns. */
let isMulticurrency: boolean;
let ratesByDay: Record<string, number>;

beforeAll(async () => {
  stage = await openStage();
  stage.vendors.interfere('quickbooks', ({ url }, _response, usual) => {
    const currencies = { HomeCurrency: { value: 'GBP' }, MultiCurrencyEnabled: isMulticurrency };
    if (url.pathname.endsWith('/preferences')) return json(200, { Preferences: { CurrencyPrefs: currencies } });
    if (!url.pathname.endsWith('/exchangerate')) return usual();
    const Rate = ratesByDay[url.searchParams.get('asofdate') ?? ''];
    const SourceCurrencyCode = url.searchParams.get('sourcecurrencycode');
    return json(200, Rate ? { ExchangeRate: { SourceCurrencyCode, TargetCurrencyCode: 'GBP', Rate } } : {});
  });
});
afterAll(() => stage?.close());

const receipts = () =>
  stage.vendors.callsTo('quickbooks').flatMap(({ method, body }) => (method === 'POST' ? [JSON.parse(body)] : []));

test('a company with books in pounds gets no entries until it has an exchange rate, and then gets each entry once', async () => {
  isMulticurrency = false;
  ratesByDay = {};
  const { id } = await stage.connect('quickbooks', { eventTypes: ['revenue.daily_summary'] });
  const paused = (words: RegExp) =>
    expect
      .poll(() => stage.connector(id))
      .toMatchObject({ isActive: true, pausedReason: expect.stringMatching(words) });
  await stage.record('revenue.daily_summary', { date: '2026-01-02', totalUsd: '1234.57' });
  await paused(/home currency is GBP\. Turn on multicurrency/);
  await stage.record('revenue.daily_summary', { date: '2026-01-03', totalUsd: '10.00' });
  const held = await stage.deliveriesAre(id, 'PENDING', 2);
  expect(held.map(({ nextAttemptAt }) => nextAttemptAt)).toEqual([null, null]);

  isMulticurrency = true;
  await stage.patch(id, { isActive: true });
  await paused(/no exchange rate from USD to GBP for 2026-01-0[23]/);
  await stage.deliveriesAre(id, 'PENDING', 2);
  expect(receipts()).toEqual([]);

  ratesByDay = { '2026-01-02': 0.7893, '2026-01-03': 0.8 };
  await stage.patch(id, { isActive: true });
  await stage.deliveriesAre(id, 'SUCCEEDED', 2);
  const booked = receipts().toSorted((left, right) => left.TxnDate.localeCompare(right.TxnDate));
  expect(booked).toMatchObject([
    { TxnDate: '2026-01-02', CurrencyRef: { value: 'USD' }, ExchangeRate: 0.7893, Line: [{ Amount: 1234.57 }] },
    { TxnDate: '2026-01-03', CurrencyRef: { value: 'USD' }, ExchangeRate: 0.8, Line: [{ Amount: 10 }] },
  ]);
});
