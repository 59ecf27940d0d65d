import type { Dispatcher } from 'undici';
import { createLru } from '../lru.ts';
import type { EgressAllow } from './allow-list.ts';
import { EgressError, toEgressError } from './egress-error.ts';
import { type EgressRequest, exchange, type ReceivedResponse } from './exchange.ts';
import { createGuardedConnect, type EgressLog } from './guarded-connect.ts';
import { createHandshakes } from './handshakes.ts';
import { keptConnections, MAX_KEPT_CONNECTIONS } from './kept-connections.ts';
import { boundLookup, createLookup, type Lookup } from './lookup.ts';
import { OriginPools } from './origin-pools.ts';
import { createTunnels, type EgressProxy } from './proxy.ts';
import { sendFollowing } from './redirects.ts';
import type { TlsIdentity } from './tls-identity.ts';
import { checkTargetUrl } from './url.ts';

export type EgressResponse = ReceivedResponse & { durationMilliseconds: number };

type FetchJsonOptions = { timeoutMilliseconds: number; maxBytes: number };

/** Sends requests for callers with the same permissions. */
export type EgressDoor = {
  /**
   * Sends a request and reads the response, regardless of its status. Redirects aren't followed.
   *
   * @throws EgressError with the failure's class and duration.
   */
  send: (request: EgressRequest) => Promise<EgressResponse>;
  /**
   * Fetches a JSON document that is trusted because of where it comes from. Only redirects within the same site are
   * followed.
   *
   * @throws EgressError with the failure's class, which is `protocol_error` if the status isn't 200, or if the body
   * isn't JSON or is larger than `maxBytes`. RedirectError for redirects that aren't followed.
   */
  fetchJson: (url: string, options: FetchJsonOptions) => Promise<unknown>;
  /**
   * The same guarded pools for callers that stream. Each owner has its own connections, so no owner can use up the
   * connections to an origin that others also call. Callers must check the URL (`checkTargetUrl`), enforce deadlines
   * and size limits, and turn errors into an EgressError with `toEgressError`.
   */
  dispatcherFor: (owner: string) => Dispatcher;
};

export type Egress = EgressDoor & {
  /**
   * The same functions for callers with a different allow-list. Each allow-list has its own connections, but all of them
   * share the limits.
   *
   * @param allow must come from the configuration, because its connections stay open until the egress closes.
   */
  within: (allow: EgressAllow) => EgressDoor;
  /** Waits for requests in flight, then closes all connections. */
  close: () => Promise<void>;
};

export type EgressOptions = {
  allow: EgressAllow;
  /** Rejected targets are logged with their addresses, but only at debug level. */
  log: EgressLog;
  lookup?: Lookup;
  /** Host name → the loopback origin that replaces it, which the allow-list must cover. For tests. */
  hostOverrides?: Record<string, string>;
  connectionsPerOrigin?: number;
  /** How many connections to keep open, across all origins. */
  maxConnections?: number;
  /** The timeout for each name resolution and each connection attempt. */
  connectTimeoutMilliseconds?: number;
  /** The proxy for all connections. */
  proxy?: EgressProxy | undefined;
};

const MAX_HEADER_BYTES = 16_384;
// For servers that don't say how long they keep idle connections (`Keep-Alive: timeout`). gunicorn closes them after 2 s,
// and Apache, Node, and uvicorn after 5 s. Because this time is shorter, even over a slow network, requests are rarely
// sent on a connection that the server has already closed.
const IDLE_CONNECTION_MILLISECONDS = 1_000;
const MAX_IDLE_CONNECTION_MILLISECONDS = 30_000;
// To pick up DNS changes, busy connections are renewed after this many requests. (undici's `clientTtl` limits their age
// instead, but reads the clock for every pooled connection on every request.)
const MAX_REQUESTS_PER_CONNECTION = 1_000;
const MAX_IDENTITIES = 1_000;

