import { type Automaton, buildAutomaton, bytesOf, findWords, type Span } from './aho-corasick.ts';
import { MASK } from './mask.ts';
import { mayBeEscaped, readable } from './readable.ts';
import { createSizedCache } from './sized-cache.ts';
import { escapablePartsOf, spellingsOf } from './spellings.ts';

const SHOWN_CHARACTERS = 4;
const MIN_LENGTH_TO_SHOW = 12;
/**
 * Enough for 7 KB of tokens in every spelling. Owners can make us prepare a search for every response, so this limits
 * how long a response takes.
 */
const MAX_SPELLED_CHARACTERS = 65_536;
/** Shorter text would also be found where it isn't a secret. */
const MIN_READABLE_LENGTH = 6;
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
  const search = searches(JSON.stringify(secrets), () => prepareSearch(secrets), accountId);
  return (text, isCutOff) => (search.automaton ? maskSpans(text, findSecrets(search, text, isCutOff)) : text && MASK);
}

/** Whether the search for these secrets doesn't have to be prepared, which can take 10 ms. */
export function isPrepared(secrets: readonly string[]): boolean {
  return searches.has(JSON.stringify(secrets));
}

/**
 * `automaton` finds the spellings. It is undefined if they are too long. `inReadable` finds the secrets in text without
 * escapes, because libraries escape in too many ways to look for each of them.
 */
type Search = { automaton?: Automaton; inReadable?: Automaton };

const searches = createSizedCache<Search>({
  maxBytes: MAX_CACHED_BYTES,
  bytesOf: (key, search) => Object.values(search).reduce((sum, automaton) => sum + bytesOf(automaton), key.length),
});

function prepareSearch(secrets: readonly string[]): Search {
  const spellings = new Set<string>();
  let characters = 0;
  for (const spelling of spellingsOf(secrets)) {
    if (spellings.has(spelling)) continue;
    spellings.add(spelling);
    characters += spelling.length;
    if (characters > MAX_SPELLED_CHARACTERS) return {};
  }
  const parts = escapablePartsOf(secrets).map((part) => readable(part).text);
  const words = parts.filter((part) => part.length >= MIN_READABLE_LENGTH);
  return {
    automaton: buildAutomaton(spellings),
    ...(words.length > 0 && { inReadable: buildAutomaton(words) }),
  };
}

function findSecrets({ automaton, inReadable }: Search, text: string, isCutOff?: boolean): Span[] {
  const found = findWords(automaton!, text, isCutOff);
  if (!inReadable || !mayBeEscaped(text)) return found;
  const { text: unescaped, offsets } = readable(text, isCutOff);
  const escaped = findWords(inReadable, unescaped, isCutOff);
  return joined([...found, ...escaped.map(({ start, end }) => ({ start: offsets[start]!, end: offsets[end]! }))]);
}

/** Joins spans that overlap. */
function joined(spans: readonly Span[]): Span[] {
  const apart: Span[] = [];
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    const last = apart.at(-1);
    if (last && last.end > start) last.end = Math.max(last.end, end);
    else apart.push({ start, end });
  }
  return apart;
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
