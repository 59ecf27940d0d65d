import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { AppError } from '../errors.ts';
import type { Admission } from '../http/admission.ts';
import { errorHeaders, toAppError } from '../http/problem.ts';
import type { GraphQLContext } from './context.ts';
import type { Streams } from './streams.ts';
import type { GraphQLServer } from './yoga.ts';

/** Serves GraphQL over HTTP, with subscriptions as server-sent events, and the explorer, at `/graphql`. */
export function registerGraphQL(
  app: FastifyInstance,
  options: {
    server: GraphQLServer;
    admission: Admission;
    streams: Streams;
    contextOf(request: FastifyRequest): GraphQLContext;
  },
): void {
  const { server, admission, streams, contextOf } = options;

  async function handle(request: FastifyRequest, reply: FastifyReply) {
    // The explorer is a page without data; what it asks for carries its own credential.
    const isExplorer = request.method === 'GET' && /\btext\/html\b/.test(request.headers.accept ?? '');
    if (!isExplorer) {
      request.viewer = await admission.identify(request.headers.authorization, request.ip);
      reply.headers(await admission.count(request.viewer));
    }
    const response = await server.yoga.handleNodeRequestAndResponse(
      request.raw as typeof request.raw & { body?: unknown },
      reply.raw,
      isExplorer ? ({} as GraphQLContext) : contextOf(request),
    );
    for (const [name, value] of response.headers) reply.header(name, value);
    reply.code(response.status);
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      const release = streams.open(request.viewer!, request.headers.authorization!, () => reply.raw.destroy());
      reply.raw.once('close', release);
    }
    return reply.send(response.body);
  }

  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    preHandler: async (request) => {
      // Yoga reads a body that is parsed already from here.
      Object.assign(request.raw, { body: request.body });
    },
    handler: handle,
    errorHandler: (error, request, reply) => sendGraphQLError(toAppError(error, request.log as Logger), request, reply),
  });
  app.route({
    method: ['PUT', 'PATCH', 'DELETE'],
    url: '/graphql',
    handler: () => {
      throw new AppError('METHOD_NOT_ALLOWED', { headers: { allow: 'GET, POST' } });
    },
    errorHandler: (error, request, reply) => sendGraphQLError(toAppError(error, request.log as Logger), request, reply),
  });
}

function sendGraphQLError(error: AppError, request: FastifyRequest, reply: FastifyReply) {
  const extensions = { code: error.code, retryable: error.retryable, requestId: request.id };
  return reply
    .code(error.status)
    .headers(errorHeaders(error))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ errors: [{ message: error.message, extensions }] }));
}