/** Creates the egress. Every outgoing request from every feature must go through it. */
export function createEgress(options: EgressOptions): Egress {
  const { log, proxy, hostOverrides = {}, connectTimeoutMilliseconds = 5_000 } = options;
  const lookup = boundLookup(options.lookup ?? createLookup(), connectTimeoutMilliseconds);
  const handshakes = createHandshakes(connectTimeoutMilliseconds);
  const openTunnel = proxy && createTunnels(proxy, { log, timeoutMilliseconds: connectTimeoutMilliseconds });
  const connectWithin = (allow: EgressAllow, tls?: TlsIdentity) =>
    createGuardedConnect({
      allow,
      log,
      lookup,
      handshakes,
      hostOverrides,
      connectTimeoutMilliseconds,
      openTunnel,
      tls,
    });
  const poolOptions = {
    connect: connectWithin(options.allow),
    connections: options.connectionsPerOrigin ?? 128,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: IDLE_CONNECTION_MILLISECONDS,
    keepAliveMaxTimeout: MAX_IDLE_CONNECTION_MILLISECONDS,
    maxRequestsPerClient: MAX_REQUESTS_PER_CONNECTION,
  };
  const pools = new OriginPools(poolOptions, options.maxConnections ?? keptConnections());
  const withTls = (allow: EgressAllow) => (tls: TlsIdentity) => pools.owned(connectWithin(allow, tls))('');
  const own = openDoor(options.allow, pools.owned(), withTls(options.allow), log);
  const doors = new Map([[options.allow, own]]);

  function within(allow: EgressAllow): EgressDoor {
    const known = doors.get(allow);
    if (known) return known;
    const door = openDoor(allow, pools.owned(connectWithin(allow)), withTls(allow), log);
    doors.set(allow, door);
    return door;
  }

  return { ...own, within, close: () => pools.close() };
}

function openDoor(
  allow: EgressAllow,
  dispatcherFor: EgressDoor['dispatcherFor'],
  withTls: (tls: TlsIdentity) => Dispatcher,
  log: EgressLog,
): EgressDoor {
  const dispatcher = dispatcherFor('');
  const identities = createLru<Dispatcher>(MAX_IDENTITIES);

  /** Requests with the same identity share connections. Forgotten identities' connections close when they are idle. */
  function dispatcherOf({ tls, owner }: EgressRequest): Dispatcher {
    if (!tls) return owner === undefined ? dispatcher : dispatcherFor(owner);
    const found = identities.get(tls.id) ?? withTls(tls);
    identities.set(tls.id, found);
    return found;
  }

  // The check depends only on the URL's text and the allow-list, so its result never changes.
  const permitted = createLru<URL>(MAX_KEPT_CONNECTIONS);

  function permittedUrl(text: string): URL {
    const known = permitted.get(text);
    if (known) return known;
    const check = checkTargetUrl(text, allow);
    if (check.ok) {
      permitted.set(text, check.url);
      return check.url;
    }
    // Logs only the host, because the paths and queries of webhook URLs are secret.
    log.debug({ host: URL.parse(text)?.host, reason: check.message }, 'blocked an outgoing connection');
    throw new EgressError('target_not_allowed');
  }

  async function send(request: EgressRequest): Promise<EgressResponse> {
    const startedAt = performance.now();
    const elapsed = () => Math.round(performance.now() - startedAt);
    try {
      const response = await exchange(dispatcherOf(request), permittedUrl(request.url), request);
      return { ...response, durationMilliseconds: elapsed() };
    } catch (error) {
      throw toEgressError(error, elapsed());
    }
  }

  async function fetchJson(url: string, { timeoutMilliseconds, maxBytes }: FetchJsonOptions): Promise<unknown> {
    const request = { method: 'GET', url, headers: { accept: 'application/json' } };
    const limits = { timeoutMilliseconds, maxResponseBytes: maxBytes };
    const response = await sendFollowing(send, { ...request, ...limits }, { mayLeaveSite: false });
    const { durationMilliseconds } = response;
    const fail = (message: string, cause?: unknown): never => {
      throw new EgressError('protocol_error', { message, cause, durationMilliseconds });
    };
    if (response.statusCode !== 200) return fail(`The response has status ${response.statusCode} instead of 200.`);
    if (response.bodyTruncated) return fail(`The response is larger than ${maxBytes} bytes.`);
    try {
      return JSON.parse(response.body.toString('utf8'));
    } catch (error) {
      return fail("The response isn't JSON.", error);
    }
  }

  return { send, fetchJson, dispatcherFor };
}
