import type { Dispatcher } from 'undici';

/** How much of a response is passed on in one turn of the event loop. */
const MAX_BYTES = 64 * 1024;
/**
 * How many chunks of all responses are passed on in one turn before each of the others passes on only one. A chunk takes
 * several microseconds, even if it is a single byte.
 */
const MAX_CHUNKS = 256;

/** The chunks of all responses in this turn of the event loop. */
const turn = { chunks: 0 };

function countChunk(): void {
  if (turn.chunks === 0) {
    setImmediate(() => {
      turn.chunks = 0;
    });
  }
  turn.chunks += 1;
}

/**
 * Wraps a handler to stop reading a response until the next turn of the event loop if much of it has arrived in this one.
 * Otherwise, a response that arrives and is read quickly would be passed on for as long as its connection has data, which
 * is megabytes, and dozens of such responses would keep everything else waiting for seconds. Responses in tiny chunks would
 * do the same with a hundredth of the data, so chunks count as well, for all responses together.
 */
export function takingTurns(
  handler: Dispatcher.DispatchHandler,
  maxBytes: number = MAX_BYTES,
): Dispatcher.DispatchHandler {
  let bytes = 0;
  let isFull = false;
  let isOver = false;
  /** Whether the handler wants more. */
  let isWanted = true;

  function startTurn(controller: Dispatcher.DispatchController): void {
    bytes = 0;
    if (!isFull) return;
    isFull = false;
    if (isWanted && !isOver) controller.resume();
  }

  /** The controller for the handler, which could otherwise resume in the same turn. */
  const inTurn = (controller: Dispatcher.DispatchController): Dispatcher.DispatchController => ({
    get aborted() {
      return controller.aborted;
    },
    get paused() {
      return controller.paused;
    },
    get reason() {
      return controller.reason;
    },
    abort: (reason) => controller.abort(reason),
    pause() {
      isWanted = false;
      controller.pause();
    },
    resume() {
      isWanted = true;
      if (!isFull) controller.resume();
    },
  });

  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(inTurn(controller), context),
    onResponseStart: (controller, ...head) => handler.onResponseStart?.(inTurn(controller), ...head),
    onResponseData(controller, chunk) {
      countChunk();
      if (bytes === 0) setImmediate(startTurn, controller);
      bytes += chunk.length;
      if (bytes >= maxBytes || turn.chunks >= MAX_CHUNKS) {
        isFull = true;
        controller.pause();
      }
      handler.onResponseData?.(inTurn(controller), chunk);
    },
    onResponseEnd(controller, trailers) {
      isOver = true;
      handler.onResponseEnd?.(inTurn(controller), trailers);
    },
    onResponseError(controller, error) {
      isOver = true;
      handler.onResponseError?.(controller, error);
    },
  };
}
