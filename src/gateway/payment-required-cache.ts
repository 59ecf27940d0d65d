import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { maskedPath } from '../http/masked-path.ts';
import { requestLogOf } from '../log.ts';
import { createLru } from '../lru.ts';
import { requestIdOf, runInRequest } from '../request-context.ts';
import { isTracing } from '../tracing/tracer.ts';
import { wantsPage } from './payment/payment-required.ts';
import { PREFIX } from './routing/public-address.ts';
import type { RouteTable } from './routing/route-table.ts';

/** A 402 response that was sent before, how it was logged, and the version of the routes that it is based on. */
type CachedResponse = { headers: OutgoingHttpHeaders; body: string; path: string; route: string; version: number };

/** The limit for all projects combined, because anyone can request any target. */
const MAX_TARGETS = 1_000;
const MAX_TARGET_CHARACTERS = 512;
/** Responses with large examples aren't worth the memory. */
const MAX_BODY_CHARACTERS = 8_192;
/** A request with any of these headers needs a different response. */
const SPECIAL = ['payment-signature', 'x-payment', 'content-length', 'transfer-encoding', 'expect', 'upgrade'] as const;
/** Without a public URL, the terms contain what a trusted proxy reports in these headers. */
const REPORTED_BY_PROXIES = ['x-forwarded-host', 'x-forwarded-proto'] as const;

export type PaymentRequiredCache = ReturnType<typeof createPaymentRequiredCache>;

/**
 * Remembers the 402 responses to GET requests without a payment, which are the same for every buyer, and sends them
 * again before doing anything else with a request. A response is valid only while the routes that it was made from are
 * current. The metrics count these responses, but they are logged only at the `debug` level: anyone can cause any
 * number of them, and logging them took a tenth of the gateway's time.
 */
export function createPaymentRequiredCache(options: {
  routes: Pick<RouteTable, 'version' | 'projectOfHost'>;
  /** Without a public URL, requests that come through a proxy are handled as usual. */
  publicUrl: string | undefined;
  log: Logger;
  onResponse(labels: { method: string; route: string; status: number }, seconds: number): void;
}) {
  const { routes, publicUrl, log, onResponse } = options;
  const requestLog = requestLogOf(log);
  const cache = createLru<CachedResponse>(MAX_TARGETS);
  const special = publicUrl === undefined ? [...SPECIAL, ...REPORTED_BY_PROXIES] : SPECIAL;

  function find(host: string, target: string): CachedResponse | undefined {
    const cached = cache.get(keyOf(host, target));
    if (!cached) return undefined;
    const projectId = routes.projectOfHost(host) ?? projectOfTarget(target);
    return projectId !== undefined && routes.version(projectId) === cached.version ? cached : undefined;
  }

  return {
    /** Responds if the response is known. Returns false if it isn't, and the request must be handled as usual. */
    respond(request: IncomingMessage, response: ServerResponse): boolean {
      if (isTracing() || !isPlain(request, special)) return false;
      const cached = find(request.headers.host!, request.url!);
      if (!cached) return false;
      const startedAt = performance.now();
      const requestId = requestIdOf(request);
      response.writeHead(402, { ...cached.headers, 'x-request-id': requestId }).end(cached.body);
      response.once('finish', () => {
        const milliseconds = performance.now() - startedAt;
        const { path, route } = cached;
        if (requestLog.isLevelEnabled('debug')) {
          const facts = { method: 'GET', path, route, status: 402, durationMs: Math.round(milliseconds) };
          runInRequest({ requestId }, () => requestLog.debug(facts, 'request'));
        }
        onResponse({ method: 'GET', route, status: 402 }, milliseconds / 1000);
      });
      return true;
    },

    /** Remembers a response made from this version of the routes. */
    remember(request: FastifyRequest, { headers, body, version }: Omit<CachedResponse, 'path' | 'route'>): void {
      const { raw, originalUrl: target } = request;
      if (target.length > MAX_TARGET_CHARACTERS || body.length > MAX_BODY_CHARACTERS || !isPlain(raw, special)) return;
      cache.set(keyOf(raw.headers.host!, target), {
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        body,
        path: maskedPath(request.url),
        route: request.routeOptions.url!,
        version,
      });
    },
  };
}

const keyOf = (host: string, target: string) => `${host} ${target}`;

/** Whether the response depends only on the host and the target. */
function isPlain(request: IncomingMessage, special: readonly string[]): boolean {
  const { method, httpVersion, headers, rawHeaders } = request;
  if (method !== 'GET' || httpVersion !== '1.1') return false;
  if (special.some((name) => headers[name] !== undefined) || wantsPage(headers)) return false;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts === 1;
}

function projectOfTarget(target: string): string | undefined {
  if (!target.startsWith(PREFIX)) return undefined;
  const end = target.indexOf('/', PREFIX.length);
  return end < 0 ? undefined : target.slice(PREFIX.length, end);
}
