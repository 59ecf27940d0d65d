import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import type { Logger } from 'pino';
import { AppError } from '../errors.ts';
import type { IdempotencyStore } from '../features/idempotency/store.ts';
import type { Authentication } from '../http/authentication.ts';
import { FILE_BODY_LIMIT_BYTES, requireSmallBesidesFile } from '../http/file-bodies.ts';
import { parseJson, requireSimple } from '../http/json-body.ts';
import { identifyAgainIfLate, identifyCaller } from '../http/late-bodies.ts';
import { linger } from '../http/linger.ts';
import { errorHeaders, toAppError } from '../http/problem.ts';
import { resetConnection } from '../http/reset-connection.ts';
import { sendJson } from '../http/send-json.ts';
import { sendStream } from '../http/send-stream.ts';
import type { Backlog } from '../limits/backlog.ts';
import type { GraphQLContext } from '../schema/context.ts';
import type { ConsoleReads } from './console-reads.ts';
import { extensionsOf } from './errors.ts';
import { createExplorer, isBrowser } from './explorer.ts';
import { mutateOnce } from './mutate-once.ts';
import { plainMutationOf, plainRequestOf, requireYogaFunctions, runPlainRequest } from './plain-requests.ts';
import type { Streams } from './streams.ts';
import type { GraphQLServer } from './yoga.ts';

/** The types of responses that stay open. Yoga also sends results as the parts of a multipart response. */
const STREAM_TYPES = ['text/event-stream', 'multipart/mixed'];

