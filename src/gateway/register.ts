import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, notFound } from '../errors.ts';
import { isId } from '../ids.ts';
import { type FailedCredentials, sourceOf } from '../limits/failed-credentials.ts';
import type { Network } from './chain/networks.ts';
import type { HeldAnswer } from './payment/answer-memory.ts';
import { fingerprintOf } from './payment/fingerprint.ts';
import { unmetTerm } from './payment/match-terms.ts';
import type { PaidRequest } from './payment/paid-request.ts';
import { readPaymentHeader } from './payment/payment-header.ts';
import { paymentRequired, wantsPage } from './payment/payment-required.ts';
import { type Resource, resourceOf } from './payment/terms.ts';
import { canonicalRequest } from './routing/canonical-request.ts';
import type { Route, RouteTable } from './routing/route-table.ts';
import type { GatewayAnswer } from './upstream/answer.ts';
import { type DeliveryLimits, limitDelivery } from './upstream/answer-delivery.ts';
import { requestHeaders } from './upstream/headers.ts';
import { checkFraming, hasBody, isUndrained } from './upstream/request-body.ts';
import { upstreamTarget } from './upstream/target.ts';

const PREFIX = '/gateway/';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const MAX_KEY_CHARACTERS = 255;

/**
 * Any page may call a paid route: there are no cookies that could be misused, and the payment is in a header of its own.
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
/** What sellers serve under the host of this service runs with no rights there. */
const SANDBOXED = { 'content-security-policy': 'sandbox' };

export type GatewayOptions = {
  routes: RouteTable;
  network: Network;
  pay(request: PaidRequest): Promise<GatewayAnswer>;
  /** Counts payments that were refused, by address. */
  refusedPayments: FailedCredentials;
  /** Opens the share that a request of this address has of the memory for answers. */
  answerMemory(address: string): HeldAnswer;
  /** How fast answers must be read, if not as usual. */
  deliveryLimits?: DeliveryLimits | undefined;
  /** Address under which users reach this service, if it is not that of the request. */
  publicUrl: string | undefined;
  now?: () => Date;
};

/**
 * Where a request whose host belongs to a project goes: as if it had been asked for under the project's prefix. That holds
 * for targets that are no path, too: under that host there is nothing else of this service.
 */
export function rewriteHost(
  routes: Pick<RouteTable, 'projectOfHost'>,
): (request: { url?: string; headers: { host?: string } }) => string {
  return ({ url = '/', headers }) => {
    const projectId = headers.host === undefined ? undefined : routes.projectOfHost(headers.host);
    return projectId === undefined ? url : `${PREFIX}${projectId}${url}`;
  };
}

/** Serves the paid routes: `/gateway/{projectId}/{path}`, and all paths of a host that belongs to a project. */
export function registerGateway(app: FastifyInstance, options: GatewayOptions): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // Bodies are the upstreams' to read: they stream through.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    const config = { cors: false };
    for (const url of ['/gateway/:projectId', '/gateway/:projectId/*']) {
      scope.route({ method: [...METHODS], url, config, exposeHeadRoute: false, handler: createHandler(options) });
      scope.route({
        method: 'OPTIONS',
        url,
        config,
        handler: (_request, reply) => reply.code(204).headers(PREFLIGHT).send(),
      });
    }
  });
}

