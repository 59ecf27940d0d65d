import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { AppError } from '../../errors.ts';

const MAX_REQUEST_BODY_BYTES = 10 * 1024 * 1024;
const MAX_DRAINED_BYTES = 64 * 1024;
/** How much of a body is read before the upstream is called. Most bodies are complete by then. */
const READ_FIRST_BYTES = 64 * 1024;
/** The slowest average rate at which the rest may arrive, after a grace period. */
const MIN_BYTES_PER_SECOND = 32 * 1024;
export const GRACE_MILLISECONDS = 3_000;
const PACE_CHECK_MILLISECONDS = 1_000;

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
  /** Everything that has arrived, unless it is too large to be sent again. */
  #kept: Buffer[] | undefined = [];
  #bytes = 0;
  #digest: string | null = null;
  readonly #createdAt = performance.now();
  #waitedMilliseconds = 0;
  #owedMilliseconds = 0;
  #wasLate = false;
  #endedAt: number | null = null;
  #fullSince: number | null = null;
  #fullMilliseconds = 0;
  readonly #readFirst = Promise.withResolvers<void>();

  constructor() {
    super({ highWaterMark: READ_FIRST_BYTES });
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#countWait();
    this.#bytes += chunk.length;
    this.#owedMilliseconds = Math.max(0, this.#owedMilliseconds - (chunk.length / MIN_BYTES_PER_SECOND) * 1000);
    if (this.#bytes > MAX_REQUEST_BODY_BYTES) {
      done(tooLarge());
      return;
    }
    this.#hash.update(chunk);
    if (this.#bytes > READ_FIRST_BYTES) this.#kept = undefined;
    this.#kept?.push(chunk);
    done(null, chunk);
    if (this.#bytes >= READ_FIRST_BYTES) this.#readFirst.resolve();
    if (this.readableLength >= this.readableHighWaterMark) this.#fullSince ??= performance.now();
  }

  override _read(size: number): void {
    this.#fullMilliseconds = this.fullMilliseconds;
    this.#fullSince = null;
    super._read(size);
  }

  override _flush(done: TransformCallback): void {
    this.#digest = this.#hash.digest('hex');
    this.#endedAt = performance.now();
    this.#readFirst.resolve();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#readFirst.resolve();
    super._destroy(error, done);
  }

  /**
   * Waits until the first 64 KB have arrived, or the whole body if it is smaller. Until then, a call doesn't take a
   * connection to the upstream. Otherwise, a slow buyer could keep others from using it.
   *
   * @throws the reason of the signal, or the body's error.
   */
  async arrive(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.destroy();
    signal.addEventListener('abort', onAbort);
    if (!signal.aborted) await this.#readFirst.promise;
    signal.removeEventListener('abort', onAbort);
    signal.throwIfAborted();
    if (this.errored) throw this.errored;
    this.#countWait();
    this.#owedMilliseconds = 0;
    this.#wasLate = false;
  }

  /**
   * Requires the rest of the body to arrive at a minimum rate. Waits for the upstream to read it don't count.
   *
   * @returns stops the check.
   */
  requirePace(onSlow: () => void): () => void {
    const startedAt = performance.now() - this.fullMilliseconds;
    const startBytes = this.#bytes;
    const timer = setInterval(() => {
      if (this.#endedAt !== null) clearInterval(timer);
      else if (this.#bytes - startBytes < expectedBytes(performance.now() - this.fullMilliseconds - startedAt))
        onSlow();
    }, PACE_CHECK_MILLISECONDS);
    return () => clearInterval(timer);
  }

  /**
   * SHA-256 in hex once the whole body has passed through, and null until then. It can stay null, because an upstream
   * can respond before it has read everything.
   */
  get digest(): string | null {
    return this.#digest;
  }

  /**
   * The whole body, to send it again. It isn't kept after this call.
   *
   * @returns undefined if the body is larger than 64 KB or incomplete, or was taken before.
   */
  takeWhole(): Buffer | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    return kept && this.#digest !== null ? Buffer.concat(kept) : undefined;
  }

  /** When the whole body had passed through, on the clock of `performance.now()`. Null until then. */
  get endedAt(): number | null {
    return this.#endedAt;
  }

  /** Whether the rest of the body is missing, and the upstream isn't behind with reading what has arrived. */
  get isMissing(): boolean {
    return this.#endedAt === null && this.#fullSince === null;
  }

  /**
   * Whether the upstream may have given up waiting for the rest of the body. Neither fast sending earlier nor a byte now
   * and then makes up for a pause.
   */
  get isOverdue(): boolean {
    this.#countWait();
    return this.isMissing && this.#wasLate;
  }

  #countWait(): void {
    const waited = performance.now() - this.#createdAt - this.fullMilliseconds;
    this.#owedMilliseconds += waited - this.#waitedMilliseconds;
    this.#waitedMilliseconds = waited;
    this.#wasLate ||= this.#owedMilliseconds > GRACE_MILLISECONDS;
  }

  /** The total time that the body was full because the upstream didn't read what had arrived. */
  get fullMilliseconds(): number {
    const now = this.#endedAt ?? performance.now();
    return this.#fullMilliseconds + (this.#fullSince === null ? 0 : now - this.#fullSince);
  }
}

function expectedBytes(milliseconds: number): number {
  return ((milliseconds - GRACE_MILLISECONDS) / 1000) * MIN_BYTES_PER_SECOND;
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
  // The reader also gets the error. Without a listener here, it would be uncaught.
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
export async function digestOf(body: Readable): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_REQUEST_BODY_BYTES) throw tooLarge();
    hash.update(chunk);
  }
  return hash.digest('hex');
}

/**
 * Reads a whole metered body into memory, to compare its digest and then send it.
 *
 * @param reserve reserves memory. Returns false if there isn't enough left.
 * @returns undefined if there isn't enough memory.
 * @throws AppError `PAYLOAD_TOO_LARGE`
 */
export async function readBody(
  body: MeteredBody,
  reserve: (bytes: number) => boolean,
): Promise<{ bytes: Buffer; digest: string } | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) {
    if (!reserve(chunk.length)) return undefined;
    chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), digest: body.digest! };
}

function tooLarge(): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', {
    detail: `The request body is larger than ${MAX_REQUEST_BODY_BYTES / 1024 / 1024} MB. You weren't charged.`,
  });
}
