/** A decimal USD string with at most 12 digits before the decimal point and 6 after it. */
export const USD_PATTERN = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,6}))?$/;

/** The number of decimals in an amount. The atomic unit of USDC and of all prices is a millionth of a dollar. */
export const USD_DECIMALS = 6;

/**
 * Parses a decimal USD string (`"0.01"`) as atomic units (`10000n`).
 *
 * @returns undefined unless the text is in plain decimal notation with at most 12 integer digits and 6 decimals. Zero
 *   is valid: the caller decides whether to accept it.
 */
export function parseUsd(text: string): bigint | undefined {
  const match = USD_PATTERN.exec(text);
  if (!match) return undefined;
  return BigInt(match[1]!) * 1_000_000n + BigInt((match[2] ?? '').padEnd(USD_DECIMALS, '0'));
}

/** Formats atomic units as the shortest exact decimal USD string: `10000n` is `"0.01"`, `2000000n` is `"2"`. */
export function formatUsd(amountAtomic: bigint): string {
  const sign = amountAtomic < 0n ? '-' : '';
  const digits = (amountAtomic < 0n ? -amountAtomic : amountAtomic).toString().padStart(USD_DECIMALS + 1, '0');
  const fraction = digits.slice(-USD_DECIMALS).replace(/0+$/, '');
  return `${sign}${digits.slice(0, -USD_DECIMALS)}${fraction && `.${fraction}`}`;
}
