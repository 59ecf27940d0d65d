import { METHODS as HTTP_METHODS } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { notFound } from '../errors.ts';
import { METHODS } from '../features/endpoints/methods.ts';
import { CHALLENGE_PREFIX } from '../features/projects/hosts/proof.ts';
import { hideContentType } from '../http/content-type.ts';
import { refuseCertificateProofs } from './certificate-proofs.ts';
import { createRequestHandler, type GatewayOptions } from './handle-request.ts';
import { PREFIX } from './routing/public-address.ts';
import type { RouteTable } from './routing/route-table.ts';
import { refuseServiceWorkers } from './service-workers.ts';

/**
 * Any web page may call a paid route, because there are no cookies to misuse and the payment has its own header.
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 */
const CORS = {
  'access-control-allow-origin': '*',
  // The wildcard covers every header that the upstream may send. Browsers that don't support it read only the listed
  // names. https://fetch.spec.whatwg.org/#http-access-control-expose-headers
  'access-control-expose-headers': [
    ...['*', 'payment-required', 'payment-response', 'x-payment-response', 'tollgate-payment-id', 'x-request-id'],
    ...['content-disposition', 'etag', 'link', 'location', 'ratelimit', 'ratelimit-policy', 'retry-after'],
    ...['mcp-session-id', 'mcp-protocol-version'],
  ].join(', '),
};
const PREFLIGHT = {
  ...CORS,
  'access-control-allow-methods': METHODS.join(', '),
  'access-control-allow-headers': '*, authorization',
  'access-control-max-age': '600',
  allow: [...METHODS, 'OPTIONS'].join(', '),
};

/** Paid routes respond to these with 405 and the methods that they do have, and Node knows no others. */
const OTHER_METHODS = HTTP_METHODS.filter((method) => ![...METHODS, 'OPTIONS', 'CONNECT'].includes(method));

/**
 * Maps requests for a project's own host to the project's prefix. This includes targets that aren't paths, because the
 * rest of this service isn't reachable through that host.
 */
export function rewriteHost(
  routes: Pick<RouteTable, 'projectOfHost' | 'challengeOf'>,
): (request: { url?: string; headers: { host?: string } }) => string {
  return ({ url = '/', headers }) => {
    const projectId = headers.host === undefined ? undefined : routes.projectOfHost(headers.host);
    if (projectId === undefined || routes.challengeOf(headers.host!, url) !== undefined) return url;
    return `${PREFIX}${projectId}${url}`;
  };
}

/**
 * Serves the paid routes: `/gateway/{projectId}/{path}`, and every path on a project's own host.
 *
 * @param options `gatewayDomain`: the operator's domain for projects, if there is one.
 */
export function registerGateway(
  app: FastifyInstance,
  options: GatewayOptions & { gatewayDomain?: string | undefined },
): void {
  // Without a body, as far as Fastify knows, because it rejects some bodies before it calls a handler.
  for (const method of OTHER_METHODS) app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // Request bodies stream through to the upstreams unread.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    // Whether a media type is acceptable is for the upstream to decide.
    scope.addHook('onRequest', (request, _reply, done) => {
      hideContentType(request);
      done();
    });
    const handle = createRequestHandler(options);
    scope.addHook('preClose', async () => options.notificationStreams.endAll());
    scope.get(`${CHALLENGE_PREFIX}:id`, (request, reply) => {
      const token = options.routes.challengeOf(request.headers.host ?? '', request.raw.url ?? '');
      if (token === undefined) throw notFound();
      return reply.type('text/plain').send(token);
    });
    const config = { cors: false };
    for (const url of ['/gateway/:projectId', '/gateway/:projectId/*']) {
      scope.route({
        method: [...METHODS, ...OTHER_METHODS],
        url,
        config,
        exposeHeadRoute: false,
        handler: (request, reply) => {
          refuseServiceWorkers(request, options.gatewayDomain);
          refuseCertificateProofs(request, options.gatewayDomain);
          return handle(request, reply.headers(CORS));
        },
      });
      scope.route({
        method: 'OPTIONS',
        url,
        config,
        handler: (_request, reply) => reply.code(204).headers(PREFLIGHT).send(),
      });
    }
  });
}
