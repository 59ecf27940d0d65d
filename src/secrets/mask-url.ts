import { MASK } from './mask.ts';

// A first segment that says what is behind it, such as `hooks`, `api` or `v1`; keys and tokens look different.
const PLAIN_WORD = /^(?=.{1,20}$)[a-z]+(?:[-_][a-z]+)*[0-9]{0,2}$/;
const LETTERS = /^[A-Za-z]+(?:[-_][A-Za-z]+)*$/;
const NAMED_VALUE = /^([^=]{1,24})=([^=].*)$/su;
const PARTS = /^([Hh][Tt][Tt][Pp][Ss]?:\/\/)([^/?#]*@)?([^/?#@]+)([^?#]*)(\?[^#]*)?(#.*)?$/s;
// URL parsers drop or translate them: what is read here would not be what is called.
const DECEPTIVE = /[\0-\x20\\]/;

// Shorter pieces would hit innocent text, and guessing them is easy anyway.
const MIN_HIDDEN_LENGTH = 6;
const MIN_WORD_LENGTH = 16;

/** The shortest text in which a hidden part of a URL is looked for. */
export const SHORTEST_HIDDEN_PART = MIN_HIDDEN_LENGTH;

export function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/**
 * A URL as it may be shown to everybody who may see that it exists. It keeps the scheme, the host, the port, the first
 * segment of the path if that is a plain word, the number of segments, and the names of query parameters. All other
 * segments, all values, a user name with its password, and a fragment become the mask; of what is no URL nothing is left.
 *
 * What is masked already stays as it is. Migrations repeat the rule in SQL: they mask what was stored before there was one.
 */
export function maskUrl(url: string): string {
  const parts = takeApart(url);
  if (!parts) return MASK;
  const { scheme, userInfo, host, path, query, fragment } = parts;
  const shownPath = path.split('/').map(maskSegment).join('/');
  const shownQuery = query && `?${query.slice(1).split('&').map(maskParameter).join('&')}`;
  return `${scheme}${userInfo && `${MASK}@`}${host}${shownPath}${shownQuery}${fragment && `#${MASK}`}`;
}

/**
 * What the mask hides of a URL, in the spellings of the URL and decoded, to be looked for in texts of others. Words and
 * short pieces are left out where they stand alone, since they are in innocent text as well.
 */
export function hiddenParts(url: string): string[] {
  const parts = takeApart(url);
  if (!parts || maskUrl(url) === url) return [];
  const { userInfo, path, query } = parts;
  const segments = path.split('/');
  const hiddenSegments = segments.filter((segment, index) => maskSegment(segment, index) !== segment);
  const parameters = query.slice(1).split('&');
  const values = parameters.map((parameter) => NAMED_VALUE.exec(parameter)?.[2] ?? parameter);
  const isPathHidden = hiddenSegments.length > 0;
  const ways = [isPathHidden ? path : '', isPathHidden || query ? path + query : '', query, query.slice(1)];
  const credentials = userInfo.slice(0, -1);
  const pieces = [...ways, ...parameters, ...values, credentials, ...credentials.split(':')];
  const telling = hiddenSegments.filter((segment) => segment.length >= MIN_WORD_LENGTH || !LETTERS.test(segment));
  return [...pieces, ...telling]
    .flatMap((piece) => [piece, decode(piece), decode(piece.replaceAll('+', ' '))])
    .filter((piece) => piece.length >= MIN_HIDDEN_LENGTH && !piece.includes(MASK));
}

function takeApart(url: string) {
  const found = DECEPTIVE.test(url) ? null : PARTS.exec(url);
  if (!found) return undefined;
  const [, scheme = '', userInfo = '', host = '', path = '', query = '', fragment = ''] = found;
  return { scheme, userInfo, host, path, query, fragment };
}

/** @param index 0 for what is before the first slash: nothing. */
function maskSegment(segment: string, index: number): string {
  if (segment === '' || (index === 1 && PLAIN_WORD.test(segment))) return segment;
  return MASK;
}

/** A name without a value may be the secret itself, as may a long name, or base64 that ends in equals signs. */
function maskParameter(parameter: string): string {
  if (parameter === '') return '';
  const name = NAMED_VALUE.exec(parameter)?.[1];
  return name === undefined ? MASK : `${name}=${MASK}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
