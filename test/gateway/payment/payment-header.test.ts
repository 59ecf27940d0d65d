import { describe, expect, test } from 'vitest';
import { readPaymentHeader } from '../../../src/gateway/payment/payment-header.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;

function read(changes: Record<string, unknown>) {
  const authorization = {
    from: ADDRESS,
    to: ADDRESS,
    value: '10000',
    validAfter: '0',
    validBefore: '1800000000',
    nonce: `0x${'cd'.repeat(32)}`,
    ...changes,
  };
  const payload = { signature: `0x${'11'.repeat(65)}`, authorization };
  const payment = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload };
  return readPaymentHeader({ 'x-payment': Buffer.from(JSON.stringify(payment)).toString('base64') });
}

describe('an amount or a time in a payment', () => {
  test('can be a number instead of a decimal string', () => {
    const expected = read({});
    expect(expected.kind).toBe('payment');
    expect(read({ value: 10_000, validAfter: 0, validBefore: 1_800_000_000 })).toEqual(expected);
    expect(read({ value: Number.MAX_SAFE_INTEGER })).toEqual(read({ value: String(Number.MAX_SAFE_INTEGER) }));
  });

  test.each([
    ['above 2^53, where numbers are inexact', 2 ** 53],
    ['negative', -1],
    ['a fraction', 0.5],
    ['a boolean', true],
    ['missing', undefined],
    ['text', '1e4'],
    ['padded', '010'],
  ])("is malformed if it's %s", (_what, value) => {
    expect(read({ value })).toEqual({
      kind: 'malformed',
      message: 'payload.authorization.value: must be a whole number of atomic units',
    });
    expect(read({ validBefore: value })).toEqual({
      kind: 'malformed',
      message: 'payload.authorization.validBefore: must be a whole number of seconds',
    });
  });
});
