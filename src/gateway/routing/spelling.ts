const PLAIN = /^[^A-Z%;]+$/;

/** A canonical segment, and what is left of it once everything that servers may ignore is removed. */
export type Spelled = { text: string; loose: string };

/** Whether every server reads a canonical segment in the same way. The empty one, after a trailing slash, isn't plain. */
export const isPlain = (segment: string): boolean => PLAIN.test(segment);

/** Removes what servers may ignore in a canonical segment: case, escapes, and path parameters (`;…`). */
export function loosen(segment: string): string {
  if (isPlain(segment)) return segment;
  // Some letters have two lowercase forms, but only one uppercase form.
  return decodeURIComponent(segment).split(';', 1)[0]!.toUpperCase().toLowerCase();
}

/**
 * The lists of segments that servers could read in a request: with or without the trailing slash, and with or without
 * segments that consist only of path parameters (Tomcat reads `/a/;x/b` as `/a//b`, and then as `/a/b`).
 */
export function readingsOf(segments: readonly string[]): Spelled[][] {
  const all = segments.map((text) => ({ text, loose: loosen(text) }));
  const named = all.filter(({ loose }) => loose !== '');
  if (named.length === all.length) return [all];
  const withoutSlash = all.at(-1)!.text === '' ? all.slice(0, -1) : all;
  const withSlash = all.at(-1)!.loose === '' ? [...named, { text: '', loose: '' }] : named;
  return [all, withoutSlash, named, withSlash];
}

/** Canonical segments with the trailing slash added or removed. Undefined for the root, which has no other spelling. */
export function withOtherSlash(segments: readonly string[]): string[] | undefined {
  if (segments.at(-1) !== '') return [...segments, ''];
  return segments.length > 1 ? segments.slice(0, -1) : undefined;
}
