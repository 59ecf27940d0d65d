import { describe, expect, test } from 'vitest';
import type { ConnectorRequest, ConnectorResponse } from '../../../src/connectors/exchange.ts';
import { bookingOf } from '../../../src/connectors/shared/booking.ts';
import { xero } from '../../../src/connectors/types/xero.ts';
import { drive } from '../support/drive.ts';
import { sampleEvent, vendorResponse } from '../support/samples.ts';

const config = { accessToken: 'eyJ.xero.token', tenantId: '70784a63-d24b-46a9-a4db-0e70a274b056' };
const day = sampleEvent('revenue.daily_summary');
const { number } = bookingOf(day) as { number: string };
const refused = (...messages: string[]) =>
  vendorResponse(400, {
    ErrorNumber: 10,
    Type: 'ValidationException',
    Message: 'A validation exception occurred',
    Elements: [{ ValidationErrors: messages.map((Message) => ({ Message })) }],
  });
const vendor = (responses: Record<string, ConnectorResponse>) => (request: ConnectorRequest) =>
  responses[request.step ?? ''] ?? vendorResponse(500);

const BANK = { bankAccountCode: '090', revenueAccountCode: '200' };
const KNOWN = { [`bank:${config.tenantId}:090`]: 'USD' };

describe.each([
  ['draft invoice', {}, 'send', { check: vendorResponse(200, { Invoices: [] }) }],
  ['bank transaction', BANK, 'bank-send', { 'bank-check': vendorResponse(200, { BankTransactions: [] }) }],
] as const)('a Xero %s that is rejected', (_what, accounts, step, lookups) => {
  const attempt = (messages: string[], overrides: object = {}) =>
    drive(xero, { ...config, ...accounts }, [day], vendor({ ...lookups, [step]: refused(...messages) }), {
      memory: KNOWN,
      ...overrides,
    });

  test.each([
    ['The document date cannot be before the period lock date, currently set at 31 Jan 2026', /^Set the lock dates/],
    [
      'The document date cannot be before the end of year lock date, currently set at 31 Dec 2026',
      /^Set the lock dates/,
    ],
    [
      'The document cannot be edited as it is currently dated before the end of year lock date',
      /^Set the lock dates in Xero's financial settings to before 2026-01-02/,
    ],
    ['The item has been archived', /^Restore or unlock/],
    ['The tracking option is inactive', /^Restore or unlock/],
    ['The branding theme was deleted', /^Restore or unlock/],
  ])(
    'because of its day or of what it refers to is held, and the reason starts with what to do: %s',
    (message, words) => {
      const { outcome } = attempt([message, 'A second problem']);
      const text = 'reason' in outcome ? outcome.reason : '';
      expect(outcome.kind).toBe('hold');
      expect(text).toMatch(words);
      expect(text).toContain(
        `then resend this delivery: 12.34 USD for 2026-01-02 (${number}) isn't booked. Xero returned: `,
      );
      expect(text).toContain(message.slice(0, 20));
      expect(text.length).toBeLessThanOrEqual(200);
    },
  );

  test.each([
    [
      'The contact with the specified contact details has been archived. The contact must be un-archived before creating new invoices or credit notes.',
      /^Restore the contact "x402 API customers" in Xero/,
    ],
    ['Organisation is not subscribed to currency USD', /^The organization doesn't have USD/],
  ])('because of something that all entries have in common pauses the connector: %s', (message, words) => {
    expect(attempt([message]).outcome).toMatchObject({ kind: 'pause', reason: expect.stringMatching(words) });
  });

  test('for another reason fails, and the reason has the day and the amount', () => {
    expect(attempt(['A tracking category is required']).outcome).toEqual({
      kind: 'drop',
      reason: `Fix this in Xero, then resend this delivery: 12.34 USD for 2026-01-02 (${number}) isn't booked. Xero returned: A tracking category is required`,
    });
  });

  test('gets a new idempotency key when someone resends it, because Xero returns the same error for the same key', () => {
    const keyOf = (overrides: object) => attempt(['Locked'], overrides).requests.at(-1)?.headers['idempotency-key'];
    expect(keyOf({ attemptNumber: 2 })).toBe(keyOf({}));
    expect(keyOf({ resentAt: 2, attemptNumber: 2 })).not.toBe(keyOf({}));
    expect(keyOf({ resentAt: 2, attemptNumber: 3 })).toBe(keyOf({ resentAt: 2, attemptNumber: 2 }));
  });
});

test.each([
  "Account code '200' has been archived, or deleted. Each line item must reference a valid account.",
  "The bank account 'Wallet' is archived and cannot be used",
])('a Xero bank transaction pauses the connector if an account is archived: %s', (message) => {
  const bank = vendor({ 'bank-check': vendorResponse(200, { BankTransactions: [] }), 'bank-send': refused(message) });
  const { outcome } = drive(xero, { ...config, ...BANK }, [day], bank, { memory: KNOWN });
  expect(outcome).toMatchObject({ kind: 'pause', reason: expect.stringMatching(/^Check the account codes/) });
});
