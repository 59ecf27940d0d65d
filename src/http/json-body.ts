import type { FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';

const MAX_JSON_DEPTH = 64;

/**
 * Parses a request body as JSON. Returns undefined for an empty body.
 *
 * @throws AppError `MALFORMED_JSON` if it isn't UTF-8, isn't JSON, or is nested too deeply, or
 *   `UNSUPPORTED_MEDIA_TYPE` if it is compressed.
 */
export function parseJsonBody(request: Pick<FastifyRequest, 'headers'>, body: Buffer): unknown {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new AppError('UNSUPPORTED_MEDIA_TYPE', { detail: 'Send the body without `Content-Encoding`.' });
  }
  if (body.length === 0) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw new AppError('MALFORMED_JSON', { cause: error });
  }
  if (!isShallow(value, MAX_JSON_DEPTH)) {
    throw new AppError('MALFORMED_JSON', {
      detail: `The request body is nested more than ${MAX_JSON_DEPTH} levels deep.`,
    });
  }
  return value;
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isShallow(item, depth - 1));
}
