import { setTimeout as sleep } from 'node:timers/promises';

const REQUEST_MILLISECONDS = 20_000;

/**
 * Returns a function that sends a request, and retries it until the service returns a final response. Retries have the
 * same idempotency key.
 */
export function createInsist({ url, token, onDone }: { url: string; token: string; onDone?: () => void }) {
  return async (method: string, path: string, body: unknown): Promise<{ id: string }> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': crypto.randomUUID(),
    };
    for (;;) {
      const response = await send(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
      if (response?.ok) {
        onDone?.();
        return JSON.parse(response.text);
      }
      // A request with this key may still be running, for example, in a process that lost its database connection.
      if (response && response.status < 500 && response.status !== 409)
        throw new Error(`${method} ${path}: ${response.text}`);
      await sleep(200);
    }
  };
}

/** Returns undefined if there is no response. */
export async function send(url: string, init: RequestInit) {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MILLISECONDS) });
    return { ok: response.ok, status: response.status, headers: response.headers, text: await response.text() };
  } catch {
    return undefined;
  }
}
