import type { Dispatcher } from 'undici';
import type { EgressAllow } from './allow-list.ts';
import { createConnector, type EgressLog } from './connector.ts';
import { EgressError, toEgressError } from './egress-error.ts';
import { type Answer, type EgressRequest, exchange } from './exchange.ts';
import { boundLookup, createLookup, type Lookup } from './lookup.ts';
import { OriginPools } from './origin-pools.ts';
import { checkTargetUrl } from './url.ts';

export type EgressResponse = Answer & { durationMilliseconds: number };

export type FetchJsonOptions = { timeoutMilliseconds: number; maxBytes: number };

export type Egress = {
  /**
   * Sends a request and reads the answer, whatever its status. Redirects are not followed.
   *
   * @throws EgressError with the class of the failure and how long it took.
   */
  send: (request: EgressRequest) => Promise<EgressResponse>;
  /**
   * Fetches a JSON document.
   *
   * @throws EgressError; `protocol_error` when the answer is not status 200 with JSON of at most `maxBytes`.
   */
  fetchJson: (url: string, options: FetchJsonOptions) => Promise<unknown>;
  /**
   * The same guarded pools for callers that stream. The shape of the URL is theirs to check (`checkTargetUrl`), and so
   * are deadlines and sizes. What it reports becomes an EgressError with `toEgressError`.
   */
  dispatcher: Dispatcher;
  /** Lets requests in flight finish, then closes every connection. */
  close: () => Promise<void>;
};

export type EgressOptions = {
  allow: EgressAllow;
  /** Refused targets are told with their addresses at debug level, and nowhere else. */
  log: EgressLog;
  lookup?: Lookup;
  /** Host name → the loopback origin that stands in for it, which the allow-list must cover. For tests. */
  hostOverrides?: Record<string, string>;
  connectionsPerOrigin?: number;
  maxOrigins?: number;
  /** The bound of each name resolution and each attempt to connect. */
  connectTimeoutMilliseconds?: number;
};

const MAX_HEADER_BYTES = 16_384;
const MAX_REMEMBERED_URLS = 2_000;
// Shorter than the 5 s after which many servers close an idle connection, so that requests seldom meet a closed one.
const IDLE_CONNECTION_MILLISECONDS = 4_000;
const MAX_IDLE_CONNECTION_MILLISECONDS = 30_000;
// A busy connection is renewed after this many requests, so that a change in DNS is noticed. (undici's `clientTtl` would
// bound its age instead, but reads the clock for every connection of the pool at every request.)
const MAX_REQUESTS_PER_CONNECTION = 1_000;

/** Builds the only way out of the process: every outgoing request of every feature goes through it. */
export function createEgress(options: EgressOptions): Egress {
  const { allow, log, hostOverrides = {}, connectTimeoutMilliseconds = 5_000 } = options;
  const lookup = boundLookup(options.lookup ?? createLookup(), connectTimeoutMilliseconds);
  const poolOptions = {
    connect: createConnector({ allow, log, lookup, hostOverrides, connectTimeoutMilliseconds }),
    connections: options.connectionsPerOrigin ?? 128,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: IDLE_CONNECTION_MILLISECONDS,
    keepAliveMaxTimeout: MAX_IDLE_CONNECTION_MILLISECONDS,
    maxRequestsPerClient: MAX_REQUESTS_PER_CONNECTION,
  };
  const dispatcher = new OriginPools(poolOptions, options.maxOrigins ?? 2_048);

  // The check asks nothing but the text and the allow-list, so its answer stays the same.
  const permitted = new Map<string, URL>();

  function permittedUrl(text: string): URL {
    const known = permitted.get(text);
    if (known) return known;
    const check = checkTargetUrl(text, allow);
    if (check.ok) {
      if (permitted.size >= MAX_REMEMBERED_URLS) permitted.clear();
      permitted.set(text, check.url);
      return check.url;
    }
    // The host alone: paths and queries of webhook URLs are secrets.
    log.debug({ host: URL.parse(text)?.host, reason: check.message }, 'egress target refused');
    throw new EgressError('target_not_allowed');
  }

  async function send(request: EgressRequest): Promise<EgressResponse> {
    const startedAt = performance.now();
    const elapsed = () => Math.round(performance.now() - startedAt);
    try {
      const answer = await exchange(dispatcher, permittedUrl(request.url), request);
      return { ...answer, durationMilliseconds: elapsed() };
    } catch (error) {
      throw toEgressError(error, elapsed());
    }
  }

  async function fetchJson(url: string, { timeoutMilliseconds, maxBytes }: FetchJsonOptions): Promise<unknown> {
    const request = { method: 'GET', url, headers: { accept: 'application/json' } };
    const answer = await send({ ...request, timeoutMilliseconds, maxResponseBytes: maxBytes });
    const { durationMilliseconds } = answer;
    const fail = (message: string, cause?: unknown): never => {
      throw new EgressError('protocol_error', { message, cause, durationMilliseconds });
    };
    if (answer.statusCode !== 200) return fail(`The answer has status ${answer.statusCode} instead of 200.`);
    if (answer.bodyTruncated) return fail(`The answer is larger than ${maxBytes} bytes.`);
    try {
      return JSON.parse(answer.body.toString('utf8'));
    } catch (error) {
      return fail('The answer is not JSON.', error);
    }
  }

  return { send, fetchJson, dispatcher, close: () => dispatcher.close() };
}
