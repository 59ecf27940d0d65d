import { z } from 'zod';
import { AppError, type FieldError } from './errors.ts';

/** The input for an update. Any field may be missing, and the rules decide whether null is allowed. */
export type Nullable<T> = { [K in keyof T]?: T[K] | null | undefined };

/**
 * Checks input against a schema. Also rejects text that the database can't store, even if the schema accepts it,
 * because the audit log keeps the values as received.
 *
 * @throws AppError `VALIDATION_FAILED` with a JSON pointer for each invalid field.
 */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown, pointerPrefix = ''): T {
  const result = schema.safeParse(input, { error: sentenceOf });
  const fields = result.success ? unstorableText(input, pointerPrefix) : fieldErrors(result.error, pointerPrefix);
  if (!result.success || fields.length > 0) throw new AppError('VALIDATION_FAILED', { fields });
  return result.data;
}

type Place = { value: unknown; name: string; parent: Place | undefined };

/**
 * Finds text that PostgreSQL accepts neither as text nor in JSON. Uses a loop so that deep nesting can't overflow the
 * stack.
 */
function unstorableText(input: unknown, pointerPrefix: string): FieldError[] {
  const errors: FieldError[] = [];
  const waiting: Place[] = [{ value: input, name: '', parent: undefined }];
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    const { value } = place;
    if (typeof value === 'string') {
      const message = textFault(value);
      if (message) errors.push({ pointer: pointerPrefix + toPointer(pathTo(place)), message });
    } else if (typeof value === 'object' && value !== null) {
      const parent = place;
      for (const [name, item] of Object.entries(value).reverse()) waiting.push({ value: item, name, parent });
    }
  }
  return errors;
}

function textFault(text: string): string | undefined {
  if (text.includes('\0')) return 'Must not contain NUL characters.';
  return text.isWellFormed() ? undefined : 'Must be valid Unicode.';
}

function pathTo({ name, parent }: Place): string[] {
  const names: string[] = [];
  for (let at: Pick<Place, 'name' | 'parent'> = { name, parent }; at.parent; at = at.parent) names.unshift(at.name);
  return names;
}

/** A Zod error's issues as RFC 6901 JSON pointers, each with a message. */
function fieldErrors(error: z.ZodError, pointerPrefix = ''): FieldError[] {
  return error.issues.flatMap((issue) => {
    const pointer = pointerPrefix + toPointer(issue.path);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        pointer: pointer + toPointer([key]),
        message: 'Unknown field.',
      }));
    }
    return [{ pointer, message: issue.message }];
  });
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  number: 'a number',
  int: 'a whole number',
};

const UNITS: Readonly<Record<string, readonly [verb: string, one: string, many: string]>> = {
  string: ['be', 'character', 'characters'],
  array: ['have', 'entry', 'entries'],
};

/** The message for rules that have none of their own. If it is undefined, Zod's message is used. */
export function sentenceOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'Is required.';
    if (issue.input === null) return 'Must not be null.';
    const expected = EXPECTED[issue.expected];
    return expected && `Must be ${expected}.`;
  }
  if (issue.code === 'invalid_value') return oneOf(issue.values.map(String));
  if (issue.code === 'too_small') return bound('at least', issue.minimum, issue.origin);
  if (issue.code === 'too_big') return bound('at most', issue.maximum, issue.origin);
  return undefined;
}

const oneOf = (values: string[]) => `Must be ${values.length === 1 ? '' : 'one of '}${values.join(', ')}.`;

function bound(which: string, limit: number | bigint, origin: string): string {
  const [verb, one, many] = UNITS[origin] ?? [];
  return verb === undefined
    ? `Must be ${which} ${limit}.`
    : `Must ${verb} ${which} ${limit} ${Number(limit) === 1 ? one : many}.`;
}

/** Writes a path as an RFC 6901 JSON pointer. */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** One line of text: trimmed, without control characters. */
export function lineOfText(maxLength: number) {
  return z
    .string()
    .trim()
    .min(1, "Can't be empty.")
    .max(maxLength, `Must be at most ${maxLength} characters.`)
    .regex(/^\P{Cc}*$/u, 'Must not contain control characters.')
    .refine((text) => text.isWellFormed(), 'Must be valid Unicode.');
}

/** Optional multi-line text. Allows tabs and line breaks, but no other control characters. */
export function optionalText(maxLength: number) {
  return z
    .string()
    .trim()
    .max(maxLength, `Must be at most ${maxLength} characters.`)
    .regex(/^[\t\n\r\P{Cc}]*$/u, 'Must not contain control characters.')
    .refine((text) => text.isWellFormed(), 'Must be valid Unicode.')
    .transform((text) => text || null)
    .nullish();
}
