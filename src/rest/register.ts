import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import { AppError } from '../errors.ts';
import type { IdempotencyStore, StoredResponse } from '../features/idempotency/store.ts';
import type { GraphQLServer } from '../graphql/yoga.ts';
import type { Authentication } from '../http/authentication.ts';
import { FILE_BODY_LIMIT_BYTES, requireSmallBesidesFile } from '../http/file-bodies.ts';
import { identifyAgainIfLate, identifyCaller } from '../http/late-bodies.ts';
import { requestedUrl } from '../http/requested-url.ts';
import { runOnce } from '../http/run-once.ts';
import { sendJson } from '../http/send-json.ts';
import { lazyFile, sendFile } from '../http/static-files.ts';
import type { Backlogs } from '../limits/backlog.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { deprecationHeaders } from './deprecation.ts';
import { createExportHandlers, type ExportOptions } from './export/serve.ts';
import { createOpenApiText } from './openapi-text.ts';
import type { Query } from './read-query.ts';
import { requireAccessToStored } from './require-access.ts';
import type { RestRoute } from './routes/route.ts';
import { prepareRoute, runRoute } from './run-route.ts';
import { createSimilarPath } from './similar-path.ts';

const OPENAPI_PATH = '/api/openapi.json';
const OPENAPI_TYPE = 'application/json; charset=utf-8';

/** Serves the `/api` routes. Each route runs the prepared document from its row in the table. */
export function registerRest(
  app: FastifyInstance,
  options: {
    server: GraphQLServer;
    schema: GraphQLSchema;
    authentication: Authentication;
    idempotency: IdempotencyStore;
    routes: readonly RestRoute[];
    /** The service's public URL, if it is known. */
    publicUrl: string | undefined;
    /** The data that is waiting for clients to read it. */
    backlogs: Backlogs;
    exports?: ExportOptions | undefined;
    contextOf(request: FastifyRequest): GraphQLContext;
  },
): void {
  const { server, schema, authentication, idempotency, routes, publicUrl, backlogs, contextOf } = options;
  const createExportHandler = createExportHandlers(app, options);

  const similarPath = createSimilarPath(methodsByPath(routes).keys());

  function pathNotFound(url: string): AppError {
    const similar = similarPath(url.split('?')[0]!);
    return new AppError(
      'NOT_FOUND',
      similar === undefined ? {} : { detail: `This path doesn't exist. Did you mean \`${similar}\`?` },
    );
  }

  /** An ID is empty if a list's path ends with a slash. */
  async function requireIds({ params, url }: FastifyRequest) {
    if (Object.values(params as Record<string, string>).includes('')) throw pathNotFound(url);
  }

  async function admit(request: FastifyRequest, reply: FastifyReply) {
    await identifyCaller(request, authentication);
    reply.headers(await authentication.count(request.viewer!));
  }

  /** For routes that count as several requests. */
  async function countMore(request: FastifyRequest, reply: FastifyReply, requests: number) {
    reply.headers(await authentication.countMore(request.viewer!, requests));
  }

  for (const route of routes) {
    if (route.kind === 'export') {
      const onRequest = [announceDeprecation(route), admit, requireIds];
      app.route({ method: route.method, url: route.path, onRequest, handler: createExportHandler(route) });
      continue;
    }
    const prepared = prepareRoute(schema, route);
    const run = (request: FastifyRequest, reply: FastifyReply) =>
      runRoute(
        server,
        prepared,
        {
          params: request.params as Record<string, string>,
          query: request.query as Query,
          body: request.body,
          url: request.url,
        },
        { ...contextOf(request), countMore: (requests) => countMore(request, reply, requests) },
      );

    app.route({
      method: route.method,
      url: route.path,
      // Runs before the body is read, so callers without access can't make the server read a body.
      onRequest: [announceDeprecation(route), admit, requireIds],
      preHandler: (request) => identifyAgainIfLate(request, authentication),
      ...(route.takesFile && { bodyLimit: FILE_BODY_LIMIT_BYTES }),
      handler: async (request, reply) => {
        if (route.takesFile) requireSmallBesidesFile(request.headers['content-length'], request.body, request.body);
        const key = request.headers['idempotency-key'];
        const response =
          route.method === 'POST' && typeof key === 'string'
            ? await runOnce(
                idempotency,
                {
                  viewer: request.viewer!,
                  header: key,
                  fingerprint: fingerprintOf(route, request),
                  log: request.log as Logger,
                  requireAccess: () =>
                    requireAccessToStored(route, request.params as Record<string, string>, contextOf(request)),
                },
                () => run(request, reply),
              )
            : await run(request, reply);
        return send(request, reply, response);
      },
    });
  }

  function send(request: FastifyRequest, reply: FastifyReply, { status, headers, body }: StoredResponse) {
    reply.code(status).headers(headers);
    if (body === undefined) return reply.send();
    return sendJson(request, reply.type('application/json; charset=utf-8'), JSON.stringify(body), backlogs);
  }

  const openapi = createOpenApiText(schema, routes);
  const file = publicUrl && lazyFile(async () => Buffer.concat(openapi(publicUrl)), OPENAPI_TYPE);
  app.get(OPENAPI_PATH, (request, reply) => {
    if (file) return sendFile(request, reply, file);
    // A cache must not return a document with the host from someone else's request.
    const chunks = openapi(requestedUrl(request, request.host).origin);
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    return reply.type(OPENAPI_TYPE).header('content-length', length).send(Readable.from(chunks));
  });

  for (const [path, methods] of methodsByPath(routes)) {
    const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ');
    app.options(path, (_request, reply) => reply.code(204).header('allow', allow).send());
    app.route({
      // Fastify serves HEAD wherever it serves GET.
      method: app.supportedMethods.filter((method) => !methods.has(method) && !['HEAD', 'OPTIONS'].includes(method)),
      url: path,
      onRequest: ({ method }) => {
        const detail = `This path does not support ${method}. Use one of ${[...methods].sort().join(', ')}.`;
        throw new AppError('METHOD_NOT_ALLOWED', { detail, headers: { allow } });
      },
      handler: () => undefined,
    });
  }

  app.all('/api/*', {
    onRequest: ({ url }) => {
      throw pathNotFound(url);
    },
    handler: () => undefined,
  });
}

/** Deprecated operations say so in every response, including errors. */
function announceDeprecation({ deprecated }: RestRoute) {
  const headers = deprecated ? deprecationHeaders(deprecated) : {};
  return async (_request: FastifyRequest, reply: FastifyReply) => void reply.headers(headers);
}

/** Identifies a request, because an idempotency key is valid for only one request. */
function fingerprintOf(route: RestRoute, request: FastifyRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([route.method, request.url, request.body ?? null]))
    .digest('hex');
}

function methodsByPath(routes: readonly RestRoute[]): Map<string, Set<string>> {
  const byPath = new Map([[OPENAPI_PATH, new Set(['GET'])]]);
  for (const { path, method } of routes) byPath.set(path, (byPath.get(path) ?? new Set()).add(method));
  return byPath;
}
