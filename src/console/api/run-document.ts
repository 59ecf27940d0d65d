import type { Api } from './client.ts';

export type DocumentRequest = { query: string; variables?: Record<string, unknown> };

/** Runs a query or a mutation as it is written, and gives the whole answer. */
export async function runDocument(api: Api, request: DocumentRequest): Promise<unknown> {
  const answer = await api.request('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(request),
  });
  return answer.json();
}

/**
 * Follows a subscription as it is written.
 *
 * @param onResult takes every answer.
 * @param onEnd is told why there are no more; nothing when the server has ended it.
 * @returns how to stop.
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
      onEnd(Array.isArray(reason) ? undefined : 'The connection was lost.');
    },
    complete: () => onEnd(),
  });
}

/** Whether the document asks to be told of what happens, which goes over the socket. */
export function isSubscription(query: string): boolean {
  return /^\s*subscription\b/m.test(query.replaceAll(/#.*$/gm, ''));
}
