/**
 * Finds values in JSON text without parsing all of it. Parsed, 10 MB of JSON can take 200 MB of memory. Values are also
 * found exactly as they were written, which matters for numbers that JavaScript can't represent.
 *
 * Only the structure around a value is checked, not the value itself. Text that isn't JSON gives undefined, or values
 * that aren't JSON, but never throws.
 */

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACES = /[ \t\n\r]*/y;
const VALID_STRING = /^"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"$/u;
/** Longer than any name that is looked for, even if each of its characters is escaped. */
const MAX_QUOTED_NAME = 100;
const SCALAR = /[^ \t\n\r,:"[\]{}]+/y;

/**
 * The members of an object, as text. Of members with the same name, the last one counts, as in `JSON.parse`.
 *
 * @param names which members to find.
 * @returns undefined if the text isn't an object.
 */
export function membersOf<Name extends string>(
  text: string,
  names: readonly Name[],
): Partial<Record<Name, string>> | undefined {
  const members: Partial<Record<Name, string>> = {};
  const isObject = eachItem(text, '{}', (start) => {
    const nameEnd = text[start] === '"' ? endOfString(text, start) : -1;
    const colon = nameEnd < 0 ? -1 : skipSpaces(text, nameEnd);
    if (text[colon] !== ':') return -1;
    const valueStart = skipSpaces(text, colon + 1);
    const end = endOfValue(text, valueStart);
    const name = end < 0 ? undefined : nameIn(text.slice(start, nameEnd));
    const wanted = names.find((one) => one === name);
    if (wanted !== undefined) members[wanted] = text.slice(valueStart, end);
    return end;
  });
  return isObject ? members : undefined;
}

/**
 * The elements of an array, as text.
 *
 * @returns undefined if the text isn't an array, or has more than `maxCount` elements.
 */
export function elementsOf(text: string, maxCount: number): string[] | undefined {
  const elements: string[] = [];
  const isArray = eachItem(text, '[]', (start) => {
    const end = elements.length < maxCount ? endOfValue(text, start) : -1;
    if (end >= 0) elements.push(text.slice(start, end));
    return end;
  });
  return isArray ? elements : undefined;
}

/**
 * Visits the comma-separated items between two brackets.
 *
 * @param visit takes the start of an item, and returns its end, or -1 to stop.
 * @returns whether the text is a complete list, with nothing after it.
 */
function eachItem(text: string, [open, close]: string, visit: (start: number) => number): boolean {
  let at = skipSpaces(text, 0);
  if (text[at] !== open) return false;
  at = skipSpaces(text, at + 1);
  if (text[at] !== close) {
    for (;;) {
      const end = visit(at);
      if (end < 0) return false;
      at = skipSpaces(text, end);
      if (text[at] === close) break;
      if (text[at] !== ',') return false;
      at = skipSpaces(text, at + 1);
    }
  }
  return skipSpaces(text, at + 1) === text.length;
}

function skipSpaces(text: string, start: number): number {
  if (text.charCodeAt(start) > SPACE) return start;
  SPACES.lastIndex = start;
  SPACES.test(text);
  return SPACES.lastIndex;
}

/** The index after the value at `start`, or -1 if the value is cut off or missing. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    SCALAR.lastIndex = start;
    return SCALAR.test(text) ? SCALAR.lastIndex : -1;
  }
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--;
      if (depth === 0) return at + 1;
    } else if (code === QUOTE) {
      const end = endOfString(text, at);
      if (end < 0) return -1;
      at = end - 1;
    }
  }
  return -1;
}

/** The index after a string that starts with the quote at `start`, or -1 if it is cut off. */
function endOfString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return quote + 1;
  }
  return -1;
}

function nameIn(quoted: string): string | undefined {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  if (quoted.length > MAX_QUOTED_NAME) return undefined;
  // An error for each of a million invalid names would take half a minute.
  return VALID_STRING.test(quoted) ? (parseScalar(quoted) as string | undefined) : undefined;
}

/** The value of a string, number, or literal. Undefined for everything else. */
export function parseScalar(text: string | undefined): unknown {
  if (text === undefined || text.startsWith('{') || text.startsWith('[')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