function createHandler(options: GatewayOptions) {
  const { routes, network, pay, refusedPayments, answerMemory, publicUrl, deliveryLimits } = options;
  const { now = () => new Date() } = options;

  async function answer(request: FastifyRequest, gone: AbortSignal, held: HeldAnswer): Promise<GatewayAnswer> {
    const { projectId, rest } = splitTarget(request.raw.url ?? '');
    const asked = canonicalRequest(rest);
    if (!asked.ok) throw new AppError('BAD_REQUEST', { detail: `The path is refused. ${asked.message}` });
    const route = isId('Project', projectId) ? await routes.find(projectId, asked.segments) : undefined;
    if (!route) throw notFound();
    const target = upstreamTarget(route.upstream, route.pattern, asked.segments, asked.query);
    if (!target.ok) throw new AppError('BAD_REQUEST', { detail: target.message });

    const resource = resourceOf(route, resourceUrl(request, route, asked.path));
    const demand = (error: string) => demandOf(network, route, resource, request, error);
    const header = readPaymentHeader(request.headers);
    if (header.kind === 'none') return demand('Payment is required.');
    if (header.kind === 'malformed') throw new AppError('PAYMENT_MALFORMED', { detail: header.message });
    if (header.kind === 'unsupported') return demand('unsupported_scheme');
    checkFraming(request.raw);
    return pay({
      route,
      resource,
      method: request.method,
      target,
      headers: headersFor(request),
      body: hasBody(request.raw) ? request.raw : null,
      payment: header.payment,
      unmet: unmetTerm(network, route, header.payment, now()),
      fingerprint: fingerprintOf({
        projectId,
        method: request.method,
        target: asked.path + asked.query,
        holder: holderOf(request),
        payment: header.payment,
      }),
      demand,
      reserve: () => refusedPayments.reserve(request.ip),
      onUnpaid: () => refusedPayments.record(request.ip),
      gone,
      hold: held.take,
    });
  }

  function resourceUrl(request: FastifyRequest, route: Route, path: string): string {
    const own = `${request.protocol}://${request.host}`;
    return isHostMapped(request) ? own + path : `${publicUrl ?? own}${PREFIX}${route.projectId}${path}`;
  }

  return async (request: FastifyRequest, reply: FastifyReply) => {
    reply.headers(CORS);
    const held = answerMemory(request.ip);
    const closed = new Promise<void>((resolve) => reply.raw.once('close', resolve));
    const { statusCode, headers, body } = await answer(request, goneSignal(reply), held)
      .catch((error) => failed(request, error))
      .finally(() => {
        if (isUndrained(request.raw)) reply.header('connection', 'close');
        closed.then(held.release);
      });
    limitDelivery(reply.raw, Buffer.byteLength(body), deliveryLimits);
    // A page of the gateway's own has a stricter policy.
    const policy = isHostMapped(request) || headers['content-security-policy'] ? {} : SANDBOXED;
    return reply
      .code(statusCode)
      .headers({ ...headers, ...policy })
      .send(body);
  };
}

/** Faults of our own, such as a database that cannot be reached. A payment that was claimed answers for itself. */
function failed(request: FastifyRequest, error: unknown): never {
  if (error instanceof AppError) throw error;
  request.log.error({ err: error }, 'a request for a paid route could not be answered');
  throw new AppError('UNAVAILABLE', { retryAfterSeconds: 1, cause: error });
}

/** The project that a target names, and the rest of it, byte by byte as it arrived. */
function splitTarget(target: string): { projectId: string; rest: string } {
  if (!target.startsWith(PREFIX)) throw new AppError('BAD_REQUEST', { detail: 'Write the target as a path alone.' });
  const end = target.slice(PREFIX.length).search(/[/?]/);
  if (end < 0) return { projectId: target.slice(PREFIX.length), rest: '/' };
  const rest = target.slice(PREFIX.length + end);
  return {
    projectId: target.slice(PREFIX.length, PREFIX.length + end),
    rest: rest.startsWith('/') ? rest : `/${rest}`,
  };
}

function demandOf(
  network: Network,
  route: Route,
  resource: Resource,
  request: FastifyRequest,
  error: string,
): GatewayAnswer {
  const isForBrowser = wantsPage(request.headers.accept);
  return { statusCode: 402, ...paymentRequired({ network, route, resource, error, isForBrowser }) };
}

function isHostMapped(request: FastifyRequest): boolean {
  return request.originalUrl !== request.raw.url;
}

function headersFor(request: FastifyRequest) {
  const { ip: clientAddress, host, protocol } = request;
  const headers = requestHeaders(request.headers, { clientAddress, host, protocol });
  if (!hasBody(request.raw)) delete headers['content-length'];
  return headers;
}

/** Who may have the answer again, see `fingerprintOf`. */
function holderOf(request: FastifyRequest): string {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string' || key === '') return `address ${sourceOf(request.ip)}`;
  if (key.length > MAX_KEY_CHARACTERS) {
    throw new AppError('BAD_REQUEST', { detail: `An Idempotency-Key has at most ${MAX_KEY_CHARACTERS} characters.` });
  }
  return `key ${key}`;
}

/** Aborted when the connection closes before the answer is out. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
