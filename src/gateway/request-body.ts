import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { AppError } from '../errors.ts';

export const MAX_REQUEST_BODY_BYTES = 10 * 1024 * 1024;

/** Whether a request has a body (RFC 9112 §6.3). */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** @throws AppError `PAYLOAD_TOO_LARGE` when a request announces more than is accepted. */
export function checkAnnouncedLength({ headers }: Pick<IncomingMessage, 'headers'>): void {
  if (Number(headers['content-length'] ?? 0) > MAX_REQUEST_BODY_BYTES) throw tooLarge();
}

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
