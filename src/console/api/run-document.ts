import type { Api } from './client.ts';

export type DocumentRequest = { query: string; variables?: Record<string, unknown>; operationName?: string };

/** Runs a query or mutation and returns the whole response. */
export async function runDocument(
  api: Api,
  request: DocumentRequest,
  headers?: Readonly<Record<string, string>>,
): Promise<unknown> {
  const response = await api.request('/graphql', {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(request),
  });
  return response.json();
}

/**
 * Runs a subscription.
 *
 * @param onResult is called with each result.
 * @param onEnd is called when the subscription ends, with a reason if the connection was lost.
 * @returns a function that stops it.
 */
export function followDocument(
  { socket }: Api,
  request: DocumentRequest,
  onResult: (result: unknown) => void,
  onEnd: (reason?: string) => void,
): () => void {
  return socket.subscribe(request, {
    next: onResult,
    error(reason) {
      if (Array.isArray(reason)) onResult({ errors: reason });
      onEnd(Array.isArray(reason) ? undefined : 'Connection lost.');
    },
    complete: () => onEnd(),
  });
}
