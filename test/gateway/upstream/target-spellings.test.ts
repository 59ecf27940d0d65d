import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseUpstream, upstreamTarget } from '../../../src/gateway/upstream/target.ts';

const isAccepted = (fixed: string, query: string) =>
  upstreamTarget(parseUpstream(`https://a.test/x?${fixed}=basic`), ['w'], ['w'], `?${query}`).ok;

const encoded = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

describe("other spellings of the seller's query parameters", () => {
  test.each([
    // PHP replaces an unclosed bracket, and ends names at a null byte.
    ...[
      ['data_set', 'data[set'],
      ['data_set', 'data%5Bset'],
      ['data_set', 'data%5bset[x]'],
      ['a_b_c', 'a[b[c'],
    ],
    ...[
      ['data_set', 'data_set%00%FF'],
      ['data_set', 'data_set%5Bx%FF%5D'],
      ['data_set', '%64ata_set%00%'],
    ],
    ...[
      ['data[set', 'data_set'],
      ['caf%E9', 'caf%e9'],
      ['caf%E9', 'c%61f%E9[]'],
    ],
    // PHP and qs ignore text after a closed bracket.
    ...[
      ['filter[tenant]', 'filter[tenant]x'],
      ['filter[tenant]', 'filter[tenant]x[y]'],
    ],
    // Rack ignores extra brackets.
    ...[
      ['key', '[key'],
      ['key', 'key]'],
      ['key', '[]key'],
      ['filter', '[filter][x]'],
      ['filter[tenant]', '[filter]'],
    ],
    ...[
      ['filter[tenant]', 'filter[[tenant]]'],
      ['filter[tenant]', 'filter][tenant]'],
    ],
    // With `allowDots`, qs reads dots as brackets, and so does Spring.
    ...[
      ['filter[tenant]', 'filter.tenant'],
      ['filter.tenant', 'filter[tenant]'],
      ['key', 'key.a'],
      ['key', '.key'],
    ],
    // ASP and ASP.NET decode `%u`, and ASP ignores a percent sign that isn't an escape.
    ...[
      ['data_set', '%u0064ata_set'],
      ['data_set', 'da%ta_set'],
      ['data_set', 'data%u005bset'],
      ['%25u0064', '%u0064'],
    ],
    ...[
      ['100%25', '100%'],
      ['a+b', 'a%2Bb'],
      ['a%20b', 'a_b'],
      ['key', 'key+'],
      ['data_set', 'x=1;DATA+SET=1;y'],
    ],
  ])('are rejected: for %s, %s', (fixed, name) => {
    expect(isAccepted(fixed!, `${name}=premium`)).toBe(false);
  });

  test.each([
    ...[
      ['data_set', 'data'],
      ['data_set', 'dataset'],
      ['data_set', 'set[data'],
      ['data_set', 'x[data_set]'],
    ],
    ...[
      ['filter[tenant]', 'filter[city]'],
      ['filter[tenant]', 'filter.city'],
      ['filter[tenant]', 'tenant'],
    ],
    ...[
      ['data_set', '%FF%00data_set'],
      ['key', 'key_name'],
      ['key', '%5B%5D'],
    ],
  ])('do not include everything: for %s, %s is accepted', (fixed, name) => {
    expect(isAccepted(fixed!, `${name}=premium`)).toBe(true);
  });

  const fixedName = fc.stringMatching(/^[a-m]{1,5}(_[a-m]{1,5}){0,3}$/);

  test('are rejected no matter how they are combined', () => {
    const spelling = fc
      .record({
        name: fixedName,
        before: fc.constantFrom('', '+', '%20', '++%20', '[', '%5B', '+[]'),
        after: fc.constantFrom('', '%00%FF', '%00x', '[]', '[x%FF]', '%5Bx%FF%5D', '[x', '.x', ']', '[x]y[z', '+'),
        underscores: fc.array(fc.constantFrom('_', '.', '+', '%20', '[', '%5B', '%2e', '%u005b'), {
          minLength: 3,
          maxLength: 3,
        }),
        letters: fc.array(fc.constantFrom('same', 'upper', 'encoded', 'unicode'), { minLength: 23, maxLength: 23 }),
      })
      .map(({ name, before, after, underscores, letters }) => {
        let underscore = 0;
        const spelled = [...name].map((character, index) => {
          if (character === '_') return underscores[underscore++]!;
          if (letters[index] === 'upper') return character.toUpperCase();
          if (letters[index] === 'encoded') return encoded(character);
          return letters[index] === 'unicode' ? `%u00${encoded(character).slice(1)}` : character;
        });
        return { name, query: `a=1&${before}${spelled.join('')}${after}=premium` };
      });
    fc.assert(
      fc.property(spelling, ({ name, query }) => !isAccepted(name, query)),
      { numRuns: 2_000 },
    );
  });

  test('do not include names that have nothing in common with the seller’s', () => {
    const otherName = fc.stringMatching(/^[n-z]{1,5}([_.+[\]]{1,2}[n-z]{1,5}){0,3}(%FF|\[\]|%00)?$/);
    fc.assert(
      fc.property(fixedName, otherName, (fixed, other) => isAccepted(fixed, `${other}=1`)),
      { numRuns: 2_000 },
    );
  });
});

describe('a query that is combined with the seller’s own', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `p${index}=1`).join('&');

  test('can have up to 200 different parameters, because each one is compared in several readings', () => {
    expect([isAccepted('units', names(200)), isAccepted('units', names(201))]).toEqual([true, false]);
  });

  test('can repeat parameters, and have any number of empty ones', () => {
    expect(isAccepted('units', `${names(200)}&${names(200)}${'&'.repeat(4_000)}`)).toBe(true);
  });
});
