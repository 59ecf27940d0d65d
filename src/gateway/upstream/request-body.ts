import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { AppError } from '../../errors.ts';

const MAX_REQUEST_BODY_BYTES = 10 * 1024 * 1024;
const MAX_DRAINED_BYTES = 64 * 1024;

/** Whether a request has a body (RFC 9112 §6.3). */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * @throws AppError `PAYLOAD_TOO_LARGE` if the declared length is too large, or `BAD_REQUEST` for a transfer coding
 *   other than `chunked`: the header isn't passed on, so the upstream would misread the body.
 */
export function checkFraming({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw new AppError('BAD_REQUEST', { detail: 'The only supported `Transfer-Encoding` is chunked.' });
  }
  if (Number(headers['content-length'] ?? 0) > MAX_REQUEST_BODY_BYTES) throw tooLarge();
}

/** The client disconnected before it sent the whole body. */
export class InterruptedRequest extends Error {}

/** Passes a request body through, limits its size, and computes its digest. */
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

  /**
   * SHA-256 in hex once the whole body has passed through, and null until then. It can stay null, because an upstream
   * can respond before it has read everything.
   */
  get digest(): string | null {
    return this.#digest;
  }
}

/**
 * Sends a request's body through a meter. Unlike a pipeline, it keeps the connection open if the body is rejected, so
 * an error response can still be sent.
 */
export function meterBody(source: Readable): MeteredBody {
  const body = new MeteredBody();
  source.pipe(body);
  source.once('close', () => {
    if (!source.readableEnded) body.destroy(new InterruptedRequest('The request was interrupted'));
  });
  body.once('close', () => source.unpipe(body));
  // The reader gets the error too. Without a listener here, it would be uncaught.
  body.on('error', () => {});
  return body;
}

/** Whether so much of the body may be unread that closing the connection is cheaper than draining it. */
export function isUndrained(request: IncomingMessage): boolean {
  if (!hasBody(request) || request.readableEnded) return false;
  const announced = request.headers['content-length'];
  return announced === undefined || Number(announced) > MAX_DRAINED_BYTES;
}

/** Reads a whole body just to compute its digest. @throws AppError `PAYLOAD_TOO_LARGE` */
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
    detail: `The request body is larger than ${MAX_REQUEST_BODY_BYTES / 1024 / 1024} MB. You weren't charged.`,
  });
}
