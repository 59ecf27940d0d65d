import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AppError, toPointer } from '../src/errors.ts';
import { lineOfText, optionalText, parseInput } from '../src/validation.ts';
import { hostileText } from './support/hostile-text.ts';

function sentences(schema: z.ZodType, input: unknown): string[] {
  try {
    parseInput(schema, input);
    return [];
  } catch (error) {
    return (error as AppError).fields.map(({ message }) => message);
  }
}

function refusals(schema: z.ZodType, input: unknown, prefix?: string) {
  try {
    parseInput(schema, input, prefix);
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe('VALIDATION_FAILED');
    return error.fields.map(({ pointer }) => pointer);
  }
}

/** Parses a JSON pointer (RFC 6901 §3 and §4). */
const partsOf = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

describe('JSON pointers', () => {
  test.each<[PropertyKey[], string]>([
    [[], ''],
    [['a'], '/a'],
    [['a', 0, 'b'], '/a/0/b'],
    [['a/b', 'm~n'], '/a~1b/m~0n'],
    [[''], '/'],
    [['~1'], '/~01'],
  ])('turn the path %j into "%s"', (path, pointer) => {
    expect(toPointer(path)).toBe(pointer);
  });

  test('can be parsed back to their path', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (path) => {
        expect(partsOf(toPointer(path))).toEqual(path);
      }),
    );
  });
});

describe('input', () => {
  const schema = z.strictObject({ name: z.string(), list: z.array(z.object({ size: z.number() })) });

  test('is returned if it is valid', () => {
    const input = { name: 'x', list: [{ size: 1 }] };
    expect(parseInput(schema, input)).toEqual(input);
  });

  test('is rejected with a pointer to each invalid value', () => {
    expect(refusals(schema, { name: 1, list: [{ size: 1 }, { size: 'x' }] })).toEqual(['/name', '/list/1/size']);
    expect(refusals(schema, { name: 'x', list: [], more: 1, 'a/b': 2 })).toEqual(['/more', '/a~1b']);
    expect(refusals(schema, null)).toEqual(['']);
    expect(refusals(schema, { name: 1, list: [] }, '/config')).toEqual(['/config/name']);
  });
});

describe('an error message says what a value must be', () => {
  test.each<[string, z.ZodType, unknown]>([
    ['Required.', z.object({ name: z.string() }), {}],
    ['Must not be null.', z.string(), null],
    ['Must be a string.', z.string(), 1],
    ['Must be true or false.', z.boolean(), 'yes'],
    ['Must be a list.', z.array(z.string()), 'x'],
    ['Must be an object.', z.object({}), 'x'],
    ['Must be a number.', z.int(), 'x'],
    ['Must be a whole number.', z.int(), 1.5],
    ['Must be at least 1.', z.int().min(1), 0],
    ['Must be at most 9.', z.int().max(9), 10],
    ['Must be one of NONE, PAYMENT. Did you mean `PAYMENT`?', z.enum(['NONE', 'PAYMENT']), 'payment'],
    ['Must be 2.', z.literal(2), 1],
    ['Must have at least 1 entry.', z.array(z.string()).min(1), []],
    ['Must have at most 2 entries.', z.array(z.string()).max(2), ['a', 'b', 'c']],
    ['Must be at least 16 characters.', z.string().min(16), 'x'],
    ['Must be text.', z.string('Must be text.'), 1],
  ])('%s', (sentence, schema, input) => {
    expect(sentences(schema, input)).toEqual([sentence]);
  });
});

describe('a line of text', () => {
  const line = lineOfText(5);

  test.each([
    ['abc', 'abc'],
    ['  abc\t', 'abc'],
    ['ab cd', 'ab cd'],
    ['äöüß€', 'äöüß€'],
    ['\u202Ea', '\u202Ea'],
  ])('%j is kept as %j', (text, kept) => {
    expect(parseInput(line, text)).toBe(kept);
  });

  test.each(['', ' ', '\n', 'abcdef', 'a\nb', 'a\0b', 'a\u0085b', '\ud800', 'a\udc00', '\u007f'])(
    '%j is rejected',
    (text) => {
      expect(refusals(line, text)).toContain('');
    },
  );

  test('is well-formed, trimmed, and free of control characters for any input', () => {
    fc.assert(
      fc.property(hostileText(), (text) => {
        const result = lineOfText(200).safeParse(text);
        if (!result.success) return;
        expect(result.data.isWellFormed()).toBe(true);
        expect(result.data).toBe(result.data.trim());
        expect(result.data).not.toMatch(/\p{Cc}/u);
        expect(result.data.length).toBeGreaterThan(0);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('optional text', () => {
  const text = optionalText(10);

  test.each([
    [undefined, undefined],
    [null, null],
    ['', null],
    ['  ', null],
    [' a\tb\r\nc ', 'a\tb\r\nc'],
  ])('%j is kept as %j', (given, kept) => {
    expect(parseInput(text, given)).toBe(kept);
  });

  test.each(['x'.repeat(11), 'a\0b', 'a\u0007', '\ud800', 'a\u001b[31m'])('%j is rejected', (given) => {
    expect(refusals(text, given)).toContain('');
  });
});
