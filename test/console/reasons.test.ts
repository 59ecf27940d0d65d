import { expect, test } from 'vitest';
import { UPSTREAM_FAULTS } from '../../src/connectors/shared/alert.ts';
import { reasonSentence } from '../../src/console/pages/payments/reasons.ts';

test.each([...UPSTREAM_FAULTS, 'upstream_error', 'tool_error', 'insufficient_funds'])(
  'the console has a sentence for %s, a reason why a payment failed',
  (code) => {
    expect(reasonSentence(code)).toMatch(/^[A-Z].*[a-z]$/);
  },
);

test.each(['some_code_of_a_facilitator', 'toString'])('the console shows %s, an unknown reason, unchanged', (code) => {
  expect(reasonSentence(code)).toBeUndefined();
});
