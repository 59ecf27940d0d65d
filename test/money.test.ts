import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatUsd, parseUsd, USD_DECIMALS } from '../src/money.ts';

/** `npm run prove:gateway` runs the long version. */
const RUNS = Number(process.env.MONEY_RUNS ?? 100_000);
const MAX_ATOMIC = 10n ** 18n - 1n;
const anyAmount = fc.oneof(
  fc.bigInt({ min: 0n, max: MAX_ATOMIC }),
  fc.bigInt({ min: 0n, max: 2_000_000n }),
  // Around powers of ten, where the number of digits changes and floats become inexact.
  fc.tuple(fc.nat(18), fc.integer({ min: -3, max: 3 })).map(([power, step]) => {
    const value = 10n ** BigInt(power) + BigInt(step);
    return value < 0n ? 0n : value > MAX_ATOMIC ? MAX_ATOMIC : value;
  }),
);

/** Decimal text built digit by digit, with its amount. */
const anyText = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 12n - 1n }), fc.array(fc.nat(9), { maxLength: USD_DECIMALS }))
  .map(([whole, fraction]) => ({
    text: `${whole}${fraction.length > 0 ? `.${fraction.join('')}` : ''}`,
    amount: whole * 1_000_000n + BigInt(fraction.join('').padEnd(USD_DECIMALS, '0') || '0'),
  }));

describe('amounts', { timeout: 30_000 + RUNS }, () => {
  test('convert to text and back without losing a millionth', () => {
    fc.assert(
      fc.property(anyAmount, (amount) => parseUsd(formatUsd(amount)) === amount),
      { numRuns: RUNS },
    );
  });

  test('are parsed exactly, digit by digit', () => {
    fc.assert(
      fc.property(anyText, ({ text, amount }) => parseUsd(text) === amount),
      { numRuns: RUNS },
    );
  });

  test('have one shortest form, which equals the float where floats are exact', () => {
    const property = fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (amount) => {
      const text = formatUsd(amount);
      expect(text).toMatch(/^(0|[1-9]\d*)(\.\d{0,5}[1-9])?$/);
      expect(Math.round(Number(text) * 1e6)).toBe(Number(amount));
    });
    fc.assert(property, { numRuns: 5_000 });
  });

  test('keep their sign when they are formatted', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: MAX_ATOMIC }), (amount) => formatUsd(-amount) === `-${formatUsd(amount)}`),
    );
  });

  test.each([
    ['0', 0n],
    ['0.000001', 1n],
    ['0.1', 100_000n],
    ['0.10', 100_000n],
    ['0.01', 10_000n],
    ['1', 1_000_000n],
    ['1.000000', 1_000_000n],
    ['123456.789012', 123_456_789_012n],
    // Converting these through a float would be off by one.
    ['8.203215', 8_203_215n],
    ['1.001', 1_001_000n],
    ['4.35', 4_350_000n],
    ['999999999999.999999', MAX_ATOMIC],
  ])('%s parses to %s millionths', (text, amount) => {
    expect(parseUsd(text)).toBe(amount);
  });

  test.each([
    [0n, '0'],
    [1n, '0.000001'],
    [10_000n, '0.01'],
    [2_000_000n, '2'],
    [1_500_000n, '1.5'],
    [-1n, '-0.000001'],
    [10n ** 30n, '1000000000000000000000000'],
  ])('%s millionths format as %s', (amount, text) => {
    expect(formatUsd(amount)).toBe(text);
  });
});

describe('text that is not an amount', { timeout: 30_000 + RUNS }, () => {
  test.each([
    ...['', ' ', '.', '.5', '1.', '-0', '-1', '+1', '00', '01', '0.0000001', '0.0000000', '1.0000000', '1e3', '1E3'],
    ...['1e-3', '0x10', '0b1', '0o7', '1_000', '1,000', '1,5', '1.2.3', '$1', '1 USD', '1 ', ' 1', '1\n', '\t1', '1\0'],
    ...['NaN', 'Infinity', 'null', 'undefined', 'true', '１', '٣', '½', '1000000000000', '9'.repeat(1_000)],
    ...[`0.${'0'.repeat(1_000)}1`, '1n', '−1', '1‎', 'one'],
  ])('is rejected: %j', (text) => {
    expect(parseUsd(text)).toBeUndefined();
  });

  test('is rejected, and any other text is parsed exactly', () => {
    const almost = fc.string({ unit: fc.constantFrom(...'0123456789.-+eE, _'), maxLength: 24 });
    const property = fc.property(fc.oneof(almost, fc.string({ unit: 'binary' })), (text) => {
      const amount = parseUsd(text);
      if (amount === undefined) return;
      expect(amount >= 0n && amount <= MAX_ATOMIC).toBe(true);
      // Formatting returns the same text, except for trailing zeros.
      expect(formatUsd(amount)).toBe(text.includes('.') ? text.replace(/\.?0*$/, '') : text);
    });
    fc.assert(property, { numRuns: RUNS });
  });
});
