import { MASK } from './mask.ts';

// A first segment that is a plain word, such as `hooks`, `api`, or `v1`. Keys and tokens look different.
const PLAIN_WORD = /^(?=.{1,20}$)[a-z]+(?:[-_][a-z]+)*[0-9]{0,2}$/;
const LETTERS = /^[A-Za-z]+(?:[-_][A-Za-z]+)*$/;
const NAMED_VALUE = /^([^=]{1,24})=([^=].*)$/su;
const PARTS = /^([Hh][Tt][Tt][Pp][Ss]?:\/\/)([^/?#]*@)?([^/?#@]+)([^?#]*)(\?[^#]*)?(#.*)?$/s;
// URL parsers drop or convert these characters, so the URL that is parsed here would differ from the URL that is
// requested.
const DECEPTIVE = /[\0-\x20\\]/;

// Shorter pieces would also match harmless text, and are easy to guess anyway.
const MIN_HIDDEN_LENGTH = 6;
const MIN_WORD_LENGTH = 16;

export function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/**
 * The URL in a form that is safe to show to anyone who may know that it exists. Keeps the scheme, the host, the port,
 * the first path segment if it is a plain word, the number of segments, and the names of query parameters. Masks all
 * other segments, all values, the user name and password, and the fragment. Anything that isn't a URL is masked
 * completely.
 *
 * Masking a masked URL changes nothing. A migration applies the same rule in SQL to URLs that were stored before the
 * rule existed.
 */
export function maskUrl(url: string): string {
  const parts = takeApart(url);
  if (!parts) return MASK;
  const { scheme, userInfo, host, path, query, fragment } = parts;
  const shownPath = path.split('/').map(maskSegment).join('/');
  const shownQuery = query && `?${query.slice(1).split('&').map(maskParameter).join('&')}`;
  return `${scheme}${userInfo && `${MASK}@`}${host}${shownPath}${shownQuery}${fragment && `#${MASK}`}`;
}

/** The segments of a URL's path that the mask hides, decoded. */
export function hiddenSegments(url: string): string[] {
  return segmentsHiddenIn(takeApart(url)?.path ?? '').map(decode);
}

/**
 * The parts of a URL that the mask hides, as written and decoded, to search for in other text. Leaves out single words
 * and short pieces, because they also occur in harmless text.
 */
export function hiddenParts(url: string): string[] {
  const parts = takeApart(url);
  if (!parts || maskUrl(url) === url) return [];
  const { userInfo, path, query } = parts;
  const segments = segmentsHiddenIn(path);
  const parameters = query.slice(1).split('&');
  const values = parameters.map((parameter) => NAMED_VALUE.exec(parameter)?.[2] ?? parameter);
  const isPathHidden = segments.length > 0;
  const hidden = [isPathHidden ? path : '', isPathHidden || query ? path + query : '', query, query.slice(1)];
  const credentials = userInfo.slice(0, -1);
  const pieces = [...hidden, ...parameters, ...values, credentials, ...credentials.split(':')];
  const telling = segments.filter((segment) => segment.length >= MIN_WORD_LENGTH || !LETTERS.test(segment));
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

function segmentsHiddenIn(path: string): string[] {
  return path.split('/').filter((segment, index) => maskSegment(segment, index) !== segment);
}

/** @param index 0 is the empty part before the first slash. */
function maskSegment(segment: string, index: number): string {
  if (segment === '' || (index === 1 && PLAIN_WORD.test(segment))) return segment;
  return MASK;
}

/** A name without a value may itself be the secret, and so may a long name or base64 that ends with equals signs. */
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
