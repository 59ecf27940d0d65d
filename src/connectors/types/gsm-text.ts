/** Characters of the GSM 7-bit extension table, each of which counts as two (3GPP TS 23.038 §6.2.1.1). */
const DOUBLE_WIDTH = /[\^{}[\]~|\\]/;

const REPLACEMENTS: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '`': "'",
  '“': '"',
  '”': '"',
  '–': '-',
  '—': '-',
  '…': '...',
  '→': '->',
  ß: 'ss',
  '₿': 'BTC',
  '€': 'EUR',
};

/**
 * Reduces text to the ASCII characters in the GSM 7-bit alphabet. A single character outside it would switch the whole
 * SMS to UCS-2, which has room for 70 characters instead of 160. Accents are dropped, and characters with no equivalent
 * become `?`.
 */
export function toGsmText(text: string): string {
  const plain = text.replace(/[‘’`“”–—…→ß₿€]/g, (character) => REPLACEMENTS[character]!);
  return plain
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^\x20-\x5f\x61-\x7e\n]+/gu, '?');
}

/** How many of the 160 characters a piece of ASCII text takes up. */
export function gsmLength(text: string): number {
  return Array.from(text).reduce((length, character) => length + (DOUBLE_WIDTH.test(character) ? 2 : 1), 0);
}

/** Truncates text to a maximum length in GSM characters, and marks the cut with dots. */
export function cutGsmText(text: string, maxLength: number): string {
  if (gsmLength(text) <= maxLength) return text;
  let kept = text;
  while (kept && gsmLength(kept) > maxLength - 3) kept = kept.slice(0, -1);
  return `${kept.trimEnd()}...`;
}
