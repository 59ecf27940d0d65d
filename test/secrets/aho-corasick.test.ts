import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Automaton, buildAutomaton, bytesOf, findWords, type Span } from '../../src/secrets/aho-corasick.ts';

const someWords = fc.array(fc.stringMatching(/^[abü]{0,6}$/), { maxLength: 8 });
const someText = fc.stringMatching(/^[abcü]{0,40}$/);

describe('findWords', () => {
  test('finds exactly the characters that belong to a word', () => {
    fc.assert(
      fc.property(someWords, someText, (words, text) => {
        const found = findWords(buildAutomaton(words), text).flatMap(indexesIn);
        const expected = words.flatMap((word) => placesOf(word, text)).flatMap(indexesIn);
        expect(found).toEqual([...new Set(expected)].sort((one, other) => one - other));
      }),
      { numRuns: 1_000 },
    );
  });

  test('also finds the beginning of a word at the end of a text that was cut off', () => {
    fc.assert(
      fc.property(someWords, someText, (words, text) => {
        const automaton = buildAutomaton(words);
        const found = findWords(automaton, text, true);
        const beginnings = [...text].map((_character, index) => text.slice(index));
        const beginning = beginnings.find((end) => words.some((word) => word.startsWith(end))) ?? '';
        const expected = new Set(findWords(automaton, text).flatMap(indexesIn));
        for (let index = text.length - beginning.length; index < text.length; index++) expected.add(index);
        expect(found.flatMap(indexesIn)).toEqual([...expected].sort((one, other) => one - other));
      }),
      { numRuns: 1_000 },
    );
  });

  test('finds everything that replacing the words one by one, longest first, would replace', () => {
    fc.assert(
      fc.property(someWords, someText, (words, text) => {
        const longestFirst = words.toSorted((one, other) => other.length - one.length);
        const replaced = longestFirst.reduce(
          (rest, word) => (word === '' ? rest : rest.replaceAll(word, '-'.repeat(word.length))),
          text,
        );
        const found = new Set(findWords(buildAutomaton(words), text).flatMap(indexesIn));
        for (const [index, character] of [...replaced].entries()) {
          if (character === '-') expect(found).toContain(index);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('joins words that overlap or contain each other, but not words that touch', () => {
    const automaton = buildAutomaton(['abcd', 'bc', 'cdef', 'xy']);
    expect(findWords(automaton, '-abcdef-abcdxyxy-')).toEqual([
      { start: 1, end: 7 },
      { start: 8, end: 12 },
      { start: 12, end: 14 },
      { start: 14, end: 16 },
    ]);
  });

  test.each([
    ['thousands of words', manyWords(4_000, 'x')],
    ['words that begin alike', manyWords(700, 'a'.repeat(16))],
    ['words of one letter repeated', Array.from({ length: 500 }, (_, index) => `${'a'.repeat(index)}b`)],
    ['words that end alike', Array.from({ length: 500 }, (_, index) => `${index}${'a'.repeat(200)}`)],
  ])('takes at most two steps per character of a text that nearly contains %s', (_which, words) => {
    const automaton = buildAutomaton(words);
    const text = words
      .map((word) => word.slice(0, -1))
      .join('')
      .slice(0, 65_536)
      .padEnd(65_536, 'a');
    const { counted, reads } = countReads(automaton);
    findWords(counted, text);
    expect(reads.wordLengths).toBe(text.length);
    // The automaton reads one after each character, and one whenever it tries a shorter state.
    expect(reads.failures).toBeLessThanOrEqual(text.length);
    // A search among a state's children reads both of their bounds, and halves them until one is left.
    expect(reads.firstChildren).toBeLessThanOrEqual(4 * text.length);
    expect(reads.characters).toBeLessThanOrEqual(reads.firstChildren * Math.ceil(Math.log2(65_536)));
  });

  test('takes at most 14 bytes of memory per character of the words, and about 512 more', () => {
    fc.assert(
      fc.property(someWords, (words) => {
        expect(bytesOf(buildAutomaton(words))).toBeLessThanOrEqual(14 * words.join('').length + 512 + 18);
      }),
    );
  });
});

/** Different words, with a number at the end. */
function manyWords(count: number, start: string): string[] {
  return Array.from({ length: count }, (_, index) => `${start}${(index * 2_654_435_761).toString(36)}`);
}

function placesOf(word: string, text: string): Span[] {
  const starts = [...Array(text.length).keys()].filter((index) => word !== '' && text.startsWith(word, index));
  return starts.map((start) => ({ start, end: start + word.length }));
}

function indexesIn({ start, end }: Span): number[] {
  return Array.from({ length: end - start }, (_, index) => start + index);
}

/** An automaton that counts how many items of each of its tables are read. */
function countReads(automaton: Automaton) {
  const reads = { characters: 0, firstChildren: 0, failures: 0, wordLengths: 0, asciiChildren: 0 };
  const counting = <Table extends object>(name: keyof Automaton, table: Table) =>
    new Proxy(table, {
      get(target, key) {
        reads[name]++;
        return Reflect.get(target, key, target);
      },
    });
  const counted: Automaton = {
    characters: counting('characters', automaton.characters),
    firstChildren: counting('firstChildren', automaton.firstChildren),
    failures: counting('failures', automaton.failures),
    wordLengths: counting('wordLengths', automaton.wordLengths),
    asciiChildren: counting('asciiChildren', automaton.asciiChildren),
  };
  return { counted, reads };
}
