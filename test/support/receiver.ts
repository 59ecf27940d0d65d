import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** One request as it arrived. `path` keeps the query; `body` is the raw bytes; header names are in lower case. */
export type ReceivedRequest = { method: string; path: string; headers: IncomingHttpHeaders; body: Buffer };

/** What to answer: status 200, no headers and an empty body unless told otherwise. */
export type Answer = { statusCode?: number; headers?: Record<string, string | string[]>; body?: string | Buffer };

/**
 * Decides the answer of a request. `index` counts requests from 0. A handler that returns nothing has taken over
 * `response` and answers (or stalls, or destroys it) by itself.
 */
export type ReceiverHandler = (
  request: ReceivedRequest,
  response: ServerResponse,
  index: number,
) => Answer | undefined | Promise<Answer | undefined>;

export type Receiver = {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  url: string;
  port: number;
  /** Every request received so far, in order of their complete arrival. */
  requests: ReceivedRequest[];
  /** How many TCP connections were accepted so far. */
  connectionCount: () => number;
  /** Replaces the handler for the requests that follow. */
  handle: (handler: ReceiverHandler) => void;
  /** These answers go to the next requests, one each; the handler answers once they are used up. */
  answerNext: (...answers: Answer[]) => void;
  /**
   * Waits until `condition` holds and returns the requests it is about: with a count all of them, once there are that
   * many; with a predicate those that match, once there is one.
   *
   * @throws Error after `timeoutMilliseconds`, saying what did arrive.
   */
  waitFor: (
    condition: number | ((request: ReceivedRequest) => boolean),
    timeoutMilliseconds?: number,
  ) => Promise<ReceivedRequest[]>;
  /** Stops listening and cuts every open connection. */
  close: () => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

/** Starts an HTTP server on an ephemeral loopback port that records what it is sent. Answers 200 without a handler. */
export async function startReceiver(initialHandler: ReceiverHandler = () => ({})): Promise<Receiver> {
  let handler = initialHandler;
  let connectionCount = 0;
  const queuedAnswers: Answer[] = [];
  const requests: ReceivedRequest[] = [];
  const waiters = new Set<() => void>();

  async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    const request: ReceivedRequest = { method, path, headers, body: await buffer(incoming) };
    const index = requests.push(request) - 1;
    for (const check of [...waiters]) check();
    const answer = queuedAnswers.shift() ?? (await handler(request, response, index));
    if (answer) response.writeHead(answer.statusCode ?? 200, answer.headers).end(answer.body);
  }

  const server = createServer((incoming, response) => {
    receive(incoming, response).catch(() => response.destroy());
  });
  server.on('connection', () => connectionCount++);
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  function waitFor(
    condition: number | ((request: ReceivedRequest) => boolean),
    timeoutMilliseconds = 10_000,
  ): Promise<ReceivedRequest[]> {
    const { promise, resolve, reject } = Promise.withResolvers<ReceivedRequest[]>();
    const timer = setTimeout(() => {
      waiters.delete(check);
      const seen = requests.map((request) => `${request.method} ${request.path}`).join(', ') || 'nothing';
      reject(new Error(`The receiver did not get what it waited for in ${timeoutMilliseconds} ms. It got: ${seen}`));
    }, timeoutMilliseconds);
    function check(): void {
      const matching = typeof condition === 'number' ? [...requests] : requests.filter(condition);
      if (matching.length < (typeof condition === 'number' ? condition : 1)) return;
      clearTimeout(timer);
      waiters.delete(check);
      resolve(matching);
    }
    waiters.add(check);
    check();
    return promise;
  }

  async function close(): Promise<void> {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connectionCount: () => connectionCount,
    handle: (next) => {
      handler = next;
    },
    answerNext: (...answers) => void queuedAnswers.push(...answers),
    waitFor,
    close,
    [Symbol.asyncDispose]: close,
  };
}
