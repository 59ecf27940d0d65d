import type { Dispatcher } from 'undici';

/**
 * Sends a request that ends as soon as its signal is aborted, even while it waits for a connection. Otherwise, undici
 * notices the signal only when it starts to send the request, which can take as long as other requests keep all
 * connections to the origin.
 */
export function dispatchAbortable(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions & { signal?: unknown },
  handler: Dispatcher.DispatchHandler,
): boolean {
  const { signal } = options;
  if (!(signal instanceof AbortSignal) || signal.aborted) return dispatcher.dispatch(options, handler);
  /** What waits in undici's queue. */
  const queued = { ...options };
  let current: Dispatcher.DispatchHandler | undefined = handler;

  function onAbort(): void {
    const ended = current;
    // The queue keeps the rest for longer, so the body and its handler must not stay in memory.
    queued.body = null;
    current = undefined;
    ended?.onResponseError?.(null as unknown as Dispatcher.DispatchController, (signal as AbortSignal).reason);
  }
  signal.addEventListener('abort', onAbort);

  return dispatcher.dispatch(queued, {
    onRequestStart(controller, context) {
      signal.removeEventListener('abort', onAbort);
      // Throwing leaves the connection to the next request.
      if (!current) throw signal.reason;
      current.onRequestStart?.(controller, context);
    },
    onResponseError(controller, error) {
      signal.removeEventListener('abort', onAbort);
      current?.onResponseError?.(controller, error);
    },
    onRequestUpgrade: (...upgrade) => current?.onRequestUpgrade?.(...upgrade),
    onBodySent: (chunk) => current?.onBodySent?.(chunk),
    onRequestSent: () => current?.onRequestSent?.(),
    onResponseStarted: () => current?.onResponseStarted?.(),
    onResponseStart: (...response) => current?.onResponseStart?.(...response),
    onResponseData: (...data) => current?.onResponseData?.(...data),
    onResponseEnd: (...end) => current?.onResponseEnd?.(...end),
  });
}
