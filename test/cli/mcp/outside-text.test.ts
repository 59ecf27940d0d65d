import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Payment } from '../../../packages/sdk/src/index.ts';
import { explainPayment } from '../../../src/cli/mcp/explain-payment.ts';
import { loggedArguments } from '../../../src/cli/mcp/inputs.ts';
import { fromOutside, outsideText } from '../../../src/cli/mcp/outside-text.ts';
import { TOOLS } from '../../../src/cli/mcp/tools.ts';
import { hostileText } from '../../support/hostile-text.ts';

test('untrusted text always stays a single JSON string of limited length', () => {
  fc.assert(
    fc.property(hostileText(5_000), (text) => {
      const marked = outsideText.parse(fromOutside(text));
      expect(JSON.parse(JSON.stringify(marked))).toEqual(marked);
      expect(marked.untrustedText.length).toBeLessThanOrEqual(2_000);
      expect(marked.untrustedText.isWellFormed()).toBe(true);
      expect(marked.isTruncated).toBe(text.length > 2_000);
    }),
  );
});

test('arguments that may be secret, such as URLs, are not recorded, and long ones are truncated', () => {
  const secret = ['url', 'upstreamUrl', 'description', 'confirmation', 'after'];
  const names = new Set(TOOLS.flatMap(({ input }) => Object.keys(input)));
  const recorded = Object.keys(loggedArguments(Object.fromEntries([...names].map((name) => [name, 'x']))));
  expect([...names].filter((name) => !recorded.includes(name)).sort()).toEqual([...secret, 'projectId'].sort());
  expect(loggedArguments({ path: `/${'x'.repeat(1_000)}` })).toEqual({ path: `/${'x'.repeat(199)}` });
});

test('every failed payment is explained with its stage and advice', () => {
  const payment = { status: 'FAILED', failureStage: null, unservedReason: null } as Payment;
  for (const failureStage of ['VERIFY', 'UPSTREAM', 'SETTLE'] as const) {
    const { summary, advice } = explainPayment({ ...payment, failureStage });
    expect(summary).toMatch(/^The payment failed\. The buyer was not charged\. \w/);
    expect(advice).toMatch(/\.$/);
  }
  expect(explainPayment({ ...payment, status: 'UNKNOWN' }).advice).toContain('keeps checking');
  expect(explainPayment({ ...payment, status: 'SETTLED' }).advice).toBeNull();
  expect(explainPayment({ ...payment, status: 'SETTLED', unservedReason: 'upstream_error' }).advice).toContain(
    'refund',
  );
});
