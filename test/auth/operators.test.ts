import { describe, expect, test } from 'vitest';
import { isListed, parseOperators } from '../../src/auth/operators.ts';

const ISSUER = 'https://login.example/';
const OLGA = { issuer: ISSUER, subject: 'auth0|olga' };

describe('OPERATORS', () => {
  test('lists people by issuer and subject', () => {
    expect(parseOperators(JSON.stringify([OLGA]), [ISSUER])).toEqual([OLGA]);
    expect(parseOperators('[]', [])).toEqual([]);
  });

  test.each([
    ['olga', /valid JSON/],
    ['{"issuer":"x"}', /Must be a JSON list/],
    ['[{"issuer":"https://login.example/"}]', /0\.subject: Required/],
    ['[{"issuer":"https://login.example/","subject":""}]', /0\.subject: /],
    ['[{"issuer":"https://login.example/","subject":"a","role":"b"}]', /role/],
    ['["olga"]', /0: /],
  ])('%s is rejected with the reason', (json, message) => {
    expect(() => parseOperators(json, [ISSUER])).toThrow(message);
  });

  test('cannot name someone from an issuer that is not trusted', () => {
    expect(() => parseOperators(JSON.stringify([OLGA]), ['https://login.example'])).toThrow(
      "https://login.example/ isn't a trusted issuer",
    );
  });
});

test('only the exact pair of issuer and subject is an operator', () => {
  expect(isListed([OLGA], { ...OLGA })).toBe(true);
  for (const other of [
    { ...OLGA, issuer: 'https://other.example/' },
    { ...OLGA, subject: 'auth0|Olga' },
    { ...OLGA, subject: '' },
  ])
    expect(isListed([OLGA], other)).toBe(false);
  expect(isListed([], OLGA)).toBe(false);
});
