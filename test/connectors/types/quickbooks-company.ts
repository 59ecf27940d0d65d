import type { ConnectorRequest, ConnectorResponse } from '../../../src/connectors/exchange.ts';
import { bookingOf } from '../../../src/connectors/shared/booking.ts';
import { sampleEvent, vendorResponse } from '../support/samples.ts';

export const config = { accessToken: 'eyJ.qbo.token', realmId: '9130355377388383' };
export const baseUrl = 'https://quickbooks.api.intuit.com/v3/company/9130355377388383';
export const memory = { 'item:9130355377388383': '21', 'currency:9130355377388383': 'USD' };
export const day = sampleEvent('revenue.daily_summary');
export const payment = sampleEvent('payment.settled');
export const numberOf = (event: typeof day) => (bookingOf(event) as { number: string }).number;
export const queryOf = ({ url }: ConnectorRequest) => new URL(url).searchParams.get('query');

export const nothing = vendorResponse(200, { QueryResponse: {}, time: '2026-01-03T00:00:10Z' });
export const receipts = (...list: object[]) => vendorResponse(200, { QueryResponse: { SalesReceipt: list } });
export const booked = vendorResponse(200, {
  SalesReceipt: { Id: '145', DocNumber: numberOf(day) },
  time: '2026-01-03T00:00:10Z',
});
export const fault = (statusCode: number, type: string, code: string, Detail = 'Some detail') =>
  vendorResponse(statusCode, { Fault: { Error: [{ Message: 'Some message', Detail, code }], type }, time: 'now' });
export const preferences = (home: string, isMulti = false) =>
  vendorResponse(200, {
    Preferences: { CurrencyPrefs: { HomeCurrency: { value: home }, MultiCurrencyEnabled: isMulti } },
  });

export const rate = (target: string, Rate: unknown) =>
  vendorResponse(200, {
    ExchangeRate: { AsOfDate: '2026-01-02', SourceCurrencyCode: 'USD', TargetCurrencyCode: target, Rate },
    time: '2026-01-03T00:00:10Z',
  });

/** A correctly configured company. `answers` replaces individual responses. */
export function company(responses: Record<string, ConnectorResponse> = {}) {
  const all: Record<string, ConnectorResponse> = {
    check: nothing,
    dated: nothing,
    preferences: preferences('USD'),
    item: vendorResponse(200, { QueryResponse: { Item: [{ Id: '21' }] } }),
    send: booked,
    ...responses,
  };
  return ({ step = '' }: ConnectorRequest) => all[step] ?? all[step.split(':')[0]!] ?? vendorResponse(500);
}
