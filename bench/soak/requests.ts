import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../support/child.ts';

const REQUEST_MILLISECONDS = 20_000;
const RETRY_MILLISECONDS = 300;
/** Statuses of requests that the service may accept later, for example, once its processes' clocks agree again. */
const RETRYABLE = new Set([401, 409, 429]);

/** The text of a response, or undefined if there was none. */
export async function send(url: string, init: RequestInit) {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MILLISECONDS) });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch {
    return undefined;
  }
}

/**
 * Sends management requests like a careful client: retries each one until it is acknowledged, with the same idempotency
 * key.
 *
 * @param token returns a token that hasn't expired
 */
export function createCaller(url: string, token: () => Promise<string>, onRetry: () => void) {
  return async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const key = crypto.randomUUID();
    for (;;) {
      const headers = {
        authorization: `Bearer ${await token()}`,
        'content-type': 'application/json',
        ...(method !== 'GET' && { 'idempotency-key': key }),
      };
      const response = await send(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
      if (response && response.status < 300) return JSON.parse(response.text) as T;
      if (response && response.status < 500 && !RETRYABLE.has(response.status))
        throw new Error(`${method} ${path}: ${response.status} ${response.text}`);
      onRetry();
      await sleep(RETRY_MILLISECONDS);
    }
  };
}

/**
 * Starts work at a steady rate, no matter how long each piece takes.
 *
 * @returns a function that stops it and waits for the rest
 */
export function atRate(perSecond: number, work: (index: number) => Promise<unknown>): () => Promise<void> {
  const running = new Set<Promise<unknown>>();
  let isStopping = false;
  const startedAt = now();
  const loop = (async () => {
    for (let index = 0; !isStopping; index++) {
      await sleep(Math.max(0, startedAt + (index * 1000) / perSecond - now()));
      const piece = work(index);
      running.add(piece);
      piece.finally(() => running.delete(piece)).catch(fail);
    }
  })();
  return async () => {
    isStopping = true;
    await loop;
    await Promise.all(running);
  };
}

/** After an error that a retry can't fix, the run is worthless. */
function fail(error: Error): never {
  console.error(error);
  process.exit(1);
}
