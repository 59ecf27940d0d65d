import type { Dispatcher } from 'undici';

/** Larger chunks are passed on as they are. */
const MAX_JOINED_BYTES = 4_096;

/**
 * Wraps a handler to join small chunks that arrive at the same time. Passing on a chunk takes much longer than reading it, no
 * matter how small it is: a megabyte in chunks of one byte would occupy the process for 20 seconds. Nothing is held back until
 * more arrives.
 */
export function joiningChunks(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let waiting: Buffer[] = [];
  let bytes = 0;

  function flush(controller: Dispatcher.DispatchController): void {
    const [first, ...others] = waiting;
    waiting = [];
    bytes = 0;
    if (first) handler.onResponseData?.(controller, others.length > 0 ? Buffer.concat([first, ...others]) : first);
  }

  function flushLater(controller: Dispatcher.DispatchController): void {
    try {
      flush(controller);
    } catch (error) {
      // undici does the same with errors from a handler that it calls itself.
      controller.abort(error as Error);
    }
  }

  return {
    onRequestStart: (...start) => handler.onRequestStart?.(...start),
    onResponseStart: (...response) => handler.onResponseStart?.(...response),
    onResponseData(controller, chunk) {
      waiting.push(chunk);
      bytes += chunk.length;
      if (bytes >= MAX_JOINED_BYTES) flush(controller);
      else if (waiting.length === 1) queueMicrotask(() => flushLater(controller));
    },
    onResponseEnd(controller, trailers) {
      flush(controller);
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError(controller, error) {
      if (waiting.length > 0) flush(controller);
      handler.onResponseError?.(controller, error);
    },
  };
}
