import type { Logger } from 'pino';
import { idempotencyScope, type Viewer } from '../auth/viewer.ts';
import { AppError, invalidField } from '../errors.ts';
import type { IdempotencyStore, StoredResponse } from '../features/idempotency/store.ts';

/** What an Idempotency-Key looks like. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** Whether a request changed anything. */
export type Outcome = 'changed' | 'unchanged' | 'unknown';

/**
 * Runs a request at most once per Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a retry gets the
 * original response. Failed requests aren't stored. A rejected request (4xx) changed nothing, so it can be retried
 * immediately. After an internal error (5xx), the change may have been made, so the key stays in use for a minute. If the
 * response is too large to store, or even to send, a retry is rejected and isn't run again.
 *
 * @throws AppError `IDEMPOTENCY_IN_FLIGHT`, `IDEMPOTENCY_KEY_REUSED`, `IDEMPOTENCY_RESPONSE_NOT_STORED`, or
 *   `VALIDATION_FAILED` for an invalid key.
 */
export async function runOnce(
  store: IdempotencyStore,
  request: {
    viewer: Viewer;
    header: string;
    fingerprint: string;
    /** Throws if the caller may no longer see the stored response. */
    requireAccess: (stored: StoredResponse) => Promise<void>;
    /** Whether the change was made, according to a response. Default: it was. */
    outcomeOf?: (response: StoredResponse) => Outcome;
    log: Pick<Logger, 'warn'>;
  },
  run: () => Promise<StoredResponse>,
): Promise<StoredResponse> {
  const { viewer, fingerprint, outcomeOf = () => 'changed', log } = request;
  const scope = idempotencyScope(viewer);
  const key = parseKey(request.header);
  const known = await store.begin(scope, key, fingerprint);
  if (known === 'in_flight') throw new AppError('IDEMPOTENCY_IN_FLIGHT', { retryAfterSeconds: 1 });
  if (known === 'reused') throw new AppError('IDEMPOTENCY_KEY_REUSED');
  if (known === 'not_stored') throw new AppError('IDEMPOTENCY_RESPONSE_NOT_STORED');
  if (known !== 'started') {
    await request.requireAccess(known);
    return { ...known, headers: { ...known.headers, 'idempotency-replayed': 'true' } };
  }
  const abandon = () =>
    store.abandon(scope, key).catch((cause) => log.warn({ err: cause }, 'could not release an idempotency key'));
  const finish = (response: StoredResponse | 'too_large') =>
    // The change has been made. If an error here made the request fail, the caller would make the change again.
    store
      .finish({ accountId: viewer.userId, scope, key }, response)
      .catch((error) => log.warn({ err: error }, 'could not store the response to an idempotent request'));
  const response = await run().catch(async (error) => {
    if (error instanceof AppError && error.code === 'RESPONSE_TOO_LARGE') await finish('too_large');
    // After an internal error, the outcome is unknown. The key stays in use until the request has definitely ended.
    else if (error instanceof AppError && error.status < 500) await abandon();
    throw error;
  });
  const outcome = outcomeOf(response);
  if (outcome === 'unchanged') await abandon();
  if (outcome !== 'changed') return response;
  await finish(response);
  return response;
}

/** The draft requires a quoted string, but most clients send it without quotes. Both are accepted. */
function parseKey(header: string): string {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (IDEMPOTENCY_KEY.test(key)) return key;
  throw invalidField('/Idempotency-Key', 'Must be 1 to 255 visible ASCII characters.');
}
