import type { Dispatcher } from 'undici';

/** How much of a response is passed on in one turn of the event loop. */
const MAX_BYTES = 64 * 1024;
/**
 * How many chunks of all responses are passed on in one turn before each of the others passes on only one. A chunk takes
 * several microseconds, even if it is a single byte.
 */
const MAX_CHUNKS = 256;
/** How many of the responses that wait for their next turn get it at the same time. */
const RESPONSES_A_TURN = 32;

/** The current turn of the event loop, and the chunks of all responses in it. */
const turn = { number: 0, chunks: 0, isLast: true };
/** The responses that wait for their next turn, in order. */
const waiting = new Set<() => void>();

function countChunk(): void {
  turn.chunks += 1;
  if (!turn.isLast) return;
  turn.isLast = false;
  setImmediate(startTurn);
}

function startTurn(): void {
  turn.number += 1;
  turn.chunks = 0;
  turn.isLast = waiting.size === 0;
  if (!turn.isLast) setImmediate(startTurn);
  // Those that are full again wait behind the others.
  const next = [...waiting].slice(0, RESPONSES_A_TURN);
  for (const resume of next) waiting.delete(resume);
  for (const resume of next) resume();
}

/**
 * Wraps a handler to stop reading a response until the next turn of the event loop if much of it has arrived in this one.
 * Otherwise, a response that arrives and is read quickly would be passed on for as long as its connection has data, which
 * is megabytes, and dozens of such responses would keep everything else waiting for seconds. Responses in tiny chunks would
 * do the same with a hundredth of the data, so chunks count as well, for all responses together. Hundreds of responses that
 * are read quickly take turns.
 */
export function takingTurns(
  handler: Dispatcher.DispatchHandler,
  maxBytes: number = MAX_BYTES,
): Dispatcher.DispatchHandler {
  let bytes = 0;
  /** The number of the turn in which these bytes were passed on. */
  let counted = 0;
  let isFull = false;
  /** Whether the handler wants more. */
  let isWanted = true;

  /** Gives the response its next turn. */
  let takeTurn = () => {};

  function wait(controller: Dispatcher.DispatchController): void {
    if (isFull) return;
    isFull = true;
    controller.pause();
    takeTurn = () => {
      isFull = false;
      if (isWanted) controller.resume();
    };
    waiting.add(takeTurn);
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
      bytes = (turn.number === counted ? bytes : 0) + chunk.length;
      counted = turn.number;
      if (bytes >= maxBytes || turn.chunks >= MAX_CHUNKS) wait(controller);
      handler.onResponseData?.(inTurn(controller), chunk);
    },
    onResponseEnd(controller, trailers) {
      waiting.delete(takeTurn);
      handler.onResponseEnd?.(inTurn(controller), trailers);
    },
    onResponseError(controller, error) {
      waiting.delete(takeTurn);
      handler.onResponseError?.(controller, error);
    },
  };
}
