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
      const done = response?.ok ? JSON.parse(response.text) : madeBefore(response?.text);
      if (done) {
        onDone?.();
        return done;
      }
      // A request with this key may still be running, for example, in a process that lost its database connection.
      if (response && response.status < 500 && response.status !== 409)
        throw new Error(`${method} ${path}: ${response.text}`);
      await sleep(200);
    }
  };
}

/**
 * The endpoint that an earlier attempt created, if its node failed between the commit and the response. Its key is
 * released after a minute, and then the retry finds the path taken; see docs/decisions/0010-idempotency-keeps-successes.md.
 */
function madeBefore(text = ''): { id: string } | undefined {
  const [id] = /\bep_\w{26}\b/.exec(text) ?? [];
  return id !== undefined && text.includes('"code":"CONFLICT"') ? { id } : undefined;
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
