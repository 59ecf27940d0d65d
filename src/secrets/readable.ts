/**
 * Escapes of one character in JSON, in HTML and XML, and in URLs. Which characters are escaped, and how, depends on the
 * library. In a URL, a character outside ASCII takes several escapes, which are left as they are.
 */
const LONG_ESCAPE =
  /\\u([\da-f]{4})|&(?:(amp|lt|gt|quot|apos)|#0{0,5}(\d{1,5})|#x0{0,5}([\da-f]{1,4}));|%(0[9ad]|[2-7][\da-f])/iy;
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
type Escape = { character: string; size: number };

const SHORT: Readonly<Record<string, string>> = {
  ...{ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
  ...{ '"': '"', "'": "'", '\\': '\\', '/': '/' },
};
/** By the character after the backslash. */
const SHORT_ESCAPES = new Map(
  Object.entries(SHORT).map(([letter, character]): [string, Escape] => [letter, { character, size: 2 }]),
);
const NO_ESCAPE: Escape = { character: '', size: 1 };
const [BACKSLASH, AMPERSAND, PERCENT] = [92, 38, 37];
const MAY_BE_ESCAPED = /[\\&%]/;
/** An escape whose end may have been cut off. */
const CUT_OFF = /(?:\\(?:u[\da-f]{0,3})?|&(?:[a-z]{0,4}|#x?[\da-f]{0,9})|%[\da-f]?)$/i;
/** Text can be escaped several times, for example, if an error contains the JSON of another one. */
const MAX_TIMES = 3;

/** Text without escapes, and where each of its characters begins in the original text. The last offset is that text's length. */
export type Readable = { text: string; offsets: Uint32Array };

/** Whether a text may have escapes. */
export const mayBeEscaped = (text: string): boolean => MAY_BE_ESCAPED.test(text);

/**
 * Replaces escapes with their characters, in whichever way and however many times they were escaped, and plus signs with
 * spaces. Two texts that are escaped in different ways become the same text.
 *
 * @param isCutOff whether the text may end within an escape. What is left of that escape is dropped.
 */
export function readable(original: string, isCutOff = false): Readable {
  const text = isCutOff ? original.replace(CUT_OFF, '') : original;
  const offsets = new Uint32Array(text.length + 1);
  for (let index = 0; index < text.length; index++) offsets[index] = index;
  offsets[text.length] = original.length;
  let current: Readable = { text, offsets };
  for (let times = 0; times < MAX_TIMES && mayBeEscaped(current.text); times++) current = unescapeOnce(current);
  return { ...current, text: current.text.replaceAll('+', ' ') };
}

/** Responses can consist of tens of thousands of escapes, so this doesn't create objects for the shortest ones. */
function unescapeOnce({ text, offsets }: Readable): Readable {
  const kept = new Uint32Array(text.length + 1);
  const pieces: string[] = [];
  let length = 0;
  let index = 0;
  let begin = 0;
  while (index < text.length) {
    const { character, size } = escapeAt(text, index);
    kept[length++] = offsets[index]!;
    if (size > 1) {
      pieces.push(text.slice(begin, index), character);
      begin = index + size;
    }
    index += size;
  }
  pieces.push(text.slice(begin));
  kept[length++] = offsets[text.length]!;
  return { text: pieces.join(''), offsets: kept.subarray(0, length) };
}

function escapeAt(text: string, index: number): Escape {
  const code = text.charCodeAt(index);
  if (code === BACKSLASH) {
    const short = SHORT_ESCAPES.get(text.charAt(index + 1));
    if (short) return short;
  } else if (code !== AMPERSAND && code !== PERCENT) return NO_ESCAPE;
  LONG_ESCAPE.lastIndex = index;
  const match = LONG_ESCAPE.exec(text);
  return match ? { character: characterOf(match), size: match[0].length } : NO_ESCAPE;
}

function characterOf([, json, name, decimal, hex, octet]: RegExpExecArray): string {
  if (name !== undefined) return NAMED[name.toLowerCase()]!;
  return String.fromCharCode(decimal === undefined ? Number.parseInt((json ?? hex ?? octet)!, 16) : Number(decimal));
}
