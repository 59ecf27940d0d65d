import { describe, expect, test } from 'vitest';
import { readPaymentHeader } from '../../../src/gateway/payment/payment-header.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;

const AUTHORIZATION = {
  from: ADDRESS,
  to: ADDRESS,
  value: '10000',
  validAfter: '0',
  validBefore: '1800000000',
  nonce: `0x${'cd'.repeat(32)}`,
};

function read(changes: Record<string, unknown>) {
  const authorization = { ...AUTHORIZATION, ...changes };
  const payload = { signature: `0x${'11'.repeat(65)}`, authorization };
  const payment = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload };
  return readPaymentHeader({ 'x-payment': Buffer.from(JSON.stringify(payment)).toString('base64') });
}

describe('a payment in several headers', () => {
  const nonce = (digit: string) => `0x${digit.repeat(64)}`;
  const payment = (version: 1 | 2, digit = 'c', signature = '11') => {
    const authorization = { ...AUTHORIZATION, nonce: nonce(digit) };
    const payload = { signature: `0x${signature.repeat(65)}`, authorization };
    const terms = { scheme: 'exact', network: version === 1 ? 'base-sepolia' : 'eip155:84532' };
    const accepted = { ...terms, amount: '10000', asset: ADDRESS, payTo: ADDRESS };
    const value = version === 1 ? { x402Version: 1, ...terms, payload } : { x402Version: 2, accepted, payload };
    return Buffer.from(JSON.stringify(value)).toString('base64');
  };
  const one = (version: 1 | 2) => ({ kind: 'payment', payment: expect.objectContaining({ x402Version: version }) });

  test.each([
    ['version 2 in the header of version 1', { 'x-payment': payment(2) }, 2],
    ['version 1 in the header of version 2', { 'payment-signature': payment(1) }, 1],
    ['the same in both', { 'payment-signature': payment(2), 'x-payment': payment(2) }, 2],
    ['one header twice', { 'x-payment': `${payment(1)}, ${payment(1)}` }, 1],
    ['an empty one beside it', { 'payment-signature': '', 'x-payment': payment(1) }, 1],
    ['an empty part of a list', { 'payment-signature': `${payment(2)}, ` }, 2],
    ['the same authorization in both versions', { 'payment-signature': payment(2), 'x-payment': payment(1) }, 2],
  ] as const)('is one payment: %s', (_name, headers, version) => {
    expect(readPaymentHeader(headers)).toEqual(one(version));
  });

  test.each([
    ['in both headers', { 'payment-signature': payment(2), 'x-payment': payment(1, 'd') }],
    ['in one header', { 'x-payment': `${payment(1)}, ${payment(1, 'd')}` }],
  ])('is an error if different authorizations are sent: %s', (_name, headers) => {
    expect(readPaymentHeader(headers)).toEqual({
      kind: 'malformed',
      message: 'The request has different payments. Send only one.',
    });
  });

  test('is an error if one can’t be read, and none if all are empty', () => {
    expect(readPaymentHeader({ 'payment-signature': 'x', 'x-payment': payment(1) })).toMatchObject({
      kind: 'malformed',
    });
    expect(readPaymentHeader({ 'payment-signature': ' ', 'x-payment': '' })).toEqual({ kind: 'none' });
  });

  test('is an error if there are more than eight different ones, because reading thousands takes too long', () => {
    const list = (count: number) => Array.from({ length: count }, (_, number) => `p${number}`).join();
    const tooMany = { kind: 'malformed', message: 'The request has too many payments. Send only one.' };
    expect(readPaymentHeader({ 'x-payment': list(9) })).toEqual(tooMany);
    expect(readPaymentHeader({ 'payment-signature': list(3000), 'x-payment': payment(1) })).toEqual(tooMany);
    expect(readPaymentHeader({ 'x-payment': list(8) })).not.toEqual(tooMany);
  });
});

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
