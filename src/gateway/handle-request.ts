import type { OutgoingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { BuyerUsage } from '../features/payments/steps/count.ts';
import { linger } from '../http/linger.ts';
import { resetConnection } from '../http/reset-connection.ts';
import { isId } from '../ids.ts';
import { type CallFree, type FreeRequest, isNotificationStream } from './call-free.ts';
import { findNetworkIn } from './chain/networks.ts';
import { type Declarations, declarationsOf } from './discovery/declaration.ts';
import type { DetailsStore } from './discovery/details.ts';
import type { DocumentsOf } from './discovery/documents.ts';
import { bodyFor, checkRequest, headersFor } from './forwarded-request.ts';
import { locateTarget } from './locate-target.ts';
import { type McpRequest, readMcpRequest } from './mcp/mcp-request.ts';
import type { MessageLimit } from './mcp/message-limit.ts';
import type { NotificationStreams } from './notification-streams.ts';
import type { BadPayments } from './payment/bad-payments.ts';
import type { CallSlots } from './payment/call-slots.ts';
import { fingerprintOf, holderOf } from './payment/fingerprint.ts';
import type { Lookups } from './payment/lookups.ts';
import { unmetTerm } from './payment/match-terms.ts';
import type { PaidRequest } from './payment/paid-request.ts';
import { readPaymentHeader } from './payment/payment-header.ts';
import { paymentNeeded, paymentRequired, wantsPage } from './payment/payment-required.ts';
import { refusedPaymentHeader } from './payment/payment-response.ts';
import { blockedRefusal, busyRefusal, unpayableRefusal } from './payment/refusals.ts';
import type { BufferedResponse } from './payment/response-memory.ts';
import { type Resource, resourceOf } from './payment/terms.ts';
import type { PaymentRequiredCache } from './payment-required-cache.ts';
import { canonicalRequest } from './routing/canonical-request.ts';
import type { PaidRoute } from './routing/load-routes.ts';
import { isHostMapped, publicAddressOf } from './routing/public-address.ts';
import { requireRoute } from './routing/route-match.ts';
import { findInShare, type RouteTable } from './routing/route-table.ts';
import { splitTarget } from './routing/split-target.ts';
import { serveDocument } from './serve-document.ts';
import { endOf, type GatewayResponse, type PaidResponse } from './upstream/gateway-response.ts';
import { isUndrained } from './upstream/request-body.ts';
import { paceResponse, paceStream, type ResponsePacing } from './upstream/response-pacing.ts';
import { parseUpstream, upstreamTarget } from './upstream/target.ts';
import { RESERVED_BYTES } from './upstream/upstream.ts';

/** A policy that gives no permissions to documents that sellers serve from this service's host. */
const SANDBOXED = { 'content-security-policy': 'sandbox' };

/** Statuses without a body (RFC 9110 §15.3.5, §15.4.5). */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

export type GatewayOptions = {
  routes: RouteTable;
  pay(request: PaidRequest): Promise<PaidResponse>;
  free: CallFree;
  badPayments: BadPayments;
  lookups: Lookups;
  /** Opens a request's share of the response memory, for a client address and a seller's account. */
  responseMemory(address: string, accountId: string): BufferedResponse;
  /** How fast buyers must read responses. Optional. */
  responsePacing?: ResponsePacing | undefined;
  callSlots: CallSlots;
  notificationStreams: NotificationStreams;
  messageLimit: MessageLimit;
  paymentRequiredCache: PaymentRequiredCache;
  details: DetailsStore;
  /** Finds a document that describes a project's endpoints, such as `/openapi.json`. */
  documentsOf: DocumentsOf;
  /** This service's public URL, if known. */
  publicUrl: string | undefined;
  now: () => Date;
};

/** `version`: the version of the routes, if the response depends only on them and the target. */
type Responded = PaidResponse & { version?: number | undefined };

/** What a client learns about its own payment when it is refused. */
type RefusedPayment = Parameters<typeof refusedPaymentHeader>[0];

/** `end` closes the connection. `memoryFor` opens the request's share of the response memory. */
type Connection = Pick<PaidRequest, 'gone' | 'closed'> & {
  memoryFor(accountId: string): BufferedResponse;
  end(): void;
};

/** Handles one request for a paid route: finds the route, reads the payment, and responds. */
export function createRequestHandler(options: GatewayOptions) {
  const { routes, pay, free, badPayments, responseMemory, publicUrl, responsePacing, paymentRequiredCache } = options;
  const { callSlots, notificationStreams, messageLimit, lookups, details, documentsOf, now } = options;

  async function respond(request: FastifyRequest, { gone, closed, memoryFor, end }: Connection): Promise<Responded> {
    const { projectId, rest, written } = splitTarget(request.raw.url ?? '');
    const requested = canonicalRequest(rest);
    if (!requested.ok) throw new AppError('BAD_REQUEST', { detail: `Invalid path. ${requested.message}` });
    const version = routes.version(projectId);
    const { lookUp } = lookups(request.ip, gone);
    const find = () => routes.find(projectId, requested.segments, request.method);
    const found = isId('Project', projectId) ? await findInShare(routes, projectId, find, lookUp) : undefined;
    if (!found) {
      return serveDocument(request, projectId, requested.path, { documentsOf, publicUrl, memoryFor, lookUp, end });
    }
    const route = requireRoute(found);
    // It isn't kept with the route: a project can have many routes, and parsed URLs can take a lot of memory.
    const upstream = parseUpstream(route.upstreamUrl);
    const target = upstreamTarget(upstream, route.pattern, requested.segments, requested.query);
    if (!target.ok) throw new AppError('BAD_REQUEST', { detail: target.message });
    const memory = memoryFor(route.accountId);
    const address = publicAddressOf(request, projectId, publicUrl);
    // The facilitator gets the canonical URL without the query: it may list the URL in a public catalog, and queries can
    // contain personal data.
    const resource = resourceOf(route, address.base + requested.path);
    // Some clients pay only if this is exactly the URL that they requested.
    const offered = { ...resource, url: address.base + written };
    const described = details.of(route);
    const about = { method: request.method, base: address.base, segments: requested.segments };
    const known = described instanceof Promise ? await described : described;
    const declarations = declarationsOf(route, known, about, (bytes) => details.countDeclared(route, known, bytes));
    const paymentRequired = (error: string, refused: RefusedPayment | undefined, usage?: BuyerUsage) => {
      if (route.isBlocked) throw blockedRefusal();
      // Without the credentials, the upstream would reject the requests that buyers are asked to pay for.
      route.credentials();
      const terms = { resource: offered, declarations, error, usage };
      const { headers, ...response } = paymentRequiredOf(route, terms, request);
      return { ...response, headers: { ...headers, ...(refused && refusedPaymentHeader(refused, error)) } };
    };
    const forwarded = (mcp?: McpRequest): FreeRequest => ({
      route,
      method: request.method,
      target: locateTarget({
        origin: target.origin,
        path: target.path,
        upstream,
        route,
        address,
        method: request.method,
        segments: requested.segments,
        routes,
      }),
      headers: () => headersFor(request, route, address, mcp),
      body: bodyFor(request, mcp),
      gone,
      closed,
      memory,
    });
    const serveFree = async (mcp?: McpRequest) => {
      if (route.isBlocked) throw blockedRefusal();
      await free.admit(request.ip, route);
      memory.mayDrop(end);
      const sent = forwarded(mcp);
      if (isNotificationStream(sent)) {
        const leave = notificationStreams.take(route.accountId, target.origin, request.ip, end);
        if (!leave) throw busyRefusal({});
        closed.then(leave);
      }
      return free.callFree(sent);
    };
    const isFree = route.priceAtomic === 0n;
    const isPaidMcp = route.protocol === 'MCP' && !isFree;
    if (isPaidMcp) checkRequest(request, route);
    const mcp = isPaidMcp ? await readMcpRequest(request, memory, messageLimit, gone) : undefined;
    if (mcp?.kind === 'free') return serveFree(mcp);
    const header = readPaymentHeader(request.raw.headers);
    if (isFree) {
      checkRequest(request, route);
      if (header.kind !== 'payment') return serveFree();
    }
    if (header.kind === 'none') return { ...paymentRequired(paymentNeeded(route), undefined), version };
    if (header.kind === 'malformed') throw new AppError('PAYMENT_MALFORMED', { detail: header.message });
    if (header.kind === 'unsupported') return paymentRequired('unsupported_scheme', header);
    const refused: RefusedPayment = { ...header.payment, payer: header.payment.authorization.from };
    const network = findNetworkIn(header.payment.x402Version, header.payment.network);
    if (!network) return isFree ? serveFree() : paymentRequired('invalid_network', refused);
    checkRequest(request, route);
    const counted = badPayments(request.ip, projectId);
    let leave: (() => void) | undefined;
    const response = pay({
      ...forwarded(mcp),
      toolCallId: mcp?.callId,
      ...counted,
      lookUp,
      resource,
      declarations,
      payment: header.payment,
      network,
      // A free route takes no payments, but the payment may have been made for this request while the route had a
      // price. A buyer who has already paid a blocked seller still gets the response.
      unmet: isFree ? 'free' : route.isBlocked ? 'blocked' : unmetTerm(network, route, header.payment, now()),
      fingerprint: fingerprintOf({
        projectId,
        method: request.method,
        target: requested.path + requested.query,
        holder: holderOf(request),
        payment: header.payment,
      }),
      bodyDigest: mcp?.digest,
      paymentRequired: isFree ? () => serveFree() : (error, usage) => paymentRequired(error, refused, usage),
      reserve: async () => {
        route.credentials();
        const attempt = await counted.reserve();
        // If the client's address has no memory or calls left, the payment is rejected before it is verified, so it can
        // be sent again.
        if (memory.hasAddressCapacity(RESERVED_BYTES))
          leave = callSlots.take(route.accountId, target.origin, request.ip);
        if (leave) return attempt;
        attempt.giveBack();
        throw busyRefusal({});
      },
    });
    endOf(response).then(() => leave?.());
    return response;
  }

  return async (request: FastifyRequest, reply: FastifyReply) => {
    let buffered: BufferedResponse | undefined;
    const closed = new Promise<void>((resolve) => reply.raw.once('close', resolve));
    const end = () => resetConnection(reply.raw);
    const { statusCode, headers, body, version } = await respond(request, {
      gone: goneSignal(reply),
      closed,
      memoryFor: (accountId) => (buffered = responseMemory(request.ip, accountId)),
      end,
    })
      .catch((error) => failed(request, error))
      .finally(() => {
        if (isUndrained(request.raw)) {
          reply.header('connection', 'close');
          linger(request.raw);
        }
        closed.then(() => buffered?.release());
      });
    // The gateway's own pages have a stricter policy.
    const policy = isHostMapped(request) || headers['content-security-policy'] ? {} : SANDBOXED;
    reply.code(statusCode).headers({ ...headers, ...policy });
    if (body instanceof Readable) return sendStream(reply, body, responsePacing);
    // A response that was paid for is stored, so the buyer can get it again.
    buffered?.waitForBuyer(end);
    paceResponse(reply.raw, Buffer.byteLength(body), responsePacing);
    if (version !== undefined) {
      paymentRequiredCache.remember(request, {
        headers: reply.getHeaders() as OutgoingHttpHeaders,
        body: body.toString(),
        version,
      });
    }
    return isBodiless(request, statusCode, body) ? reply.send() : reply.send(body);
  };
}

/**
 * Whether only what the upstream sent may describe the body. Fastify would add the length and media type of an empty one
 * (RFC 9110 §8.6, §15.3.5, §15.4.5).
 */
function isBodiless({ method }: FastifyRequest, statusCode: number, body: string | Buffer): boolean {
  return BODILESS.has(statusCode) || (method === 'HEAD' && body.length === 0);
}

/** Sends a body while it is still arriving, only as fast as the buyer reads it. */
function sendStream(reply: FastifyReply, body: Readable, pacing: ResponsePacing | undefined): FastifyReply {
  if (reply.request.method === 'HEAD' || BODILESS.has(reply.statusCode)) {
    body.resume();
    return reply.send();
  }
  paceStream(reply.raw, pacing);
  const { socket } = reply.raw;
  // A server that is closing waits for its connections to end, and buyers would keep them open.
  reply.raw.once('finish', () => {
    if (!reply.server.server.listening) socket?.end();
  });
  reply.send(body);
  // Sends the headers now, because the first chunk may come much later. Not with `flushHeaders`, which encodes their values
  // as UTF-8 instead of Latin-1.
  reply.raw.write(Buffer.alloc(0));
  return reply;
}

/** Handles our own faults, such as an unreachable database. Errors after a payment is claimed are handled in `pay`. */
function failed(request: FastifyRequest, error: unknown): never {
  if (error instanceof AppError) throw error;
  request.log.error({ err: error }, 'a request for a paid route failed');
  throw new AppError('UNAVAILABLE', { retryAfterSeconds: 1, cause: error });
}

function paymentRequiredOf(
  route: PaidRoute,
  terms: { resource: Resource; declarations: Declarations; error: string; usage?: BuyerUsage | undefined },
  request: FastifyRequest,
): GatewayResponse {
  if (route.networks.length === 0) throw unpayableRefusal();
  const isForBrowser = wantsPage(request.raw.headers);
  return { statusCode: 402, ...paymentRequired({ route, ...terms, isForBrowser }) };
}

/** Aborted when the connection closes before the response is sent. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
