/** A place in a text: its line and column, both counted from 1, and what JSON (RFC 8259) allows there instead. */
export type JsonFault = { line: number; column: number; expected: string };

const SPACE = /[ \t\n\r]*/y;
/** All characters that a string can contain without an escape sequence (RFC 8259 §7). */
const PLAIN_TEXT = /[ !#-[\]-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const WORD_OR_NUMBER = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

const NAME = 'a field name in double quotes';
const COLON = 'a colon';
const VALUE = 'a value';
const COMMA = 'a comma or a closing bracket';
const END = 'the end of the body';
const ESCAPED = 'an escape sequence such as `\\n`';

/**
 * Finds the first mistake in a text that isn't valid JSON. `JSON.parse` has a position in only some of its messages, and
 * quotes the text in the others.
 *
 * @returns undefined if the text is only cut off.
 */
export function findJsonFault(text: string): JsonFault | undefined {
  const { at, expected } = scan(text);
  if (at >= text.length) return undefined;
  const lines = text.slice(0, at).split('\n');
  return { line: lines.length, column: lines.at(-1)!.length + 1, expected };
}

/** Reads up to the first mistake or the end. Doesn't use recursion, so that deep nesting can't overflow the stack. */
function scan(text: string): { at: number; expected: string } {
  /** The closing brackets that are still missing, innermost last. */
  const closing: string[] = [];
  let expected: string = VALUE;
  /** Whether a bracket was just opened, so that it can be closed again. */
  let isEmpty = false;
  let at = endOf(SPACE, text, 0);
  const readValue = (end: number) => {
    at = end;
    expected = closing.length > 0 ? COMMA : END;
  };

  for (; at < text.length; at = endOf(SPACE, text, at)) {
    const character = text[at]!;
    const canClose = isEmpty || expected === COMMA;
    isEmpty = false;
    if (canClose && character === closing.at(-1)) {
      closing.pop();
      readValue(at + 1);
    } else if (expected === COMMA && character === ',') {
      at += 1;
      expected = closing.at(-1) === '}' ? NAME : VALUE;
    } else if (expected === COLON && character === ':') {
      at += 1;
      expected = VALUE;
    } else if ((expected === NAME || expected === VALUE) && character === '"') {
      const end = endOfStringText(text, at + 1);
      if (text[end] !== '"') return { at: end, expected: ESCAPED };
      const isName = expected === NAME;
      readValue(end + 1);
      if (isName) expected = COLON;
    } else if (expected === VALUE && (character === '{' || character === '[')) {
      closing.push(character === '{' ? '}' : ']');
      at += 1;
      expected = character === '{' ? NAME : VALUE;
      isEmpty = true;
    } else {
      const end = expected === VALUE ? endOf(WORD_OR_NUMBER, text, at) : at;
      if (end === at) return { at, expected };
      readValue(end);
    }
  }
  return { at, expected };
}

/** Where a string's text ends: at its closing quote, or at a character that it can't contain. */
function endOfStringText(text: string, start: number): number {
  let at = endOf(PLAIN_TEXT, text, start);
  for (let next = endOf(ESCAPE, text, at); next > at; next = endOf(ESCAPE, text, at)) {
    at = endOf(PLAIN_TEXT, text, next);
  }
  return at;
}

/** The end of what a sticky pattern matches, or `at` if it doesn't match. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
