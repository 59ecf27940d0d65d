import type { IncomingMessage, Server } from 'node:http';
import cors from '@fastify/cors';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from 'pino';
import type { Viewer } from '../auth/viewer.ts';
import { AppError } from '../errors.ts';
import { requestLogOf } from '../log.ts';
import { clientOf, requestIdOf, runInRequest } from '../request-context.ts';
import type { Client, TrustedProxies } from './client-address.ts';
import { type AllowedOrigins, corsOptions } from './cors.ts';
import { ignoreTypeOfEmptyBody } from './empty-body.ts';
import { continueWhenRead } from './expect-continue.ts';
import { BODY_LIMIT_BYTES, createFileBodyHook } from './file-bodies.ts';
import { joinChunks } from './joined-chunks.ts';
import { parseJsonBody } from './json-body.ts';
import { linger } from './linger.ts';
import { maskedPath } from './masked-path.ts';
import { useOriginForm } from './origin-form.ts';
import { limitPipelines } from './pipelines.ts';
import { errorHeaders, PROBLEM_MEDIA_TYPE, toAppError, toProblem } from './problem.ts';
import { closeConnectionWith } from './queued-response.ts';
import { takeRequestTurns } from './request-turns.ts';
import { traceRequest } from './trace-request.ts';
import { closeUnread } from './unread.ts';
import { respondToUnreadable } from './unreadable.ts';
import { asksForSocket, closeAfterIgnoredUpgrade } from './upgrades.ts';

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer | undefined;
    /** Whether `ip` is a proxy's address; see `Client`. */
    isAddressShared: Client['isAddressShared'];
  }
}

/** The whole request must arrive within this time, so slow senders can't tie up connections. */
const REQUEST_TIMEOUT_MILLISECONDS = 30_000;
/** How often to check for requests that take longer. */
const REQUEST_CHECK_MILLISECONDS = 2_000;
/**
 * Load balancers close idle connections sooner than this, so they never send a request on a connection that is
 * closing.
 */
const KEEP_ALIVE_MILLISECONDS = 90_000;

/** Anyone can request any path, so the log mustn't grow as fast as requests arrive. */
const MAX_LOGGED_PATH_CHARACTERS = 500;

/** How often a server that is stopping closes the connections whose last request has ended. */
const IDLE_CHECK_MILLISECONDS = 100;

const STOPPING = 'This process is stopping. Nothing was changed. Retry, and another process will respond.';

