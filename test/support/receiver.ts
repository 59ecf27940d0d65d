import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A received request. `path` includes the query, `body` has the raw bytes, and header names are in lowercase. */
export type ReceivedRequest = { method: string; path: string; headers: IncomingHttpHeaders; body: Buffer };

/** A response. Defaults to status 200 with no headers and an empty body. */
export type TestResponse = { statusCode?: number; headers?: Record<string, string | string[]>; body?: string | Buffer };

/**
 * Returns the response to a request. `index` counts requests from 0. A handler that returns nothing has taken over
 * `response`, and sends, stalls, or destroys it itself.
 */
export type ReceiverHandler = (
  request: ReceivedRequest,
  response: ServerResponse,
  index: number,
) => TestResponse | undefined | Promise<TestResponse | undefined>;

export type Receiver = {
  /** `http://127.0.0.1:<port>`, without a trailing slash. */
  url: string;
  port: number;
  /** All requests received so far, in the order in which they were completed. */
  requests: ReceivedRequest[];
  /** The number of TCP connections accepted so far. */
  connectionCount: () => number;
  /** Replaces the handler for later requests. */
  handle: (handler: ReceiverHandler) => void;
  /** Sends these responses to the next requests, one each, before the handler is used again. */
  respondNext: (...answers: TestResponse[]) => void;
  /**
   * If `condition` is a number, waits until there are that many requests, and returns all of them. If it is a function,
   * waits until at least one request matches, and returns all matching requests.
   *
   * @throws Error after `timeoutMilliseconds`, with the received requests.
   */
  waitFor: (
    condition: number | ((request: ReceivedRequest) => boolean),
    timeoutMilliseconds?: number,
  ) => Promise<ReceivedRequest[]>;
  /** Stops listening and cuts every open connection. */
  close: () => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
};

/** Starts an HTTP server on an ephemeral loopback port that records its requests. Responds with 200 by default. */
export async function startReceiver(initialHandler: ReceiverHandler = () => ({})): Promise<Receiver> {
  let handler = initialHandler;
  let connectionCount = 0;
  const queuedResponses: TestResponse[] = [];
  const requests: ReceivedRequest[] = [];
  const waiters = new Set<() => void>();

  async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = incoming;
    const request: ReceivedRequest = { method, path, headers, body: await buffer(incoming) };
    const index = requests.push(request) - 1;
    for (const check of [...waiters]) check();
    const answer = queuedResponses.shift() ?? (await handler(request, response, index));
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
    timeoutMilliseconds = 60_000,
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
    respondNext: (...answers) => void queuedResponses.push(...answers),
    waitFor,
    close,
    [Symbol.asyncDispose]: close,
  };
}
