import http from 'node:http';
import https from 'node:https';

/**
 * Sends every `https.request` to a loopback server over plain HTTP until disposed, for libraries with a fixed address.
 * The Host header is still the vendor's.
 */
export function redirectHttps(port: number): Disposable {
  const original = https.request;
  function request(...args: [string | URL | https.RequestOptions, ...unknown[]]) {
    const [target, ...rest] = args;
    const given = rest.find((value) => typeof value === 'object') as https.RequestOptions | undefined;
    const callback = rest.find((value) => typeof value === 'function') as
      | ((response: http.IncomingMessage) => void)
      | undefined;
    const options = typeof target === 'string' || target instanceof URL ? fromUrl(new URL(target), given) : target;
    const vendorHost = options.hostname ?? options.host ?? 'localhost';
    return http.request(
      {
        method: options.method,
        path: options.path,
        headers: { host: vendorHost, ...(options.headers as http.OutgoingHttpHeaders) },
        host: '127.0.0.1',
        port,
      },
      callback,
    );
  }
  https.request = request as unknown as typeof https.request;
  return {
    [Symbol.dispose]: () => {
      https.request = original;
    },
  };
}

function fromUrl(url: URL, options: https.RequestOptions = {}): https.RequestOptions {
  return { hostname: url.hostname, path: url.pathname + url.search, ...options };
}
