import type { FastifyInstance } from 'fastify';
import { createRequestHandler, type GatewayOptions, PREFIX } from './handle-request.ts';
import type { RouteTable } from './routing/route-table.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/**
 * Any web page may call a paid route, because there are no cookies to misuse and the payment has its own header.
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'payment-required, payment-response, x-payment-response, tollgate-payment-id, retry-after, x-request-id',
};
const PREFLIGHT = {
  ...CORS,
  'access-control-allow-methods': METHODS.join(', '),
  'access-control-allow-headers': '*, authorization',
  'access-control-max-age': '600',
  allow: [...METHODS, 'OPTIONS'].join(', '),
};

/**
 * Maps requests for a project's own host to the project's prefix. This includes targets that aren't paths, because the
 * rest of this service isn't reachable through that host.
 */
export function rewriteHost(
  routes: Pick<RouteTable, 'projectOfHost'>,
): (request: { url?: string; headers: { host?: string } }) => string {
  return ({ url = '/', headers }) => {
    const projectId = headers.host === undefined ? undefined : routes.projectOfHost(headers.host);
    return projectId === undefined ? url : `${PREFIX}${projectId}${url}`;
  };
}

/** Serves the paid routes: `/gateway/{projectId}/{path}`, and every path on a project's own host. */
export function registerGateway(app: FastifyInstance, options: GatewayOptions): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // Request bodies stream through to the upstreams unread.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    const handle = createRequestHandler(options);
    const config = { cors: false };
    for (const url of ['/gateway/:projectId', '/gateway/:projectId/*']) {
      scope.route({
        method: [...METHODS],
        url,
        config,
        exposeHeadRoute: false,
        handler: (request, reply) => handle(request, reply.headers(CORS)),
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
