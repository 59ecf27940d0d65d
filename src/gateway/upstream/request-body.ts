import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { AppError } from '../../errors.ts';

export const MAX_REQUEST_BODY_BYTES = 10 * 1024 * 1024;
const MAX_DRAINED_BYTES = 64 * 1024;

/** Whether a request has a body (RFC 9112 §6.3). */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * @throws AppError `PAYLOAD_TOO_LARGE` when a request announces more than is accepted, `BAD_REQUEST` for a coding besides
 *   chunks: the upstream would not be told of it, and read something else than was sent.
 */
export function checkFraming({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw new AppError('BAD_REQUEST', { detail: 'A body may have the `Transfer-Encoding` chunked and no other.' });
  }
  if (Number(headers['content-length'] ?? 0) > MAX_REQUEST_BODY_BYTES) throw tooLarge();
}

/** The client has gone before it has sent its whole body. */
export class RequestBrokenOff extends Error {}

/** Passes a request body through, bounds it, and knows its digest once it has passed. */
export class MeteredBody extends Transform {
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #digest: string | null = null;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_REQUEST_BODY_BYTES) {
      done(tooLarge());
      return;
    }
    this.#hash.update(chunk);
    done(null, chunk);
  }

  override _flush(done: TransformCallback): void {
    this.#digest = this.#hash.digest('hex');
    done();
  }

  /** SHA-256 in hex once the body has passed whole, else null: an upstream may answer before it has read everything. */
  get digest(): string | null {
    return this.#digest;
  }
}

/**
 * Sends a request's body through a meter. Unlike a pipeline it leaves the connection alone when the body is refused, so
 * that the refusal can be told.
 */
export function meterBody(source: Readable): MeteredBody {
  const body = new MeteredBody();
  source.pipe(body);
  source.once('close', () => {
    if (!source.readableEnded) body.destroy(new RequestBrokenOff('The request was broken off'));
  });
  body.once('close', () => source.unpipe(body));
  // Whoever reads it is told; here it only must not go unheard.
  body.on('error', () => {});
  return body;
}

/** Whether so much of a body may be left unread that the connection is better given up than drained. */
export function isUndrained(request: IncomingMessage): boolean {
  if (!hasBody(request) || request.readableEnded) return false;
  const announced = request.headers['content-length'];
  return announced === undefined || Number(announced) > MAX_DRAINED_BYTES;
}

/** Reads a body to its end for its digest alone. @throws AppError `PAYLOAD_TOO_LARGE` */
export async function digestOf(request: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BODY_BYTES) throw tooLarge();
    hash.update(chunk);
  }
  return hash.digest('hex');
}

function tooLarge(): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', {
    detail: `The body is larger than ${MAX_REQUEST_BODY_BYTES / 1024 / 1024} MB. Nothing was charged.`,
  });
}
