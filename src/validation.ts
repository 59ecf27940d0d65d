import { z } from 'zod';
import { mustBeOneOf, nameFields } from './did-you-mean.ts';
import { AppError, type FieldError, MAX_FIELD_ERRORS, toPointer } from './errors.ts';

/** The input for an update. Any field may be missing, and the rules determine whether null is allowed. */
export type Nullable<T> = { [K in keyof T]?: T[K] | null | undefined };

/**
 * Checks input against a schema. Also rejects text that the database can't store, even if the schema accepts it,
 * because the audit log keeps the values as received.
 *
 * @throws AppError `VALIDATION_FAILED` with a JSON pointer for each invalid field.
 */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown, pointerPrefix = ''): T {
  const result = schema.safeParse(input, { error: sentenceOf });
  const fields = result.success
    ? unstorableText(input, pointerPrefix)
    : fieldErrors(result.error, schema, pointerPrefix);
  if (!result.success || fields.length > 0) throw new AppError('VALIDATION_FAILED', { fields });
  return result.data;
}

type Place = { value: unknown; name: string; parent: Place | undefined };

/**
 * Finds text that PostgreSQL can't store, either as text or in JSON. Uses a loop so that deep nesting can't overflow
 * the stack.
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
      for (const [name, item] of Object.entries(value).reverse()) {
        const message = textFault(name);
        if (message)
          errors.push({ pointer: pointerPrefix + toPointer(pathTo(place)), message: `Field names: ${message}` });
        else waiting.push({ value: item, name, parent });
      }
    }
  }
  return errors;
}

/** Why the database can't store a string, or undefined if it can. */
function textFault(text: string): string | undefined {
  if (text.includes('\0')) return 'Must not contain NUL characters.';
  return text.isWellFormed() ? undefined : 'Must be valid Unicode.';
}

/** Returns the text unchanged. @throws AppError `VALIDATION_FAILED` if the database can't store it, in which case no
 * row could match it. */
export function storableText(pointer: string, text: string): string {
  const message = textFault(text);
  if (message) throw new AppError('VALIDATION_FAILED', { fields: [{ pointer, message }] });
  return text;
}

function pathTo({ name, parent }: Place): string[] {
  const names: string[] = [];
  for (let at: Pick<Place, 'name' | 'parent'> = { name, parent }; at.parent; at = at.parent) names.unshift(at.name);
  return names;
}

/** A Zod error's issues as RFC 6901 JSON pointers, each with a message. */
function fieldErrors(error: z.ZodError, schema: z.ZodType, pointerPrefix = ''): FieldError[] {
  return error.issues.flatMap((issue) => {
    const pointer = pointerPrefix + toPointer(issue.path);
    if (issue.code === 'unrecognized_keys') {
      const known = fieldsAt(schema, issue.path);
      // The rest are only counted, because looking for similar names is slow.
      return issue.keys.map((key, index) => ({
        pointer: pointer + toPointer([key]),
        message: `Unknown field.${index < MAX_FIELD_ERRORS ? nameFields(key, known) : ''}`,
      }));
    }
    return [{ pointer, message: issue.message }];
  });
}

/** The fields of the object at a path in the input. Empty if the schema depends on the input. */
function fieldsAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return fieldsAt(schema.unwrap(), path);
  const [part, ...rest] = path;
  const shape = schema instanceof z.ZodObject ? (schema.shape as Record<PropertyKey, unknown>) : {};
  if (part === undefined) return Object.keys(shape);
  return fieldsAt(schema instanceof z.ZodArray ? schema.element : shape[part], rest);
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

/** The message for rules that don't define one. If it is undefined, Zod's message is used. */
export function sentenceOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'Required.';
    if (issue.input === null) return 'Must not be null.';
    const expected = EXPECTED[issue.expected];
    return expected && `Must be ${expected}.`;
  }
  if (issue.code === 'invalid_value') return mustBeOneOf(issue.input, issue.values.map(String));
  if (issue.code === 'too_small') return bound('at least', issue.minimum, issue.origin);
  if (issue.code === 'too_big') return bound('at most', issue.maximum, issue.origin);
  return undefined;
}

function bound(which: string, limit: number | bigint, origin: string): string {
  const [verb, one, many] = UNITS[origin] ?? [];
  return verb === undefined
    ? `Must be ${which} ${limit}.`
    : `Must ${verb} ${which} ${limit} ${Number(limit) === 1 ? one : many}.`;
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
