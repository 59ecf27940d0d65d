import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findJsonFault } from '../../src/http/json-fault.ts';

const NAME = 'a field name in double quotes';
const COMMA = 'a comma or a closing bracket';
const ESCAPED = 'an escape sequence such as `\\n`';

describe('the first mistake', () => {
  test.each<[string, line: number, column: number, expected: string]>([
    ['{"name": "Shop",}', 1, 17, NAME],
    ['{\n  name: "Shop"\n}', 2, 3, NAME],
    ["{'name': 'Shop'}", 1, 2, NAME],
    ['{"name" "Shop"}', 1, 9, 'a colon'],
    ['{"name": None}', 1, 10, 'a value'],
    ['{"name": undefined}', 1, 10, 'a value'],
    ['{"price": .5}', 1, 11, 'a value'],
    ['{"price": 1.}', 1, 12, COMMA],
    ['{"price": 01}', 1, 12, COMMA],
    ['[1, 2,]', 1, 7, 'a value'],
    ['[1 2]', 1, 4, COMMA],
    ['[1}', 1, 3, COMMA],
    ['{"a": 1 "b": 2}', 1, 9, COMMA],
    ['{} // comment', 1, 4, 'the end of the body'],
    ['{"a": 1}{"a": 2}', 1, 9, 'the end of the body'],
    ['name=Shop', 1, 1, 'a value'],
    ['{"name": "a\nb"}', 1, 12, ESCAPED],
    ['{"path": "C:\\dir"}', 1, 13, ESCAPED],
    ['{"path": "\\u12"}', 1, 11, ESCAPED],
  ])('in %j is at line %i, column %i, where JSON has %s', (text, line, column, expected) => {
    expect(findJsonFault(text)).toEqual({ line, column, expected });
  });

  test.each(['', ' ', '{', '{"name": "Shop"', '{"name', '{"name":', '[1,', '[[]'])(
    'isn’t anywhere in %j, which is only cut off',
    (text) => {
      expect(findJsonFault(text)).toBeUndefined();
    },
  );

  test('is found at the inserted character, or at the start of the word or escape sequence that it splits', () => {
    const property = fc.property(fc.jsonValue(), fc.nat(), fc.constantFrom(0, 2), (value, random, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(findJsonFault(text)).toBeUndefined();
      const at = random % (text.length + 1);
      const broken = `${text.slice(0, at)}\u0001${text.slice(at)}`;
      const { line, column } = findJsonFault(broken)!;
      const position = broken.split('\n', line - 1).join('\n').length + (line > 1 ? 1 : 0) + column - 1;
      expect(position).toBeLessThanOrEqual(at);
      expect(broken.slice(position, at)).toMatch(
        /^(t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|e|e[-+]|\\|\\u[\da-fA-F]{0,3})?$/,
      );
    });
    fc.assert(property, { numRuns: 2_000 });
  });
});
