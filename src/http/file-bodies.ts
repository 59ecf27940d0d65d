import { Transform } from 'node:stream';
import type { preParsingHookHandler } from 'fastify';
import { AppError } from '../errors.ts';
import { createSlots, type SlotLimits } from '../limits/slots.ts';

/** The limit for request bodies. */
export const BODY_LIMIT_BYTES = 256 * 1024;
/** The limit for bodies with a file in `document`. As a JSON string, a 5 MB file can become half again as long. */
export const FILE_BODY_LIMIT_BYTES = 8 * 1024 * 1024;
/** How many bodies over the usual limit can be in transit at the same time. Each can take up to 30 s. */
const FILE_BODY_LIMITS: SlotLimits = { perAccount: 2, perProcess: 8, forNewAccounts: 2 };
const RETRY_AFTER_SECONDS = 5;
/**
 * A body over the usual limit that arrives more slowly is rejected, so that idle clients can't use up all the slots.
 */
export const MIN_BYTES_PER_SECOND = 64 * 1024;
/** How long the rate is measured. Shorter pauses are normal. */
export const RATE_SECONDS = 5;

/** Calls a function every second until the returned function is called. */
type EverySecond = (tick: () => void) => () => void;

const everySecond: EverySecond = (tick) => {
  const timer = setInterval(tick, 1_000).unref();
  return () => clearInterval(timer);
};

/**
 * Creates a hook that limits how many bodies over the usual limit arrive at the same time, because each is kept in
 * memory until it is complete, and how slowly they arrive. It applies to routes whose `bodyLimit` is
 * `FILE_BODY_LIMIT_BYTES`, after they have identified the caller.
 *
 * The hook throws AppError `RATE_LIMITED` or `UNAVAILABLE`. A body that arrives too slowly fails with
 * `REQUEST_TIMEOUT`, and one whose slot is given to another account with `UNAVAILABLE`.
 *
 * @param every runs a function every second. Default: a timer.
 * @param now a monotonic clock, in milliseconds.
 */
export function createFileBodyHook(
  limits: SlotLimits = FILE_BODY_LIMITS,
  every: EverySecond = everySecond,
  now?: () => number,
): preParsingHookHandler {
  const texts = {
    account: `You are sending ${limits.perAccount} large request bodies, which is the limit. Wait for one to finish.`,
    process: 'Too many large request bodies are arriving. Retry later.',
  };
  const slots = createSlots(limits, { texts, retryAfterSeconds: RETRY_AFTER_SECONDS }, now);
  const tooMany = () => new AppError('UNAVAILABLE', { detail: texts.process, retryAfterSeconds: RETRY_AFTER_SECONDS });

  return (request, _reply, payload, done) => {
    const { viewer, raw, headers } = request;
    if (request.routeOptions.bodyLimit !== FILE_BODY_LIMIT_BYTES || !viewer) return done(null, payload);
    const { 'content-length': length, 'transfer-encoding': encoding } = headers;
    const isLarge = Number(length ?? 0) > BODY_LIMIT_BYTES;
    if (!isLarge && encoding === undefined) return done(null, payload);

    let receivedBytes = 0;
    const reserve = () => {
      // The client disconnected while the caller was being identified, so the event below was already emitted.
      if (raw.destroyed) return;
      const release = slots.take(viewer.userId, () => counted.destroy(tooMany()));
      const stop = requireRate(
        () => receivedBytes,
        () => counted.destroy(new AppError('REQUEST_TIMEOUT')),
        every,
      );
      const { socket } = raw;
      const end = () => {
        stop();
        release();
        socket.off('close', end);
      };
      // A request emits this event when its body is complete, or when the client disconnects before the response. If
      // the client disconnects after it, only the connection emits it.
      raw.once('close', end);
      socket.once('close', end);
      counted.once('close', end);
    };
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, callback) {
        const isFirstOverLimit = receivedBytes <= BODY_LIMIT_BYTES && receivedBytes + chunk.length > BODY_LIMIT_BYTES;
        receivedBytes += chunk.length;
        try {
          if (isFirstOverLimit && !isLarge) reserve();
          callback(null, chunk);
        } catch (error) {
          callback(error as Error);
        }
      },
    });
    // Whoever reads the body gets its errors. After a refused request, nobody reads it anymore.
    counted.on('error', () => {});
    if (isLarge) reserve();
    // `pipeline` would also destroy the request after an error, and with it the connection that the response needs.
    raw.once('close', () => {
      if (!raw.complete) counted.destroy(new AppError('BAD_REQUEST', { detail: 'The body is incomplete.' }));
    });
    return done(null, payload.pipe(counted));
  };
}

/**
 * Calls `onSlow` once if fewer bytes arrive in a period than the minimum rate requires.
 *
 * @returns stops the check.
 */
function requireRate(receivedBytes: () => number, onSlow: () => void, every: EverySecond): () => void {
  let seconds = 0;
  let before = 0;
  const stop = every(() => {
    // Seconds are counted instead of measured, so that a busy process doesn't blame the client for its own pause.
    seconds += 1;
    if (seconds % RATE_SECONDS !== 0) return;
    const arrived = receivedBytes() - before;
    before = receivedBytes();
    if (arrived >= RATE_SECONDS * MIN_BYTES_PER_SECOND) return;
    stop();
    onSlow();
  });
  return stop;
}

/**
 * Checks that a large body is large only because of the file in its `document`. The usual limit applies to the rest.
 *
 * @param input the object that may have a `document`: a REST body, or a mutation's input
 * @throws AppError `PAYLOAD_TOO_LARGE`
 */
export function requireSmallBesidesFile(contentLength: string | undefined, body: unknown, input: unknown): void {
  if (Number(contentLength ?? Number.POSITIVE_INFINITY) <= BODY_LIMIT_BYTES) return;
  const rest = JSON.stringify(body ?? null, function (this: unknown, name, value) {
    return this === input && name === 'document' && typeof value === 'string' ? '' : value;
  });
  if (Buffer.byteLength(rest) > BODY_LIMIT_BYTES) throw new AppError('PAYLOAD_TOO_LARGE');
}
