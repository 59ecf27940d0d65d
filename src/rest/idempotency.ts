import type { Logger } from 'pino';
import { AppError, invalidField } from '../errors.ts';
import type { IdempotencyStore, StoredResponse } from '../features/idempotency/store.ts';

/**
 * Runs a request at most once per Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a retry gets the
 * original response. Failed requests aren't stored. A rejected request (4xx) changed nothing, so it can be retried
 * immediately. After an internal error (5xx), the change may have been made, so the key stays in use for a minute.
 *
 * @throws AppError `IDEMPOTENCY_IN_FLIGHT`, `IDEMPOTENCY_KEY_REUSED`, or `VALIDATION_FAILED` for an invalid key.
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
    // After an internal error, the outcome is unknown. The key stays in use until the request has certainly ended.
    if (error instanceof AppError && error.status < 500) {
      await store
        .abandon(scope, key)
        .catch((cause) => log.warn({ err: cause }, 'could not release an idempotency key'));
    }
    throw error;
  });
  // The change has been made. If an error here made the request fail, the caller would make the change again.
  await store
    .finish(scope, key, answer)
    .catch((error) => log.warn({ err: error }, 'could not store the response to an idempotent request'));
  return answer;
}

/** The draft requires a quoted string, but most clients send it without quotes. Both are accepted. */
function parseKey(header: string): string {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw invalidField('/Idempotency-Key', 'Must be 1 to 255 visible ASCII characters.');
}
