/**
 * Patterns with Unicode classes, as they are in the document. Not all languages know these classes. Spaces at the ends
 * are trimmed, even if they are control characters.
 */
const BY_SOURCE: Readonly<Record<string, string>> = {
  '^\\P{Cc}*$': '^[^\\u0000-\\u0008\\u000e-\\u001f\\u007f-\\u009f]*$',
  '^[\\t\\n\\r\\P{Cc}]*$': '^[^\\u0000-\\u0008\\u000e-\\u001f\\u007f-\\u009f]*$',
  '^[^\\p{Cc}\\p{Cs}]*$': '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
};

/** Lookaround, which RE2 (Go) and Rust lack, and Unicode classes. */
const NOT_EVERYWHERE = /\(\?[=!<]|\\[pP]\{/;

/** Whether all common languages read a pattern in the same way. JSON Schema has no flags. */
export function isPortable({ source, flags }: RegExp): boolean {
  return source in BY_SOURCE || (!flags.includes('i') && !NOT_EVERYWHERE.test(source));
}

/** A portable pattern as text. */
export const portablePattern = ({ source }: RegExp): string => BY_SOURCE[source] ?? source;
