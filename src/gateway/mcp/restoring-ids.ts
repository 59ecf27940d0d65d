import type { Dispatcher } from 'undici';
import { createIdRestorer } from './call-id.ts';

/** The media types in which MCP servers send messages. */
const MESSAGES = /^(?:text\/event-stream|application\/json)\b/i;

/**
 * Wraps a dispatcher to replace the IDs of paid calls with the buyers' in responses that are streamed. A server can send the
 * response to a call on a stream that the buyer opens later.
 */
export function restoringIds(dispatcher: Dispatcher): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => dispatch(options, restoring(handler)));
}

function restoring(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let restorer: ReturnType<typeof createIdRestorer> | undefined;
  return {
    onRequestStart: (...start) => handler.onRequestStart?.(...start),
    onResponseStart(controller, statusCode, headers, statusMessage) {
      const { 'content-length': _length, 'content-digest': _digest, ...others } = headers;
      const isReadable = (headers['content-encoding'] ?? 'identity') === 'identity';
      const hasMessages = MESSAGES.test(String(headers['content-type']));
      restorer = hasMessages && isReadable ? createIdRestorer() : undefined;
      handler.onResponseStart?.(controller, statusCode, restorer ? others : headers, statusMessage);
    },
    onResponseData(controller, chunk) {
      const restored = restorer ? restorer.restore(chunk) : chunk;
      if (restored.length > 0) handler.onResponseData?.(controller, restored);
    },
    onResponseEnd(controller, trailers) {
      const rest = restorer?.end();
      if (rest?.length) handler.onResponseData?.(controller, rest);
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  };
}
