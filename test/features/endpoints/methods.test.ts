import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { METHODS, methodsOf } from '../../../src/features/endpoints/methods.ts';
import { methodsInput } from '../../../src/features/endpoints/methods-input.ts';

const anyCase = (text: string) =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((upper) => [...text].map((letter, index) => (upper[index] ? letter : letter.toLowerCase())).join(''));
const method = fc.constantFrom(...METHODS).chain(anyCase);

describe("an endpoint's methods", () => {
  test('are stored in uppercase, once each, and in a fixed order', () => {
    fc.assert(
      fc.property(fc.array(method, { minLength: 1, maxLength: 32 }), (written) => {
        const stored = methodsInput.parse(written);
        expect(stored).toEqual(METHODS.filter((name) => written.some((text) => text.toUpperCase() === name)));
        expect(methodsInput.parse(stored)).toEqual(stored);
      }),
    );
  });

  test.each(['OPTIONS', 'CONNECT', 'TRACE', 'QUERY', '*', '', ' GET', 'GET,POST'])("can't include %j", (name) => {
    const result = methodsInput.safeParse(['GET', name]);
    expect(result.error?.issues).toMatchObject([
      { path: [1], message: expect.stringContaining('Must be one of GET, HEAD, POST, PUT, PATCH, DELETE.') },
    ]);
  });

  test("can't be empty, which would be read as every method", () => {
    expect(methodsInput.safeParse([]).error?.issues).toMatchObject([{ message: 'Must have at least one method.' }]);
  });

  test('are all methods for an endpoint stored before they could be chosen', () => {
    expect(methodsOf({ methods: [] })).toEqual(METHODS);
    expect(methodsOf({ methods: null })).toEqual(METHODS);
    expect(methodsOf({ methods: ['PUT'] })).toEqual(['PUT']);
  });
});
