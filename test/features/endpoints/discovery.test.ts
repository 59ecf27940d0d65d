import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AppError } from '../../../src/errors.ts';
import { discoveryInput } from '../../../src/features/endpoints/discovery.ts';
import { parseInput } from '../../../src/validation.ts';

const input = z.strictObject(discoveryInput);
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

function refusal(value: unknown): Record<string, string> {
  try {
    parseInput(input, value);
  } catch (error) {
    const { fields = [] } = error as AppError;
    return Object.fromEntries(fields.map(({ pointer, message }) => [pointer, message]));
  }
  return {};
}

/** Every fault, including several at the same place. */
function faults(value: unknown): string[] {
  const { error } = input.safeParse(value);
  return error?.issues.map(({ message }) => message) ?? [];
}

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

describe('what buyers are shown about an endpoint', () => {
  // The patterns take time that grows with the square of the length.
  test.each([{ tags: ['é'.repeat(33)] }, { mimeType: 'é'.repeat(128) }])(
    'is not compared with a pattern if it is too long: %j',
    (value) => {
      expect(faults(value)).toEqual([expect.stringContaining('<=')]);
    },
  );

  test.each([
    ['in one pattern', { type: 'string', pattern: '\\p{L}'.repeat(51) }],
    ['in several', { type: 'object', patternProperties: { '^\\P{L}{2}$': {} }, pattern: '[\\p{N}]'.repeat(50) }],
    ['in a name', { type: 'object', patternProperties: { ['\\P{L}'.repeat(51)]: true } }],
  ])('has at most 50 Unicode property escapes, %s', (_where, body) => {
    expect(refusal({ inputSchema: { body } })).toEqual({
      '/inputSchema': 'Must have at most 50 Unicode property escapes, such as \\p{L}.',
    });
  });

  test.each(['(?i:a)', 'a(?i-m:[\\W])', '\\\\(?-s:.)'])('has no patterns with modifiers: %s', (pattern) => {
    expect(refusal({ inputSchema: { body: { type: 'string', pattern } } })).toEqual({
      '/inputSchema/body/pattern': 'Must be a regular expression (ECMA-262, Unicode).',
    });
  });

  test.each(['(?:a)', '(?=a)(?!b)(?<=a)(?<!b)(?<name>c)', '\\(?i:', 'a\\(?im:'])(
    'can have the pattern %s',
    (pattern) => {
      expect(refusal({ inputSchema: { body: { type: 'string', pattern } } })).toEqual({});
    },
  );

  test('can have 50 Unicode property escapes', () => {
    expect(refusal({ inputSchema: { body: { type: 'string', pattern: '\\p{L}'.repeat(50) } } })).toEqual({});
  });

  test.each([
    [{}],
    [{ mimeType: null, inputSchema: null, exampleResponse: null }],
    [{ mimeType: 'application/json' }],
    [{ mimeType: 'text/plain; charset=utf-8' }],
    [{ mimeType: 'multipart/mixed; boundary="a b"' }],
    [{ inputSchema: { query: CITY } }],
    [{ inputSchema: { path: CITY } }],
    [{ inputSchema: { query: CITY, headers: CITY } }],
    [{ inputSchema: { query: CITY, body: { type: 'array', items: CITY } } }],
    [{ inputSchema: { body: { type: 'object', properties: { $ref: { type: 'string' }, id: { type: 'string' } } } } }],
    [{ inputSchema: { body: { type: 'object', 'x-note': { any: 'thing' }, additionalProperties: false } } }],
    [{ exampleResponse: [1, 'two', null, { three: true }] }],
    [{ exampleResponse: 'sunny' }],
    [{ exampleResponse: 'x'.repeat(32_766) }],
    [{ exampleResponse: nested(32) }],
    [{ tags: ['weather', 'Switzerland'] }],
  ])('can be %j', (value) => {
    expect(parseInput(input, value)).toEqual(value);
  });

  test.each([
    ['exampleResponse', (items: object[]) => ({ exampleResponse: items }), 1_999],
    // The schema, `query`, `type`, and the list of examples are values, too.
    ['inputSchema', (items: object[]) => ({ inputSchema: { query: { type: 'object', examples: items } } }), 1_996],
  ])('%s can have 2,000 values', (name, bodyWith, most) => {
    const emptyObjects = (count: number) => Array.from({ length: count }, () => ({}));
    expect(refusal(bodyWith(emptyObjects(most)))).toEqual({});
    expect(refusal(bodyWith(emptyObjects(most + 1)))).toEqual({ [`/${name}`]: 'Must have at most 2,000 values.' });
  });

  test.each([
    [{ mimeType: 'json' }, '/mimeType'],
    [{ mimeType: '*/*' }, '/mimeType'],
    [{ mimeType: 'text/plain\r\nX-A: b' }, '/mimeType'],
    [{ mimeType: `text/${'x'.repeat(130)}` }, '/mimeType'],
    [{ inputSchema: {} }, '/inputSchema'],
    [{ inputSchema: 'x' }, '/inputSchema'],
    [{ inputSchema: { query: CITY, cookies: CITY } }, '/inputSchema/cookies'],
    [{ inputSchema: { headers: { type: 'string' } } }, '/inputSchema/headers/type'],
    [{ inputSchema: { path: { type: 'array' } } }, '/inputSchema/path/type'],
    [{ inputSchema: { query: true } }, '/inputSchema/query'],
    [{ inputSchema: { query: {} } }, '/inputSchema/query/type'],
    [{ inputSchema: { query: { type: 'array' } } }, '/inputSchema/query/type'],
    [{ inputSchema: { body: { type: 'null' } } }, '/inputSchema/body/type'],
    [{ inputSchema: { body: { type: 'object', properties: { a: 1 } } } }, '/inputSchema/body/properties/a'],
    [{ inputSchema: { body: { type: 'object', properties: [] } } }, '/inputSchema/body/properties'],
    [{ inputSchema: { body: { type: 'object', required: 'a' } } }, '/inputSchema/body/required'],
    [{ inputSchema: { body: { type: 'object', required: ['a', 'a'] } } }, '/inputSchema/body/required'],
    [{ inputSchema: { body: { type: 'array', items: [CITY] } } }, '/inputSchema/body/items'],
    [{ inputSchema: { body: { type: 'array', items: { type: 'text' } } } }, '/inputSchema/body/items/type'],
    [{ inputSchema: { body: { type: 'string', pattern: '(' } } }, '/inputSchema/body/pattern'],
    [
      { inputSchema: { body: { type: 'object', patternProperties: { '(': {} } } } },
      '/inputSchema/body/patternProperties/(',
    ],
    [{ inputSchema: { body: { type: 'string', minLength: -1 } } }, '/inputSchema/body/minLength'],
    [{ inputSchema: { body: { type: 'string', enum: [] } } }, '/inputSchema/body/enum'],
    [{ inputSchema: { body: { type: 'number', multipleOf: 0 } } }, '/inputSchema/body/multipleOf'],
    [{ inputSchema: { body: { type: 'object', allOf: [] } } }, '/inputSchema/body/allOf'],
    [
      { inputSchema: { body: { type: 'object', properties: { a: { $ref: '#/x' } } } } },
      '/inputSchema/body/properties/a/$ref',
    ],
    [{ inputSchema: { body: { type: 'object', $id: 'https://example.com' } } }, '/inputSchema/body/$id'],
    [{ inputSchema: { query: { ...CITY, description: 'x'.repeat(32_768) } } }, '/inputSchema'],
    [{ exampleResponse: 'x'.repeat(32_767) }, '/exampleResponse'],
    [{ exampleResponse: '☀'.repeat(11_000) }, '/exampleResponse'],
    [{ exampleResponse: nested(33) }, '/exampleResponse'],
    [{ exampleResponse: { 'a\0': 1 } }, '/exampleResponse'],
    [{ exampleResponse: { a: { '\ud800': 1 } } }, '/exampleResponse/a'],
    [{ exampleResponse: { a: 'b\0' } }, '/exampleResponse/a'],
    [{ exampleResponse: { a: Number.POSITIVE_INFINITY } }, '/exampleResponse/a'],
    [{ tags: Array.from({ length: 11 }, (_, index) => `tag ${index}`) }, '/tags'],
    [{ tags: ['fine', 'x'.repeat(33)] }, '/tags/1'],
    [{ tags: [' '] }, '/tags/0'],
    [{ tags: ['wetter ☀'] }, '/tags/0'],
  ])('is rejected if it is %j, and the error names %s', (value, pointer) => {
    expect(Object.keys(refusal(value))).toEqual([pointer]);
  });

  test('rejects deep nesting without overflowing the stack', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`) as unknown;
    for (const value of [{ exampleResponse: deep }, { inputSchema: { body: deep } }]) {
      expect(Object.values(refusal(value))).toEqual(['Must have at most 32 levels.']);
    }
  });

  test('has no repeated tags, and no `$schema`, which generators add', () => {
    const dialect = 'https://json-schema.org/draft/2020-12/schema';
    const written = { inputSchema: { query: { $schema: dialect, ...CITY } }, tags: ['a', 'A ', 'b'] };
    expect(parseInput(input, written)).toEqual({ inputSchema: { query: CITY }, tags: ['A', 'b'] });
    expect(parseInput(input, { tags: null })).toEqual({ tags: [] });
  });
});
