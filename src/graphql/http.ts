import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { Logger } from 'pino';
import { AppError } from '../errors.ts';
import type { Admission } from '../http/admission.ts';
import { errorHeaders, toAppError } from '../http/problem.ts';
import type { Backlog } from '../limits/backlog.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { sendEventStream } from './event-stream.ts';
import { createExplorer, wantsExplorer } from './explorer.ts';
import { plainRequestOf, runPlainRequest } from './plain-requests.ts';
import type { Streams } from './streams.ts';
import type { GraphQLServer } from './yoga.ts';

const EVENT_STREAM = 'text/event-stream';

/** Serves GraphQL over HTTP at `/graphql`, with subscriptions as server-sent events, and the GraphQL explorer. */
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
  const explore = createExplorer();
  const openStreams = new Set<FastifyReply>();

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (wantsExplorer(request)) return;
    request.viewer = await admission.identify(request.headers.authorization, request.ip);
    reply.headers(await admission.count(request.viewer));
  }

  /** Reserves a stream until the response ends. */
  function takePlace(request: FastifyRequest, reply: FastifyReply): void {
    const release = streams.open(request.viewer!, request.headers.authorization!, () => reply.raw.destroy());
    // The response emits no more events if the client has already disconnected.
    if (reply.raw.closed) {
      release();
      return;
    }
    openStreams.add(reply);
    reply.raw.once('close', () => {
      release();
      openStreams.delete(reply);
    });
  }

  /** Counts the data that waits for the client. Only event streams use this. */
  function openBacklog(request: FastifyRequest, reply: FastifyReply): Backlog {
    const cut = () => void reply.raw.destroy();
    const drop = () => {
      cut();
      return 0;
    };
    const backlog = streams.backlogs.open(request.viewer!.userId, { drop, cut });
    reply.raw.once('close', backlog.close);
    return backlog;
  }

  async function answer(request: FastifyRequest, reply: FastifyReply) {
    if (wantsExplorer(request)) return explore(request, reply);
    if (request.method === 'POST' && !hasContent(request.body)) {
      throw new AppError('BAD_REQUEST', { detail: 'Send a JSON object with the GraphQL document in `query`.' });
    }
    // The response to a request over the rate limit is like any other, with the same status and headers.
    let refusal: unknown;
    const countMore = async (requests: number) => {
      try {
        reply.headers(await admission.countMore(request.viewer!, requests));
      } catch (error) {
        refusal = error;
        throw error;
      }
    };
    const context = { ...contextOf(request), countMore };
    const plain = plainRequestOf(request);
    if (plain) {
      const { status, headers, body } = await runPlainRequest(server, plain, context);
      if (refusal) throw refusal;
      return reply.code(status).headers(headers).send(body);
    }
    // This comes before anything runs, so a request that is rejected for lack of room has no effects.
    if (request.headers.accept?.includes(EVENT_STREAM)) takePlace(request, reply);
    const backlog = openBacklog(request, reply);
    const response = await server.yoga.handleNodeRequestAndResponse(
      // Yoga reads an already parsed body from here.
      Object.assign(request.raw, { body: request.body }),
      reply.raw,
      { ...context, backlog },
    );
    if (refusal) throw refusal;
    if (response.status === 406) throw new AppError('NOT_ACCEPTABLE');
    for (const [name, value] of response.headers) reply.header(name, value);
    const isStream = response.headers.get('content-type')?.startsWith(EVENT_STREAM);
    if (isStream && !openStreams.has(reply)) {
      try {
        takePlace(request, reply);
      } catch (error) {
        await response.body?.cancel().catch(() => {});
        throw error;
      }
    }
    if (!isStream || !response.body) return reply.code(response.status).send(response.body);
    reply.hijack();
    reply.raw.writeHead(response.status, reply.getHeaders() as OutgoingHttpHeaders);
    await sendEventStream(response.body, reply.raw, { backlog, log: request.log as Logger });
    return reply;
  }

  const errors: RouteShorthandOptions = {
    errorHandler: (error, request, reply) => sendGraphQLError(toAppError(error, request.log as Logger), request, reply),
  };
  app.route({ ...errors, method: ['GET', 'POST'], url: '/graphql', onRequest: admit, handler: answer });
  app.route({
    ...errors,
    method: ['PUT', 'PATCH', 'DELETE'],
    url: '/graphql',
    onRequest: async () => {
      throw new AppError('METHOD_NOT_ALLOWED', { headers: { allow: 'GET, HEAD, POST' } });
    },
    handler: () => undefined,
  });
  app.addHook('preClose', async () => {
    for (const reply of openStreams) reply.raw.destroy();
  });
}

/** Whether the body is an object with at least one field. For anything else, Yoga would report invalid JSON. */
function hasContent(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Object.keys(body).length > 0;
}

function sendGraphQLError(error: AppError, request: FastifyRequest, reply: FastifyReply) {
  const extensions = { code: error.code, retryable: error.retryable, requestId: request.id };
  return reply
    .code(error.status)
    .headers(errorHeaders(error))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ errors: [{ message: error.message, extensions }] }));
}
