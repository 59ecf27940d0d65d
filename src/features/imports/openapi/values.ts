import { invalidField } from '../../../errors.ts';
import { type Json, type JsonObject, LIMITS } from './document.ts';

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object's own field. Documents may use names such as `constructor`, which every object inherits. */
export function own(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Human-readable text, truncated and without characters that the database can't store. Null if nothing is left. */
export function proseOf(value: unknown, maxLength: number): string | null {
  if (typeof value !== 'string') return null;
  // The text is cut first, because it may be megabytes long. A character may be two code units.
  const text = value
    .slice(0, maxLength * 2)
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\n\t\P{Cc}]/gu, '')
    .toWellFormed()
    .trim();
  return (
    (text.length <= maxLength
      ? text
      : `${text
          .slice(0, maxLength - 1)
          .toWellFormed()
          .trimEnd()}…`) || null
  );
}

/** Text from the document, quoted for use in a message. */
export function quoted(text: string): string {
  return `“${proseOf(text, 80) ?? ''}”`;
}

/**
 * How many more values can be copied from a document, how many more bytes its operations can have as JSON, and how many
 * more steps reading it can take.
 */
export type Budget = { nodes: number; bytes: number; steps: number };

/**
 * Counts the work of reading parts that operations can share, because they are read again for each operation. Without a
 * limit, a few megabytes could take hours to read. A step is about as much work as following one character of a
 * reference.
 *
 * @throws AppError `VALIDATION_FAILED` for `/document` after too many steps
 */
export function spendSteps(budget: Budget, steps: number): void {
  budget.steps -= steps;
  if (budget.steps >= 0) return;
  throw invalidField(
    '/document',
    'The document’s operations have too many parameters, fields, and references. Split it into smaller documents.',
  );
}

const STEPS_PER_KEY = 10;

/** An object's keys. */
export function keysOf(value: JsonObject, budget: Budget): string[] {
  const keys = Object.keys(value);
  spendSteps(budget, keys.length * STEPS_PER_KEY);
  return keys;
}

/** Stops copying a value that is too large. */
const TOO_LARGE = Symbol('too large');

/**
 * Copies a value from a document as plain JSON: without keys that change an object's prototype, and without text that
 * the database can't store.
 *
 * @param expand is called for every object, and returns the object to copy in its place.
 * @returns undefined if the value is too large or too deep.
 */
export function copyJson(
  value: unknown,
  budget: Budget,
  expand: (value: JsonObject, above: readonly JsonObject[]) => JsonObject = (object) => object,
): Json | undefined {
  let nodes: number = LIMITS.valueNodes;
  let bytes: number = LIMITS.valueBytes;

  function spend(length: number): void {
    nodes -= 1;
    bytes -= length;
    budget.nodes -= 1;
    if (nodes < 0 || bytes < 0 || budget.nodes < 0) throw TOO_LARGE;
  }

  function copy(from: unknown, above: readonly JsonObject[]): Json {
    if (above.length > LIMITS.valueDepth) throw TOO_LARGE;
    if (typeof from === 'string') {
      spend(from.length);
      return from.replaceAll('\0', '').toWellFormed();
    }
    spend(8);
    if (typeof from === 'boolean' || (typeof from === 'number' && Number.isFinite(from))) return from;
    // A list also counts as a level.
    if (Array.isArray(from)) return from.map((item) => copy(item, [...above, {}]));
    if (!isObject(from)) return null;
    const object = expand(from, above);
    const inside = [...above, object];
    const entries: [string, Json][] = [];
    for (const name of keysOf(object, budget)) {
      if (name === '__proto__') continue;
      spend(name.length);
      entries.push([name.replaceAll('\0', '').toWellFormed(), copy(object[name], inside)]);
    }
    return Object.fromEntries(entries);
  }

  try {
    return copy(value, []);
  } catch (error) {
    if (error === TOO_LARGE) return undefined;
    throw error;
  }
}
