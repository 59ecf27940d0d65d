import { type Automaton, buildAutomaton, bytesOf, findWords, type Span } from './aho-corasick.ts';
import { MASK } from './mask.ts';
import { createSizedCache } from './sized-cache.ts';
import { spellingsOf } from './spellings.ts';

const SHOWN_CHARACTERS = 4;
const MIN_LENGTH_TO_SHOW = 12;
/**
 * Enough for 7 KB of tokens in every spelling. Owners can make us prepare a search for every response, so this limits
 * how long a response takes.
 */
const MAX_SPELLED_CHARACTERS = 65_536;
const MAX_CACHED_BYTES = 64 * 1024 * 1024;

/**
 * How a secret is shown: the mask and the secret's last four characters, or only the mask if the secret is too short.
 */
export function redactSecret(value: string): string {
  const characters = [...value];
  return characters.length < MIN_LENGTH_TO_SHOW ? MASK : MASK + characters.slice(-SHOWN_CHARACTERS).join('');
}

/**
 * Masks every occurrence of the secrets in someone else's text, such as a vendor's response body, whether they are
 * plain, URL-encoded, JSON- or HTML-escaped, or in base64 (even within a longer value, as in Basic authentication).
 * Also masks the revealing parts of secrets that are URLs. Occurrences that overlap are masked as one. If the secrets'
 * spellings are too long to look for, all text is masked. Redact text before you truncate it, not after.
 */
export function scrub(text: string, secrets: readonly string[], accountId?: string): string {
  return scrubberOf(secrets, accountId)(text);
}

/**
 * Like `scrub`, but for several strings. The time that a string takes depends on its length, not on the secrets. Preparing
 * the search takes longer, so it is cached. If the text was cut off, the beginning of a secret at its end is also masked.
 *
 * @param accountId the account that the secrets belong to. If its searches fill much of the cache, they are dropped first.
 */
export function scrubberOf(
  secrets: readonly string[],
  accountId?: string,
): (text: string, isCutOff?: boolean) => string {
  const { automaton } = searches(JSON.stringify(secrets), () => prepareSearch(secrets), accountId);
  return (text, isCutOff) => (automaton ? maskSpans(text, findWords(automaton, text, isCutOff)) : text && MASK);
}

/** Whether the search for these secrets doesn't have to be prepared, which can take 10 ms. */
export function isPrepared(secrets: readonly string[]): boolean {
  return searches.has(JSON.stringify(secrets));
}

/** The automaton is undefined if the spellings are too long. */
type Search = { automaton: Automaton | undefined };

const searches = createSizedCache<Search>({
  maxBytes: MAX_CACHED_BYTES,
  bytesOf: (key, { automaton }) => key.length + (automaton ? bytesOf(automaton) : 0),
});

function prepareSearch(secrets: readonly string[]): Search {
  const spellings = new Set<string>();
  let characters = 0;
  for (const spelling of spellingsOf(secrets)) {
    if (spellings.has(spelling)) continue;
    spellings.add(spelling);
    characters += spelling.length;
    if (characters > MAX_SPELLED_CHARACTERS) return { automaton: undefined };
  }
  return { automaton: buildAutomaton(spellings) };
}

function maskSpans(text: string, spans: readonly Span[]): string {
  let masked = '';
  let shownFrom = 0;
  for (const { start, end } of spans) {
    masked += text.slice(shownFrom, start) + MASK;
    shownFrom = end;
  }
  return masked + text.slice(shownFrom);
}
