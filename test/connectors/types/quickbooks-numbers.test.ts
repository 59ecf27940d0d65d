import { describe, expect, test } from 'vitest';
import type { ConnectorResponse } from '../../../src/connectors/exchange.ts';
import { quickbooks } from '../../../src/connectors/types/quickbooks.ts';
import { drive } from '../support/drive.ts';
import { vendorResponse } from '../support/samples.ts';
import { company, config, day, memory, numberOf, payment, queryOf, rate, receipts } from './quickbooks-company.ts';

describe('a QuickBooks company that numbers its receipts itself', () => {
  const unnumbered = (event: typeof day, PrivateNote = `${numberOf(event)} ${event.id}`) => ({
    Id: '9',
    DocNumber: '1042',
    PrivateNote,
  });
  const other = (index: number) => ({ Id: String(index), DocNumber: String(2000 + index), PrivateNote: 'Till 3' });
  const page = (...own: object[]) => receipts(...Array.from({ length: 1000 - own.length }, (_, i) => other(i)), ...own);
  const settings = (CustomTxnNumbers: boolean, home = 'USD') =>
    vendorResponse(200, {
      Preferences: {
        CurrencyPrefs: { HomeCurrency: { value: home }, MultiCurrencyEnabled: true },
        SalesFormsPrefs: { CustomTxnNumbers },
      },
    });
  const driven = (event: typeof day, answers: Record<string, ConnectorResponse>) =>
    drive(quickbooks, config, [event], company(answers), { memory });

  test('has its receipts for the day looked up by date, because QuickBooks cannot filter by memo', () => {
    const { requests } = driven(day, {});
    expect(queryOf(requests[1]!)).toBe(
      "select Id, DocNumber, PrivateNote from SalesReceipt where TxnDate = '2026-01-02' orderby Id startposition 1 maxresults 1000",
    );
    expect(requests[1]?.maxResponseBytes).toBeGreaterThan(1_000_000);
  });

  test.each([
    ['the day', day, unnumbered(day), 'delivered'],
    [
      'the day, if someone added to the memo',
      day,
      unnumbered(day, `${numberOf(day)} ${day.id} (checked)`),
      'delivered',
    ],
    ['the day, if someone booked it with the event ID', day, unnumbered(day, `By hand: ${day.id}`), 'delivered'],
    ['a payment', payment, unnumbered(payment), 'delivered'],
    ["a payment's day", payment, unnumbered(day), 'delivered'],
    ['payments of the day', day, unnumbered(payment, `${numberOf(payment)} evt_other`), 'drop'],
  ])('gets nothing twice: its memo identifies %s', (_what, event, receipt, kind) => {
    const { outcome, steps } = driven(event, { dated: receipts(other(1), receipt) });
    expect(steps).toEqual(['check', 'dated:1']);
    expect(outcome.kind).toBe(kind);
  });

  test.each([
    ['someone else', day, other(1)],
    ['another project', day, unnumbered(day, 'X402260102??? evt_other')],
    ['another payment', payment, unnumbered(payment, `${numberOf(day)}-0000000 evt_other`)],
  ])('gets the entry if the receipts of the day are from %s', (_who, event, receipt) => {
    expect(driven(event, { dated: receipts(receipt) }).steps).toEqual(['check', 'dated:1', 'send']);
  });

  test.each(['check', 'dated:1'])('gets no entry if the response to the lookup %s has no result', (step) => {
    const { outcome, steps } = driven(day, { [step]: vendorResponse(200, { time: 'now' }) });
    expect(steps.at(-1)).toBe(step);
    expect(outcome.kind).toBe('retry');
  });

  test('has all pages of a busy day read, and further ones only if it keeps our numbers', () => {
    const second = driven(day, { 'dated:1': page(), 'dated:1001': receipts(unnumbered(day)) });
    expect(second.steps).toEqual(['check', 'dated:1', 'dated:1001']);
    expect(second.outcome.kind).toBe('delivered');

    const crowded = { 'dated:1': page(), 'dated:1001': page() };
    const held = driven(day, { ...crowded, preferences: settings(false) });
    expect(held.steps).toEqual(['check', 'dated:1', 'dated:1001', 'preferences:crowded']);
    expect(held.outcome).toMatchObject({ kind: 'hold', reason: expect.stringMatching(/^Turn on custom transaction/) });
    expect(driven(day, { ...crowded, preferences: settings(true) }).outcome.kind).toBe('delivered');
    const first = company({ ...crowded, preferences: settings(true, 'GBP'), rate: rate('GBP', 0.79) });
    const longest = drive(quickbooks, config, [day], first);
    expect(longest.outcome.kind).toBe('delivered');
    expect(longest.steps).toHaveLength(quickbooks.maxCalls!);
  });

  test.each(['check', 'dated'])('gets nothing if the response to the lookup "%s" is cut off', (step) => {
    const cut = vendorResponse(200, '{"QueryResponse":{"SalesReceipt":[{"DocNumber":"10');
    const { outcome, steps } = driven(day, { [step]: cut });
    expect(outcome.kind).toBe('retry');
    expect(steps).not.toContain('send');
  });

  test('is noticed by the probe and when the receipt is created', () => {
    const probed = (response: ConnectorResponse, step: string) => quickbooks.probe?.classify(response, config, step);
    const noticed = { ok: true, message: expect.stringMatching(/custom transaction numbers are off/) };
    expect(probed(settings(false), 'preferences')).toMatchObject(noticed);
    expect(probed(settings(true), 'preferences')).not.toMatchObject(noticed);
    expect(probed(settings(false, 'CAD'), 'preferences')).toMatchObject({ next: { step: 'rate:CAD:unnumbered' } });
    expect(probed(rate('CAD', 1.4), 'rate:CAD:unnumbered')).toMatchObject(noticed);
    const send = vendorResponse(200, { SalesReceipt: { Id: '145', DocNumber: '1042' } });
    expect(driven(day, { send }).outcome).toEqual({
      kind: 'delivered',
      note: expect.stringMatching(/^Sales receipt 1042\. .*memo/),
    });
  });
});
