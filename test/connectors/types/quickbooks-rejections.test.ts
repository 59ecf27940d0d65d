import { describe, expect, test } from 'vitest';
import type { ConnectorResponse } from '../../../src/connectors/exchange.ts';
import { quickbooks } from '../../../src/connectors/types/quickbooks.ts';
import { drive } from '../support/drive.ts';
import { company, config, day, fault, memory, numberOf } from './quickbooks-company.ts';

describe('a QuickBooks receipt that is rejected because of its day', () => {
  const attempt = (send: ConnectorResponse, attemptNumber = 1) =>
    drive(quickbooks, config, [day], company({ send }), { memory, attemptNumber }).outcome;
  const closed =
    'The account period has closed and the account books cannot be updated through through the QBO Services API. Please use the QBO website to make these changes.';

  test.each([
    ['6210', closed, /^Reopen the books for 2026-01-02 in QuickBooks \(Account and settings > Advanced\)/],
    ['6000', `Business Validation Error: ${closed}`, /^Reopen the books for 2026-01-02/],
    [
      '6540',
      'This transaction has been deposited. If you want to change or delete it, you must …',
      /^Undo the deposit/,
    ],
  ])('is held, and the reason starts with what to do: code %s', (code, detail, instruction) => {
    const outcome = attempt(fault(400, 'ValidationFault', code, detail));
    const text = 'reason' in outcome ? outcome.reason : '';
    expect(outcome.kind).toBe('hold');
    expect(text).toMatch(instruction);
    expect(text).toContain(
      `then resend this delivery: 12.34 USD for 2026-01-02 (${numberOf(day)}) isn't booked. QuickBooks returned: `,
    );
    expect(text.length).toBeLessThanOrEqual(200);
  });

  test('is sent again twice if someone is changing the same records, and then held', () => {
    const stale = fault(400, 'ValidationFault', '5010', 'You and Ann were working on this at the same time.');
    const kinds = [1, 2, 3].map((attemptNumber) => attempt(stale, attemptNumber).kind);
    expect(kinds).toEqual(['retry', 'retry', 'hold']);
  });

  test('is looked up again if code 6210 stands for a duplicate number', () => {
    const duplicate = fault(400, 'ValidationFault', '6210', 'Duplicate Document Number Error: You must specify …');
    expect(attempt(duplicate)).toMatchObject({ kind: 'retry', reason: expect.stringContaining('already has') });
  });
});
