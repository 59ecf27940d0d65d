/**
 * Makes untrusted text safe to show: one line, without control characters, invisible characters, or direction overrides
 * (which make readers see something other than what was sent). The two zero-width joiners stay, because several scripts
 * and emoji need them.
 */
export function oneLine(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/(?![\u200C\u200D])[\p{Cf}\p{Cs}]+/gu, '')
    .replace(/ {2,}/g, ' ')
    .trim();
}

/**
 * Truncates text to `maxLength` UTF-16 units, including an ellipsis at the end, but never in the middle of a character.
 */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** A number with its noun in singular or plural: `1 payment`, `2 payments`. */
export function counted(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

/**
 * Escapes text character by character, and truncates it where the escaped form would exceed `maxLength` UTF-16 units.
 * Truncating it after escaping could split an escape sequence.
 */
export function escapeWithin(text: string, escapeCharacter: (character: string) => string, maxLength: number): string {
  const escaped = Array.from(text, escapeCharacter);
  if (escaped.join('').length <= maxLength) return escaped.join('');
  let kept = '';
  for (const piece of escaped) {
    if (kept.length + piece.length > maxLength - 1) break;
    kept += piece;
  }
  return `${kept}…`;
}

const HTML_ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML, between tags and inside quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => HTML_ESCAPES[character]!);
}