/** The HTTP server, which handles bodies, request IDs, logs, and error responses in the same way for all routes. */
export function createHttpServer(options: {
  log: Logger;
  allowedOrigins: AllowedOrigins;
  /** Headers that any other proxy could have set are ignored. */
  proxies: TrustedProxies;
  /** Where clients find the documentation, if it is known. */
  publicUrl: string | undefined;
  /** Returns the path that is used to route a request. */
  rewriteUrl(request: IncomingMessage): string;
  onResponse(request: FastifyRequest, reply: FastifyReply): void;
}): FastifyInstance {
  const { log, publicUrl, proxies } = options;
  const rewriteUrl = (request: IncomingMessage) => {
    useOriginForm(request);
    return options.rewriteUrl(request);
  };
  const requestLog = requestLogOf(log);
  const app: FastifyInstance = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // The logger already adds the request ID to every line.
    childLoggerFactory: (logger) => logger,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MILLISECONDS,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    forceCloseConnections: 'idle',
    // A hook rejects them with a proper response.
    return503OnClosing: false,
    trustProxy: proxies.trusts,
    rewriteUrl,
    genReqId: requestIdOf,
    routerOptions: { maxParamLength: 200 },
    // The path can't exist, because no ID is that long. No hook has run yet.
    frameworkErrors: (error, request, reply) =>
      sendProblem(
        new AppError(error.code === 'FST_ERR_MAX_PARAM_LENGTH' ? 'NOT_FOUND' : 'BAD_REQUEST'),
        request,
        reply,
      ),
    clientErrorHandler: (error, socket) => respondToUnreadable(error, socket, publicUrl),
    http: {
      // By default, Node sends an empty response if the header is missing. The onRequest hook returns a proper error.
      requireHostHeader: false,
      // Node applies the larger of the two timeouts to the whole request, and checks every 30 s by default.
      headersTimeout: REQUEST_TIMEOUT_MILLISECONDS,
      connectionsCheckingInterval: REQUEST_CHECK_MILLISECONDS,
      // Processes without the role that serves the socket have no listener.
      shouldUpgradeCallback: (request) =>
        app.server.listenerCount('upgrade') > 0 && asksForSocket(request, rewriteUrl(request)),
    },
  }) as unknown as FastifyInstance;
  continueWhenRead(app.server);
  limitPipelines(app.server);
  joinChunks(app.server);
  closeAfterIgnoredUpgrade(app.server);
  closeUnread(app.server);
  takeRequestTurns(app.server, (request) => proxies.clientOf(request).address);

  app.register(cors, {
    delegator: (request, done) => done(null, corsOptions(request, options.allowedOrigins)),
  });
  app.addHook('preParsing', createFileBodyHook());
  app.removeAllContentTypeParsers();
  ignoreTypeOfEmptyBody(app);
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      done(null, parseJsonBody(request, body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });

  // Registered first, so that a stream that a later hook ends can't be reopened here.
  let isStopping = false;
  app.addHook('preClose', async () => {
    isStopping = true;
    closeIdleConnectionsUntilClosed(app.server);
  });
  app.decorateRequest('viewer', undefined);
  app.decorateRequest('isAddressShared', false);
  app.addHook('onRequest', (request, reply, done) => {
    closeConnectionWith(reply.raw, request.raw);
    const client = proxies.clientOf(request.raw);
    // Fastify's own `ip` can be any text in `X-Forwarded-For`, and is lost when the connection is closed.
    Object.defineProperty(request, 'ip', { value: client.address });
    request.isAddressShared = client.isAddressShared;
    reply.headers(commonHeaders(request));
    if (isStopping) throw new AppError('UNAVAILABLE', { detail: STOPPING, retryAfterSeconds: 1 });
    if (!hasOneHost(request)) throw new AppError('BAD_REQUEST', { detail: 'Send exactly one `Host` header.' });
    // This comes before the body is read, so an unknown path gets 404 no matter what the body is.
    if (request.is404) throw new AppError('NOT_FOUND');
    runInRequest({ requestId: request.id, client: clientOf(request) }, () => traceRequest(request, reply, done));
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { viewer } = request;
    requestLog.info(
      {
        method: request.method,
        path: maskedPath(request.url).slice(0, MAX_LOGGED_PATH_CHARACTERS),
        route: request.routeOptions.url,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
        userId: viewer?.userId,
        apiKeyId: viewer?.kind === 'apiKey' ? viewer.apiKeyId : undefined,
      },
      'request',
    );
    options.onResponse(request, reply);
    done();
  });
  app.setErrorHandler((error, request, reply) => sendProblem(toAppError(error, request.log as Logger), request, reply));
  app.setNotFoundHandler((request, reply) => sendProblem(new AppError('NOT_FOUND'), request, reply));
  return app;

  function sendProblem(error: AppError, request: FastifyRequest, reply: FastifyReply) {
    linger(request.raw);
    const problem = toProblem(error, { instance: maskedPath(request.url), requestId: request.id, publicUrl });
    return reply
      .code(error.status)
      .headers({ ...commonHeaders(request), ...errorHeaders(error) })
      .type(PROBLEM_MEDIA_TYPE)
      .send(JSON.stringify(problem));
  }
}

/**
 * A server that stops closes only the connections that are idle at that moment. Clients keep the others open after the
 * response to their last request, and the process would wait for them until it has to exit.
 */
function closeIdleConnectionsUntilClosed(server: Server): void {
  if (!server.listening) return;
  const timer = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MILLISECONDS);
  server.once('close', () => clearInterval(timer));
}

function commonHeaders(request: FastifyRequest) {
  return { 'x-request-id': request.id, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
}

/** Programs disagree on how to handle several Host headers (RFC 9112 §3.2). HTTP/1.0 doesn't require one. */
function hasOneHost({ raw }: FastifyRequest): boolean {
  const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0');
}
