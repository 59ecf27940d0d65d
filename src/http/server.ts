import { randomUUID } from 'node:crypto';
import cors from '@fastify/cors';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { Logger } from 'pino';
import type { Viewer } from '../auth/viewer.ts';
import { AppError } from '../errors.ts';
import { errorHeaders, PROBLEM_MEDIA_TYPE, toAppError, toProblem } from './problem.ts';
import { runInRequest } from './request-context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    viewer: Viewer | undefined;
  }
}

const BODY_LIMIT_BYTES = 256 * 1024;
/** A request must have arrived whole after this, so that slow senders cannot hold connections. */
const REQUEST_TIMEOUT_MILLISECONDS = 30_000;
const KEEP_ALIVE_MILLISECONDS = 72_000;
const MAX_JSON_DEPTH = 64;
const REQUEST_ID = /^[\w.-]{8,64}$/;

/** The HTTP server: bodies, request ids, logs and error answers, the same for all routes. */
export function createHttpServer(options: {
  log: Logger;
  corsOrigins: string[];
  trustedProxies: string[];
  onAnswer(request: FastifyRequest, reply: FastifyReply): void;
}): FastifyInstance {
  const { log } = options;
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // The log adds the request id to every line by itself.
    childLoggerFactory: (logger) => logger,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MILLISECONDS,
    keepAliveTimeout: KEEP_ALIVE_MILLISECONDS,
    forceCloseConnections: 'idle',
    trustProxy: options.trustedProxies.length > 0 ? options.trustedProxies.map(checkCidr) : false,
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : `req_${randomUUID()}`;
    },
    routerOptions: { maxParamLength: 200 },
    frameworkErrors: (error, request, reply) =>
      sendProblem(new AppError('BAD_REQUEST', { cause: error }), request, reply),
    clientErrorHandler(_error, socket) {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    },
  }) as unknown as FastifyInstance;

  app.register(cors, {
    origin: options.corsOrigins,
    credentials: false,
    methods: ['GET', 'POST', 'PATCH', 'DELETE'],
    allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'x-request-id'],
    exposedHeaders: ['location', 'link', 'ratelimit', 'ratelimit-policy', 'retry-after', 'x-request-id'],
    hideOptionsRoute: true,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });

  app.decorateRequest('viewer', undefined);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cache-control', 'no-store');
    runInRequest({ requestId: request.id }, done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { viewer } = request;
    request.log.info(
      {
        method: request.method,
        path: request.url.split('?')[0],
        route: request.routeOptions.url,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
        userId: viewer?.userId,
        apiKeyId: viewer?.kind === 'apiKey' ? viewer.apiKeyId : undefined,
      },
      'request',
    );
    options.onAnswer(request, reply);
    done();
  });
  app.setErrorHandler((error, request, reply) => sendProblem(toAppError(error, request.log as Logger), request, reply));
  app.setNotFoundHandler((request, reply) => sendProblem(new AppError('NOT_FOUND'), request, reply));
  return app;
}

export function sendProblem(error: AppError, request: FastifyRequest, reply: FastifyReply) {
  return reply
    .code(error.status)
    .headers(errorHeaders(error))
    .type(PROBLEM_MEDIA_TYPE)
    .send(JSON.stringify(toProblem(error, request.url.split('?')[0]!, request.id)));
}

/** @throws AppError `MALFORMED_JSON` for what is not UTF-8, not JSON, or nested beyond reason. */
function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw new AppError('MALFORMED_JSON', { cause: error });
  }
  if (!isShallow(value, MAX_JSON_DEPTH)) {
    throw new AppError('MALFORMED_JSON', { detail: `The body is nested deeper than ${MAX_JSON_DEPTH} levels.` });
  }
  return value;
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isShallow(item, depth - 1));
}

function checkCidr(text: string): string {
  if (ipaddr.isValidCIDR(text) || ipaddr.isValid(text)) return text;
  throw new Error(`TRUSTED_PROXIES: ${text} is not an address or a CIDR`);
}
