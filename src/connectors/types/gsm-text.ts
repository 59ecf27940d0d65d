/** Characters of the GSM 7-bit extension table: each takes the room of two (3GPP TS 23.038 §6.2.1.1). */
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
 * Text as an SMS carries it cheapest: ASCII that is in the GSM 7-bit alphabet. One character outside of it would turn
 * the whole SMS into UCS-2, where 70 characters fit instead of 160. Accents are dropped, what has no likeness is `?`.
 */
export function toGsmText(text: string): string {
  const plain = text.replace(/[‘’`“”–—…→ß₿€]/g, (character) => REPLACEMENTS[character]!);
  return plain
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^\x20-\x5f\x61-\x7e\n]+/gu, '?');
}

/** How much of the 160 an ASCII text takes. */
export function gsmLength(text: string): number {
  return Array.from(text).reduce((length, character) => length + (DOUBLE_WIDTH.test(character) ? 2 : 1), 0);
}

/** Cuts to a length in GSM characters, with dots at the end when something was cut. */
export function cutGsmText(text: string, maxLength: number): string {
  if (gsmLength(text) <= maxLength) return text;
  let kept = text;
  while (kept && gsmLength(kept) > maxLength - 3) kept = kept.slice(0, -1);
  return `${kept.trimEnd()}...`;
}
