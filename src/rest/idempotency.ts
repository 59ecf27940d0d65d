import { AppError, invalidField } from '../errors.ts';

/** An answer as it was given the first time. */
export type StoredAnswer = { status: number; headers: Record<string, string>; body: unknown };

/** Remembers answers by key; the database is behind it. */
export type IdempotencyStore = {
  /** Claims a key, or says what is known of it. */
  begin(scope: string, key: string, fingerprint: string): Promise<'started' | 'in_flight' | 'reused' | StoredAnswer>;
  finish(scope: string, key: string, answer: StoredAnswer): Promise<void>;
  /** Forgets a request that changed nothing, so that it can be sent again under the same key. */
  abandon(scope: string, key: string): Promise<void>;
};

/**
 * Runs a request at most once under its Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a repeated one gets
 * the first one's answer. Requests that failed changed nothing and are forgotten.
 *
 * @throws AppError `IDEMPOTENCY_IN_FLIGHT`, `IDEMPOTENCY_KEY_REUSED`, and `VALIDATION_FAILED` for a key that is none.
 */
export async function runOnce(
  store: IdempotencyStore,
  request: { scope: string; header: string; fingerprint: string },
  run: () => Promise<StoredAnswer>,
): Promise<StoredAnswer> {
  const key = parseKey(request.header);
  const known = await store.begin(request.scope, key, request.fingerprint);
  if (known === 'in_flight') throw new AppError('IDEMPOTENCY_IN_FLIGHT', { retryAfterSeconds: 1 });
  if (known === 'reused') throw new AppError('IDEMPOTENCY_KEY_REUSED');
  if (known !== 'started') return { ...known, headers: { ...known.headers, 'idempotency-replayed': 'true' } };
  try {
    const answer = await run();
    await store.finish(request.scope, key, answer);
    return answer;
  } catch (error) {
    await store.abandon(request.scope, key).catch(() => {});
    throw error;
  }
}

/** The draft wants a quoted string, most clients send it bare: both are taken. */
function parseKey(header: string): string {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw invalidField('/Idempotency-Key', 'Must be 1 to 255 visible ASCII characters.');
}
