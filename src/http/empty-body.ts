import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import { hideContentType } from './content-type.ts';

type Done = (error: Error | null, body?: unknown) => void;

/**
 * Ignores the media type of requests without a body. Many clients send one anyway: axios sends
 * `application/x-www-form-urlencoded`, and `fetch` sends `text/plain` for an empty string. A media type describes
 * content (RFC 9110 §8.3), so without content, it doesn't matter. Bodies of all other types get
 * `UNSUPPORTED_MEDIA_TYPE`, as before, and they aren't read.
 */
export function ignoreTypeOfEmptyBody(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const hasType = request.headers['content-type'] !== undefined;
    // Fastify rejects a malformed type before it looks for a parser. Without the header, it uses the one below.
    const isIgnored = hasNoBody(request) || request.mediaType === undefined;
    if (hasType && isIgnored) hideContentType(request);
    done(null, payload);
  });
  // For all types that have no parser.
  app.addContentTypeParser('*', (request, payload, done) => readNothing(request, payload, done));
}

/** Whether the headers already say that there is no body (RFC 9112 §6.3). */
export function hasNoBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

/** Waits for the end of a chunked body, and fails as soon as it turns out to contain something. */
function readNothing(request: FastifyRequest, payload: IncomingMessage, done: Done): void {
  if (request.headers['transfer-encoding'] === undefined && !hasNoBody(request)) {
    done(new AppError('UNSUPPORTED_MEDIA_TYPE'));
    return;
  }
  const finish = (error: Error | null) => {
    payload.off('data', onData).off('end', onEnd).off('error', onError);
    done(error);
  };
  const onData = () => finish(new AppError('UNSUPPORTED_MEDIA_TYPE'));
  const onEnd = () => finish(null);
  const onError = (error: Error) => finish(new AppError('BAD_REQUEST', { cause: error }));
  payload.on('data', onData).on('end', onEnd).on('error', onError);
}