/** Serves GraphQL over HTTP at `/graphql`, with subscriptions as server-sent events, and the GraphQL explorer. */
export function registerGraphQL(
  app: FastifyInstance,
  options: {
    server: GraphQLServer;
    authentication: Authentication;
    streams: Streams;
    consoleReads: ConsoleReads;
    idempotency: IdempotencyStore;
    /** Whether browsers get the explorer. Otherwise, they are treated like any other client. */
    hasExplorer: boolean;
    /** The service's public URL, if it is known. */
    publicUrl: string | undefined;
    contextOf(request: FastifyRequest): GraphQLContext;
  },
): void {
  const { server, authentication, streams, consoleReads, idempotency, hasExplorer, publicUrl, contextOf } = options;
  requireYogaFunctions(server);
  const explore = createExplorer();
  const wantsExplorer = (request: FastifyRequest) => hasExplorer && isBrowser(request);
  const openStreams = new Set<FastifyReply>();

  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (wantsExplorer(request)) return;
    await identifyCaller(request, authentication);
    const count = consoleReads.areAnnounced(request.headers) ? authentication.countConsoleRead : authentication.count;
    reply.headers(await count(request.viewer!));
  }

  /**
   * Counts a request toward the account's limit if it claimed to be from the console but its document isn't one of the
   * console's.
   */
  async function countIfMisannounced(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const isMisannounced = consoleReads.areAnnounced(request.headers) && !isConsoleRead(request);
    if (isMisannounced) reply.headers(await authentication.count(request.viewer!));
  }

  const isConsoleRead = ({ headers, body }: FastifyRequest) =>
    consoleReads.areAnnounced(headers) && consoleReads.include(queryOf(body));

  /** Reserves a stream until the response ends. The request stays in memory until then, so it can't have a file. */
  function takeSlot(request: FastifyRequest, reply: FastifyReply): void {
    requireSmallBesidesFile(request.headers['content-length'], request.body, undefined);
    const credential = { authorization: request.headers.authorization!, address: request.ip };
    const release = streams.open(request.viewer!, credential, () => reply.raw.destroy());
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

  /** Counts the data that is waiting for the client to read it. Only event streams use this. */
  function openBacklog(request: FastifyRequest, reply: FastifyReply): Backlog {
    const cut = () => resetConnection(reply.raw);
    const drop = () => {
      cut();
      return 0;
    };
    const backlog = streams.backlogs.open(request.viewer!.userId, { drop, cut });
    reply.raw.once('close', backlog.close);
    return backlog;
  }

  async function serve(request: FastifyRequest, reply: FastifyReply) {
    if (wantsExplorer(request)) return explore(request, reply);
    if (request.method === 'POST' && !hasContent(request.body)) {
      throw new AppError('BAD_REQUEST', { detail: 'Send a JSON object with the GraphQL document in `query`.' });
    }
    if (request.method === 'GET') requireJsonParameters(request.query as Record<string, unknown>);
    await countIfMisannounced(request, reply);
    requireSmallBesidesFile(request.headers['content-length'], request.body, inputOf(request.body));
    // The response to a request over the rate limit is like any other, with the same status and headers.
    let refusal: unknown;
    const countMore = async (requests: number) => {
      try {
        reply.headers(await authentication.countMore(request.viewer!, requests));
      } catch (error) {
        refusal = error;
        throw error;
      }
    };
    // Only users have a separate limit for the console.
    const isOfConsole = request.viewer?.kind === 'user' && isConsoleRead(request);
    const context = { ...contextOf(request), ...(!isOfConsole && { countMore }) };
    const key = request.headers['idempotency-key'];
    const mutation = typeof key === 'string' ? plainMutationOf(request) : undefined;
    const plain = mutation ?? plainRequestOf(request);
    if (plain) {
      const run = async () => {
        const response = await runPlainRequest(server, plain, context);
        if (refusal) throw refusal;
        return response;
      };
      const once = { key: key as string, plain, context, log: request.log as Logger };
      const { status, headers, body } = mutation ? await mutateOnce(idempotency, once, run) : await run();
      return sendJson(request, reply.code(status).headers(headers), body, streams.backlogs);
    }
    // This comes before anything runs, so a request that is rejected for lack of capacity has no effects.
    const { accept = '' } = request.headers;
    if (STREAM_TYPES.some((type) => accept.includes(type))) takeSlot(request, reply);
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
    const contentType = response.headers.get('content-type') ?? '';
    const isStream = STREAM_TYPES.some((type) => contentType.startsWith(type));
    if (isStream && !openStreams.has(reply)) {
      try {
        takeSlot(request, reply);
      } catch (error) {
        await response.body?.cancel().catch(() => {});
        throw error;
      }
    }
    if (!isStream || !response.body)
      return sendJson(request, reply.code(response.status), await response.text(), streams.backlogs);
    reply.hijack();
    reply.raw.writeHead(response.status, reply.getHeaders() as OutgoingHttpHeaders);
    await sendStream(response.body, reply.raw, { backlog, log: request.log as Logger });
    return reply;
  }

  const errors: RouteShorthandOptions = {
    errorHandler: (error, request, reply) =>
      sendGraphQLError(toAppError(error, request.log as Logger), request, reply, publicUrl),
  };
  const preHandler = (request: FastifyRequest) => identifyAgainIfLate(request, authentication);
  const served = { ...errors, bodyLimit: FILE_BODY_LIMIT_BYTES, onRequest: admit, preHandler, handler: serve };
  app.route({ ...served, method: ['GET', 'POST'], url: '/graphql' });
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

function queryOf(body: unknown): unknown {
  return (body as { query?: unknown } | null | undefined)?.query;
}

/** The mutation's input in a request, if it is in the variable `input`. */
function inputOf(body: unknown): unknown {
  return (body as { variables?: { input?: unknown } | null } | null | undefined)?.variables?.input;
}

/** Yoga reports JSON in a query that it can't parse as an error of the server. @throws AppError `MALFORMED_JSON` */
function requireJsonParameters(query: Readonly<Record<string, unknown>>): void {
  for (const name of ['variables', 'extensions']) {
    // Yoga also reads only the first value.
    const [text] = [query[name]].flat();
    const what = `The parameter \`${name}\``;
    if (typeof text === 'string' && text !== '') requireSimple(parseJson(text, what), what);
  }
}

function sendGraphQLError(
  error: AppError,
  request: FastifyRequest,
  reply: FastifyReply,
  publicUrl: string | undefined,
) {
  linger(request.raw);
  const extensions = { ...extensionsOf(error, publicUrl), requestId: request.id };
  return reply
    .code(error.status)
    .headers(errorHeaders(error))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ errors: [{ message: error.message, extensions }] }));
}
