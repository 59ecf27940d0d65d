import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { BODY_LIMIT_BYTES } from './file-bodies.ts';
import { findJsonFault } from './json-fault.ts';

const MAX_JSON_DEPTH = 64;
/**
 * The number of values that one request can have. No change has more: an import of 200 endpoints with twenty methods each
 * has 4,800. Every value is checked against the API's schema several times, so a hundred thousand of them would keep the
 * process busy for up to a fifth of a second.
 */
const MAX_JSON_VALUES = 5_000;

/**
 * Parses a request body as JSON. Returns undefined for an empty body. A body over the usual limit can contain one long
 * string, such as an imported document. This is checked first, because parsing 8 MB of small values takes a second.
 *
 * @throws AppError `PAYLOAD_TOO_LARGE` if the rest is over the limit or has too many values, `MALFORMED_JSON` if it isn't
 *   UTF-8, isn't JSON, or is nested too deeply, or `UNSUPPORTED_MEDIA_TYPE` if it is compressed.
 */
export function parseJsonBody(request: Pick<FastifyRequest, 'headers'>, body: Buffer): unknown {
  if (body.length === 0) return undefined;
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', { detail: 'Send the body without `Content-Encoding`.' });
  }
  if (body.length > BODY_LIMIT_BYTES && bytesBesidesLongestString(body, BODY_LIMIT_BYTES) > BODY_LIMIT_BYTES) {
    throw new AppError('PAYLOAD_TOO_LARGE');
  }
  // Parsing 256 KiB with tens of thousands of keys takes 15 ms, so they are counted first.
  const { values, levels } = measureJson(body, { values: MAX_JSON_VALUES, levels: MAX_JSON_DEPTH });
  if (levels > MAX_JSON_DEPTH) throw tooManyLevels('The request body');
  if (values > MAX_JSON_VALUES) throw tooManyValues('The request body');
  const value = parseJson(decodeUtf8(body), 'The request body');
  requireSimple(value, 'The request body');
  return value;
}

/**
 * Rejects JSON with so many levels that functions that call themselves for each of them might run out of stack, or with
 * so many values that checking them would keep other requests waiting.
 *
 * @param what the value's name in the error message, for example, `The request body`.
 * @throws AppError `MALFORMED_JSON` for too many levels, or `PAYLOAD_TOO_LARGE` for too many values.
 */
export function requireSimple(value: unknown, what: string): void {
  let values = 0;
  const check = (item: unknown, levels: number): void => {
    values += 1;
    if (values > MAX_JSON_VALUES) throw tooManyValues(what);
    if (typeof item !== 'object' || item === null) return;
    if (levels === 0) throw tooManyLevels(what);
    for (const inner of Object.values(item)) check(inner, levels - 1);
  };
  check(value, MAX_JSON_DEPTH);
}

function tooManyLevels(what: string): AppError {
  return new AppError('MALFORMED_JSON', { detail: `${what} is nested more than ${MAX_JSON_DEPTH} levels deep.` });
}

function tooManyValues(what: string): AppError {
  const most = MAX_JSON_VALUES.toLocaleString('en-US');
  return new AppError('PAYLOAD_TOO_LARGE', { detail: `${what} has more than ${most} values. Send fewer.` });
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);
const SPACE = 0x20;

type JsonSize = { values: number; levels: number };

/** How many values JSON has, including those whose key is repeated, and how deep it is nested. Stops above the limits. */
export function measureJson(json: Buffer, most: JsonSize): JsonSize {
  let values = 1;
  let level = 0;
  let levels = 0;
  /** Whether nothing but spaces has followed the last opening bracket so far. */
  let isOpened = false;
  for (let at = 0; at < json.length && values <= most.values && levels <= most.levels; at += 1) {
    const byte = json[at]!;
    if (byte <= SPACE) continue;
    if (isOpened && !CLOSING.has(byte)) values += 1;
    isOpened = OPENING.has(byte);
    if (isOpened) level += 1;
    else if (CLOSING.has(byte)) level -= 1;
    else if (byte === COMMA) values += 1;
    levels = Math.max(levels, level);
    if (byte === QUOTE) {
      at += 1;
      while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
    }
  }
  return { values, levels };
}

/** The size of JSON in bytes, without its longest string. Stops counting above `maxBytes`. */
export function bytesBesidesLongestString(json: Buffer, maxBytes: number): number {
  let besides = 0;
  let longest = 0;
  for (let at = 0; at < json.length && besides <= maxBytes; ) {
    if (json[at] !== QUOTE) {
      at += 1;
      besides += 1;
      continue;
    }
    const start = at + 1;
    let end = start;
    while (end < json.length && json[end] !== QUOTE) end += json[end] === BACKSLASH ? 2 : 1;
    const size = Math.min(end, json.length) - start;
    besides += 2 + Math.min(size, longest);
    longest = Math.max(size, longest);
    at = end + 1;
  }
  return besides;
}

function decodeUtf8(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (error) {
    throw new AppError('MALFORMED_JSON', { cause: error });
  }
}

/**
 * Parses JSON.
 *
 * @param what the text's name in the error message, for example, `The request body`.
 * @throws AppError `MALFORMED_JSON`, which says where the mistake is, but doesn't quote the text around it, because that
 *   could be a secret.
 */
export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const { line, column, expected } = findJsonFault(text) ?? {};
    const place = line
      ? `There is a mistake at line ${line}, column ${column}: expected ${expected}.`
      : 'It ends too early.';
    throw new AppError('MALFORMED_JSON', { cause: error, detail: `${what} is not valid JSON. ${place}` });
  }
}
