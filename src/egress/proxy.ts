import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import { EgressError, type EgressErrorClass } from './egress-error.ts';
import { hostnameOf, portOf } from './url.ts';

/** The operator's proxy for outgoing requests. `authorization` is secret. */
export type EgressProxy = { hostname: string; port: number; authorization: string | undefined };

/** Opens a connection through the proxy. */
export type OpenTunnel = (address: string, port: number) => Promise<Socket>;

type ProxyLog = { warn: (fields: object, message: string) => void };

// While the proxy is down, every request fails.
const LOG_MILLISECONDS = 60_000;
const TCP_KEEP_ALIVE_MILLISECONDS = 60_000;

/**
 * What a proxy's status says about the server behind it. All other statuses mean that the proxy refuses to open a
 * connection, or can't: https://datatracker.ietf.org/doc/html/rfc9110#name-connect
 */
const CLASSES_BY_STATUS: Readonly<Record<number, EgressErrorClass>> = {
  502: 'connection_refused',
  503: 'connection_refused',
  504: 'connect_timeout',
};

/**
 * Parses `http://user:password@host:port`, where the user name and password are optional and percent-encoded.
 *
 * @throws Error that doesn't contain the URL, because it may contain a password.
 */
export function parseEgressProxy(text: string): EgressProxy {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' || !/^http:\/\//i.test(text))
    throw new Error('must be an http:// URL, such as http://user:password@proxy.example:3128');
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') throw new Error('must have nothing after the port');
  const { username, password } = url;
  const credentials = username || password ? `${decoded(username)}:${decoded(password)}` : undefined;
  const authorization = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  return { hostname: hostnameOf(url), port: portOf(url), authorization };
}

/**
 * Creates a function that asks the proxy to connect to an address (`CONNECT`, RFC 9110 §9.3.6). The proxy never gets a
 * name, so it can't resolve one to an address that wasn't checked. The connection to the proxy itself is always
 * allowed.
 *
 * The function throws an EgressError: `proxy_error` if the proxy can't be reached or refuses, and otherwise the class
 * for a server that can't be reached. Failures of the proxy are logged, at most once a minute.
 */
export function createTunnels(
  proxy: EgressProxy,
  { log, timeoutMilliseconds }: { log: ProxyLog; timeoutMilliseconds: number },
): OpenTunnel {
  const { hostname, port, authorization } = proxy;
  let loggedAt = Number.NEGATIVE_INFINITY;

  function failure(cause: unknown, detail: string): EgressError {
    if (performance.now() - loggedAt >= LOG_MILLISECONDS) {
      loggedAt = performance.now();
      log.warn({ proxy: `${hostname}:${port}`, err: cause }, `the proxy for outgoing requests ${detail}`);
    }
    return new EgressError('proxy_error', { cause });
  }

  return async (targetAddress, targetPort) => {
    const authority = `${isIPv6(targetAddress) ? `[${targetAddress}]` : targetAddress}:${targetPort}`;
    const headers = {
      host: authority,
      connection: 'keep-alive',
      ...(authorization && { 'proxy-authorization': authorization }),
    };
    const options = { host: hostname, port, method: 'CONNECT', path: authority, headers, agent: false };
    const { response, socket, head } = await connectTunnel(options, timeoutMilliseconds).catch((error) => {
      throw error instanceof EgressError ? error : failure(error, "can't be reached");
    });
    const { statusCode = 0 } = response;
    // None of the servers that we connect to sends data first, so anything that follows comes from the proxy.
    if (statusCode >= 200 && statusCode < 300 && head.length === 0) return socket;
    socket.destroy();
    const errorClass = CLASSES_BY_STATUS[statusCode];
    if (!errorClass) throw failure(undefined, `responded with status ${statusCode}`);
    throw new EgressError(errorClass, { cause: new Error(`The proxy responded with status ${statusCode}`) });
  };
}

type TunnelResponse = { response: IncomingMessage; socket: Socket; head: Buffer };

/**
 * @throws Error if the proxy can't be reached, and EgressError `connect_timeout` if it doesn't respond in time, because
 *   then it is most likely waiting for the server.
 */
function connectTunnel(options: RequestOptions, timeoutMilliseconds: number): Promise<TunnelResponse> {
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const asked = request(options);
    const timer = setTimeout(() => {
      asked.destroy(isConnected ? new EgressError('connect_timeout') : new Error('timeout'));
    }, timeoutMilliseconds);
    asked.on('socket', (socket) => {
      socket.once('connect', () => {
        isConnected = true;
      });
    });
    asked.on('connect', (response, socket: Socket, head) => {
      clearTimeout(timer);
      // Until undici listens, an error would crash the process.
      socket.on('error', () => {});
      // These are the options that undici sets for the sockets that it opens.
      socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MILLISECONDS);
      resolve({ response, socket, head });
    });
    asked.on('error', (error: Error & { rawPacket?: Buffer }) => {
      clearTimeout(timer);
      // What the proxy sent is logged with the error, and can quote the password.
      delete error.rawPacket;
      reject(error);
    });
    asked.end();
  });
}

/** @throws Error without the text, because it may be a password. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('must have a percent-encoded user name and password');
  }
}
