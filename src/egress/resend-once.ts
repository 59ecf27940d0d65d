import type { Dispatcher } from 'undici';
import { isConnectionNew } from './phases.ts';

/** Methods of requests that have the same effect if they are sent twice (RFC 9110 §9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

/** The errors of a connection that the server closed. */
const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/**
 * Servers close idle connections, and a request may already be on its way. Such a request is sent once more (RFC 9112
 * §9.3.1), if all of these are true: it is idempotent, its body is still available, the connection had been used before,
 * and it was closed before a single byte of a response arrived.
 *
 * @param resend sends the request on a new connection, and passes everything that happens to the handler.
 * @returns the handler to send the request with.
 */
export function resendOnce(
  { method, body }: Pick<Dispatcher.DispatchOptions, 'method' | 'body'>,
  handler: Dispatcher.DispatchHandler,
  resend: (handler: Dispatcher.DispatchHandler) => void,
): Dispatcher.DispatchHandler {
  const isRepeatable = body === undefined || body === null || typeof body === 'string' || Buffer.isBuffer(body);
  if (!IDEMPOTENT.has(method) || !isRepeatable) return handler;
  /** Whether the request is being sent on a connection that may have been closed in the meantime. */
  let isAtRisk = false;

  return {
    onRequestStart(controller, context) {
      isAtRisk = !isConnectionNew();
      handler.onRequestStart?.(controller, context);
    },
    onResponseStarted() {
      isAtRisk = false;
      handler.onResponseStarted?.();
    },
    onResponseError(controller, error) {
      if (isAtRisk && CLOSED.has((error as NodeJS.ErrnoException).code ?? '')) resend(handler);
      else handler.onResponseError?.(controller, error);
    },
    onRequestUpgrade: (...upgrade) => handler.onRequestUpgrade?.(...upgrade),
    onBodySent: (chunk) => handler.onBodySent?.(chunk),
    onRequestSent: () => handler.onRequestSent?.(),
    onResponseStart: (...response) => handler.onResponseStart?.(...response),
    onResponseData: (...data) => handler.onResponseData?.(...data),
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
  };
}
