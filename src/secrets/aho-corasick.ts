/**
 * Finds many words in a text in one pass (Aho and Corasick, "Efficient string matching: an aid to bibliographic
 * search", 1975). Each state stands for the beginning of a word, and state 0 for the empty text. States are in the
 * order of their length, so each state's children are next to each other, in the order of their characters.
 */
export type Automaton = {
  /** The last character of each state. */
  characters: Uint16Array;
  /** The first child of each state. Its last child comes just before the next state's first child. */
  firstChildren: Uint32Array;
  /** The longest other state that each state ends with. */
  failures: Uint32Array;
  /** The length of the longest word that each state ends with, or 0. */
  wordLengths: Uint32Array;
  /** State 0's child for each ASCII character, or 0. Most steps end at state 0. */
  asciiChildren: Uint32Array;
};

const ASCII_CHARACTERS = 128;

/** A part of a text, from `start` to before `end`, in UTF-16 code units. */
export type Span = { start: number; end: number };

/**
 * The automaton for these words. It takes up to 14 bytes for each of their characters, and half a kilobyte. Empty words
 * are ignored.
 */
export function buildAutomaton(words: Iterable<string>): Automaton {
  const sorted = [...new Set(words)].filter((word) => word !== '').sort();
  const size = countStates(sorted);
  const characters = new Uint16Array(size);
  const firstChildren = new Uint32Array(size + 1).fill(size);
  const failures = new Uint32Array(size);
  const wordLengths = new Uint32Array(size);
  const asciiChildren = new Uint32Array(ASCII_CHARACTERS);
  const automaton = { characters, firstChildren, failures, wordLengths, asciiChildren };
  // The words that begin with a state's text are next to each other.
  const firstWords = new Uint32Array(size);
  const endWords = new Uint32Array(size).fill(sorted.length, 0, 1);
  let created = 1;
  let length = 0;
  let firstLongerState = 1;
  for (let state = 0; state < size; state++) {
    if (state === firstLongerState) {
      length++;
      firstLongerState = created;
    }
    const failure = failures[state]!;
    const endWord = endWords[state]!;
    let word = firstWords[state]!;
    firstChildren[state] = created;
    wordLengths[state] = wordLengths[failure]!;
    if (sorted[word]?.length === length) {
      wordLengths[state] = length;
      word++;
    }
    while (word < endWord) {
      const character = sorted[word]!.charCodeAt(length);
      const child = created++;
      characters[child] = character;
      if (state !== 0) failures[child] = nextState(automaton, failure, character);
      else if (character < ASCII_CHARACTERS) asciiChildren[character] = child;
      firstWords[child] = word;
      while (word < endWord && sorted[word]!.charCodeAt(length) === character) word++;
      endWords[child] = word;
    }
  }
  return automaton;
}

/** How much memory an automaton takes. */
export function bytesOf(automaton: Automaton): number {
  return Object.values(automaton).reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/**
 * Where a text contains words. Words that overlap are one span. The time this takes depends on the length of the text,
 * but not on the number of words or on how much of them the text contains.
 *
 * @param isCutOff whether the text may end within a word. Then the beginning of a word at its end is found, too.
 */
export function findWords(automaton: Automaton, text: string, isCutOff = false): Span[] {
  const spans: Span[] = [];
  const add = (start: number, end: number) => {
    while (spans.length > 0 && spans.at(-1)!.end > start) start = Math.min(start, spans.pop()!.start);
    spans.push({ start, end });
  };
  let state = 0;
  for (let index = 0; index < text.length; index++) {
    state = nextState(automaton, state, text.charCodeAt(index));
    const length = automaton.wordLengths[state]!;
    if (length > 0) add(index + 1 - length, index + 1);
  }
  if (isCutOff && state !== 0) add(text.length - lengthOf(automaton, state), text.length);
  return spans;
}

/** The length of a state's text. The first child of the first state of each length is the first state of the next length. */
function lengthOf({ firstChildren }: Automaton, state: number): number {
  let length = 0;
  for (let longer = firstChildren[0]!; longer <= state; longer = firstChildren[longer]!) length++;
  return length;
}

function nextState(automaton: Automaton, from: number, character: number): number {
  for (let state = from; state !== 0; state = automaton.failures[state]!) {
    const child = childOf(automaton, state, character);
    if (child !== 0) return child;
  }
  return character < ASCII_CHARACTERS ? automaton.asciiChildren[character]! : childOf(automaton, 0, character);
}

/** Found with a binary search. 0 if there is no such child. */
function childOf({ characters, firstChildren }: Automaton, state: number, character: number): number {
  let low = firstChildren[state]!;
  let high = firstChildren[state + 1]!;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = characters[middle]!;
    if (found === character) return middle;
    if (found < character) low = middle + 1;
    else high = middle;
  }
  return 0;
}

/** How many different beginnings the words have, including the empty one. */
function countStates(sorted: readonly string[]): number {
  let count = 1;
  let previous = '';
  for (const word of sorted) {
    let shared = 0;
    while (shared < previous.length && previous.charCodeAt(shared) === word.charCodeAt(shared)) shared++;
    count += word.length - shared;
    previous = word;
  }
  return count;
}
