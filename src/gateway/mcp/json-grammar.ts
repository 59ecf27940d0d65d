const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
/** Makes an ASCII letter lowercase. */
const LOWERCASE = 0x20;

const ESCAPES: ReadonlySet<number> = new Set(Array.from('"\\/bfnrtu', (character) => character.charCodeAt(0)));
const LITERALS = ['true', 'false', 'null'] as const;

/**
 * Whether `JSON.parse` accepts the text. Nothing is built from it, because a megabyte of brackets would become half a million
 * objects, which takes dozens of times as long as reading them.
 */
export function isJson(text: string): boolean {
  /** The brackets that are open: 1 for an object, 0 for an array. */
  let open = new Uint8Array(64);
  let depth = 0;
  let at = skipSpaces(text, 0);
  for (;;) {
    // A value starts here.
    const code = text.charCodeAt(at);
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const next = skipSpaces(text, at + 1);
      const close = code === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
      if (text.charCodeAt(next) !== close) {
        if (depth === open.length) open = grown(open);
        open[depth] = code === OPEN_BRACE ? 1 : 0;
        depth++;
        at = code === OPEN_BRACE ? afterName(text, next) : next;
        if (at < 0) return false;
        continue;
      }
      at = next + 1;
    } else {
      at = code === QUOTE ? afterString(text, at) : afterScalar(text, at);
      if (at < 0) return false;
    }
    // A value has ended here.
    for (;;) {
      at = skipSpaces(text, at);
      if (depth === 0) return at === text.length;
      const isObject = open[depth - 1] === 1;
      const separator = text.charCodeAt(at);
      if (separator === COMMA) {
        at = skipSpaces(text, at + 1);
        if (isObject) at = afterName(text, at);
        if (at < 0) return false;
        break;
      }
      if (separator !== (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) return false;
      depth--;
      at++;
    }
  }
}

function grown(open: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * open.length);
  larger.set(open);
  return larger;
}

function skipSpaces(text: string, start: number): number {
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at++;
  }
}

/** The index of the value after a member's name, or -1. */
function afterName(text: string, start: number): number {
  if (text.charCodeAt(start) !== QUOTE) return -1;
  const end = afterString(text, start);
  if (end < 0) return -1;
  const colon = skipSpaces(text, end);
  return text.charCodeAt(colon) === COLON ? skipSpaces(text, colon + 1) : -1;
}

/** The index after a string that starts with the quote at `start`, or -1. */
function afterString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code < SPACE) return -1;
    if (code !== BACKSLASH) continue;
    at++;
    const escaped = text.charCodeAt(at);
    if (!ESCAPES.has(escaped)) return -1;
    if (escaped !== LOWER_U) continue;
    for (const last = at + 4; at < last; at++) if (!isHex(text.charCodeAt(at + 1))) return -1;
  }
  return -1;
}

/** The index after a number or literal, or -1. */
function afterScalar(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === MINUS || isDigit(first)) return afterNumber(text, start);
  const literal = LITERALS.find((one) => text.startsWith(one, start));
  return literal === undefined ? -1 : start + literal.length;
}

function afterNumber(text: string, start: number): number {
  let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
  at = text.charCodeAt(at) === ZERO ? at + 1 : afterDigits(text, at);
  if (at >= 0 && text.charCodeAt(at) === DOT) at = afterDigits(text, at + 1);
  if (at < 0 || (text.charCodeAt(at) | LOWERCASE) !== LOWER_E) return at;
  const sign = text.charCodeAt(at + 1);
  return afterDigits(text, sign === PLUS || sign === MINUS ? at + 2 : at + 1);
}

/** The index after one or more digits, or -1 if there are none. */
function afterDigits(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at++;
  return at === start ? -1 : at;
}

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

function isHex(code: number): boolean {
  const letter = code | LOWERCASE;
  return isDigit(code) || (letter >= 0x61 && letter <= 0x66);
}
