import type { Logger } from 'pino';
import { idempotencyScope, type Viewer } from '../auth/viewer.ts';
import { AppError, invalidField } from '../errors.ts';
import type { IdempotencyStore, StoredResponse } from '../features/idempotency/store.ts';
import { type CommitHook, currentRequest, runInRequest } from '../request-context.ts';

/** What an Idempotency-Key looks like. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** Whether a request changed anything. */
export type Outcome = 'changed' | 'unchanged' | 'unknown';

/**
 * Runs a request at most once per Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a retry gets the
 * original response. Failed requests aren't stored. A rejected request (4xx) changed nothing, so it can be retried
 * immediately. After an internal error (5xx), or if the process dies, the request may still be running, so the key stays
 * in use for a minute. If the request made a change but there is no response to return, because it is too large or wasn't
 * stored in time, a retry is rejected and isn't run again.
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
  const begun = await store.begin({ accountId: viewer.userId, scope, key, fingerprint });
  if (begun === 'in_flight') throw new AppError('IDEMPOTENCY_IN_FLIGHT', { retryAfterSeconds: 1 });
  if (begun === 'reused') throw new AppError('IDEMPOTENCY_KEY_REUSED');
  if (begun === 'not_stored') throw new AppError('IDEMPOTENCY_RESPONSE_NOT_STORED');
  if ('status' in begun) {
    await request.requireAccess(begun);
    return { ...begun, headers: { ...begun.headers, 'idempotency-replayed': 'true' } };
  }
  const abandon = () =>
    begun.abandon().catch((cause) => log.warn({ err: cause }, 'could not release an idempotency key'));
  const finish = (response: StoredResponse | 'too_large') =>
    // The change has been made. If an error here made the request fail, the caller would make the change again.
    begun
      .finish(response)
      .catch((error) => log.warn({ err: error }, 'could not store the response to an idempotent request'));
  let isRunning = true;
  // Work that the request has started can outlast it.
  const beforeCommit: CommitHook = async (tx) => (isRunning ? begun.mark(tx) : undefined);
  const running = runInRequest({ ...currentRequest()!, beforeCommit }, run).finally(() => {
    isRunning = false;
  });
  const response = await running.catch(async (error) => {
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
