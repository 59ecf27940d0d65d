import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, notFound } from '../errors.ts';
import { isId } from '../ids.ts';
import { type FailedCredentials, sourceOf } from '../limits/failed-credentials.ts';
import type { Network } from './chain/networks.ts';
import { fingerprintOf } from './payment/fingerprint.ts';
import { unmetTerm } from './payment/match-terms.ts';
import type { PaidRequest } from './payment/paid-request.ts';
import { readPaymentHeader } from './payment/payment-header.ts';
import { paymentRequired, wantsPage } from './payment/payment-required.ts';
import type { HeldResponse } from './payment/response-memory.ts';
import { type Resource, resourceOf } from './payment/terms.ts';
import type { QuickDemands } from './quick-demands.ts';
import { canonicalRequest } from './routing/canonical-request.ts';
import { isHostMapped, PREFIX, type PublicAddress, publicAddressOf } from './routing/public-address.ts';
import type { PaidRoute, RouteTable } from './routing/route-table.ts';
import type { GatewayResponse } from './upstream/gateway-response.ts';
import { requestHeaders } from './upstream/headers.ts';
import { publicLocation } from './upstream/location.ts';
import { checkFraming, hasBody, isUndrained } from './upstream/request-body.ts';
import { paceResponse, type ResponsePacing } from './upstream/response-pacing.ts';
import { upstreamTarget } from './upstream/target.ts';

const MAX_KEY_CHARACTERS = 255;
/** Removes all permissions from documents that sellers serve from this service's host. */
const SANDBOXED = { 'content-security-policy': 'sandbox' };

export type GatewayOptions = {
  routes: RouteTable;
  network: Network;
  pay(request: PaidRequest): Promise<GatewayResponse>;
  /** Counts rejected payments by client address. */
  refusedPayments: FailedCredentials;
  /** Opens a request's share of the response memory for this address. */
  responseMemory(address: string): HeldResponse;
  /** How fast buyers must read responses. Optional. */
  responsePacing?: ResponsePacing | undefined;
  quickDemands: QuickDemands;
  /** This service's public URL, if it is known. */
  publicUrl: string | undefined;
  now?: () => Date;
};

/** `version`: the version of the routes, if the response depends on nothing but them and the target. */
type Responded = GatewayResponse & { version?: number | undefined };

/** Handles one request for a paid route: finds the route, reads the payment, and responds. */
export function createRequestHandler(options: GatewayOptions) {
  const { routes, network, pay, refusedPayments, responseMemory, publicUrl, responsePacing, quickDemands } = options;
  const { now = () => new Date() } = options;

  async function respond(request: FastifyRequest, gone: AbortSignal, held: HeldResponse): Promise<Responded> {
    const { projectId, rest } = splitTarget(request.raw.url ?? '');
    const requested = canonicalRequest(rest);
    if (!requested.ok) throw new AppError('BAD_REQUEST', { detail: `Invalid path. ${requested.message}` });
    const version = routes.version(projectId);
    const route = isId('Project', projectId) ? await routes.find(projectId, requested.segments) : undefined;
    if (!route) throw notFound();
    const target = upstreamTarget(route.upstream, route.pattern, requested.segments, requested.query);
    if (!target.ok) throw new AppError('BAD_REQUEST', { detail: target.message });

    const address = publicAddressOf(request, projectId, publicUrl);
    const resource = resourceOf(route, address.base + requested.path);
    const demand = (error: string) => demandOf(network, route, resource, request, error);
    const header = readPaymentHeader(request.raw.headers);
    if (header.kind === 'none') return { ...demand('Payment is required.'), version };
    if (header.kind === 'malformed') throw new AppError('PAYMENT_MALFORMED', { detail: header.message });
    if (header.kind === 'unsupported') return demand('unsupported_scheme');
    checkFraming(request.raw);
    return pay({
      route,
      resource,
      method: request.method,
      target: { ...target, publicLocation: (location) => publicLocation(location, { route, target, address }) },
      headers: headersFor(request, route, address),
      body: hasBody(request.raw) ? request.raw : null,
      payment: header.payment,
      unmet: unmetTerm(network, route, header.payment, now()),
      fingerprint: fingerprintOf({
        projectId,
        method: request.method,
        target: requested.path + requested.query,
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

  return async (request: FastifyRequest, reply: FastifyReply) => {
    const held = responseMemory(request.ip);
    const closed = new Promise<void>((resolve) => reply.raw.once('close', resolve));
    const { statusCode, headers, body, version } = await respond(request, goneSignal(reply), held)
      .catch((error) => failed(request, error))
      .finally(() => {
        if (isUndrained(request.raw)) reply.header('connection', 'close');
        closed.then(held.release);
      });
    paceResponse(reply.raw, Buffer.byteLength(body), responsePacing);
    // The gateway's own pages have a stricter policy.
    const policy = isHostMapped(request) || headers['content-security-policy'] ? {} : SANDBOXED;
    reply.code(statusCode).headers({ ...headers, ...policy });
    if (version !== undefined) {
      quickDemands.remember(request, {
        headers: reply.getHeaders() as OutgoingHttpHeaders,
        body: body.toString(),
        version,
      });
    }
    return reply.send(body);
  };
}

/** Handles our own faults, such as an unreachable database. Errors after a payment is claimed are handled in `pay`. */
function failed(request: FastifyRequest, error: unknown): never {
  if (error instanceof AppError) throw error;
  request.log.error({ err: error }, 'a request for a paid route failed');
  throw new AppError('UNAVAILABLE', { retryAfterSeconds: 1, cause: error });
}

/** Splits a target into the project and the rest, which stays byte for byte as it arrived. */
function splitTarget(target: string): { projectId: string; rest: string } {
  if (!target.startsWith(PREFIX)) throw new AppError('BAD_REQUEST', { detail: 'The request target must be a path.' });
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
  route: PaidRoute,
  resource: Resource,
  request: FastifyRequest,
  error: string,
): GatewayResponse {
  const isForBrowser = wantsPage(request.raw.headers.accept);
  return { statusCode: 402, ...paymentRequired({ network, route, resource, error, isForBrowser }) };
}

function headersFor(request: FastifyRequest, { forwardedHeaders }: PaidRoute, { host, protocol }: PublicAddress) {
  const headers = requestHeaders(request.raw.headers, forwardedHeaders, { clientAddress: request.ip, host, protocol });
  if (!hasBody(request.raw)) delete headers['content-length'];
  return headers;
}

/** What identifies the client that may receive the response again; see `fingerprintOf`. */
function holderOf(request: FastifyRequest): string {
  const key = request.raw.headers['idempotency-key'];
  if (typeof key !== 'string' || key === '') return `address ${sourceOf(request.ip)}`;
  if (key.length > MAX_KEY_CHARACTERS) {
    throw new AppError('BAD_REQUEST', { detail: `Idempotency-Key must be at most ${MAX_KEY_CHARACTERS} characters.` });
  }
  return `key ${key}`;
}

/** Aborted when the connection closes before the response is sent. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
