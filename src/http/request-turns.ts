import type { IncomingMessage, Server } from 'node:http';
import { sourceOf } from '../limits/failed-credentials.ts';
import { addRawHandler } from './raw-handler.ts';

/** How many requests are started in one turn of the event loop, which takes about a millisecond. */
const REQUESTS_A_TURN = 4;

/**
 * Starts only a few requests in each turn of the event loop. The others wait, and client addresses take turns. Without
 * this, all requests that have arrived are started in the same turn: with a thousand connections from a few addresses,
 * each turn takes a quarter of a second, and a payment needs about ten of them.
 *
 * @param addressOf the client address of a request.
 */
export function takeRequestTurns(server: Server, addressOf: (request: IncomingMessage) => string): void {
  /** By address (for IPv6, by /64). The address whose turn is next comes first. */
  const waiting = new Map<string, (() => boolean)[]>();
  let started = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(takeTurn);
  }

  function takeTurn(): void {
    isScheduled = false;
    started = 0;
    while (started < REQUESTS_A_TURN && waiting.size > 0) if (startNext()) started += 1;
    // What arrives before the next turn counts toward this one.
    if (started > 0) schedule();
  }

  /** Returns false if nobody waits for the response anymore. */
  function startNext(): boolean {
    const [source, requests] = waiting.entries().next().value!;
    const start = requests.shift()!;
    waiting.delete(source);
    if (requests.length > 0) waiting.set(source, requests);
    return start();
  }

  addRawHandler(server, (request, _response, next) => {
    schedule();
    if (waiting.size === 0 && started < REQUESTS_A_TURN) {
      started += 1;
      return false;
    }
    const source = sourceOf(addressOf(request));
    const requests = waiting.get(source) ?? [];
    waiting.set(source, requests);
    requests.push(() => {
      if (request.socket.destroyed) return false;
      next();
      return true;
    });
    return true;
  });
}
