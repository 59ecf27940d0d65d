import type { Logger } from 'pino';
import { AppError, invalidField } from '../errors.ts';
import type { IdempotencyStore, StoredResponse } from '../features/idempotency/store.ts';

/**
 * Runs a request at most once under its Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a repeated one gets
 * the first one's answer. Requests that were refused changed nothing and are forgotten.
 *
 * @throws AppError `IDEMPOTENCY_IN_FLIGHT`, `IDEMPOTENCY_KEY_REUSED`, and `VALIDATION_FAILED` for a key that is none.
 */
export async function runOnce(
  store: IdempotencyStore,
  request: { scope: string; header: string; fingerprint: string; log: Pick<Logger, 'warn'> },
  run: () => Promise<StoredResponse>,
): Promise<StoredResponse> {
  const { scope, fingerprint, log } = request;
  const key = parseKey(request.header);
  const known = await store.begin(scope, key, fingerprint);
  if (known === 'in_flight') throw new AppError('IDEMPOTENCY_IN_FLIGHT', { retryAfterSeconds: 1 });
  if (known === 'reused') throw new AppError('IDEMPOTENCY_KEY_REUSED');
  if (known !== 'started') return { ...known, headers: { ...known.headers, 'idempotency-replayed': 'true' } };
  const answer = await run().catch(async (error) => {
    // After a fault of ours nobody knows what was done: the key stays taken until the request must have ended.
    if (error instanceof AppError && error.status < 500) {
      await store.abandon(scope, key).catch((cause) => log.warn({ err: cause }, 'an idempotency key was not freed'));
    }
    throw error;
  });
  // What was asked for has been done. To report a failure now would make the caller do it again.
  await store.finish(scope, key, answer).catch((error) => log.warn({ err: error }, 'an answer was not kept'));
  return answer;
}

/** The draft wants a quoted string, most clients send it bare: both are taken. */
function parseKey(header: string): string {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw invalidField('/Idempotency-Key', 'Must be 1 to 255 visible ASCII characters.');
}
