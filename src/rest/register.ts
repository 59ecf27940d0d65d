import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import { idempotencyScope } from '../auth/viewer.ts';
import { AppError } from '../errors.ts';
import type { IdempotencyStore, StoredResponse } from '../features/idempotency/store.ts';
import type { GraphQLServer } from '../graphql/yoga.ts';
import type { Admission } from '../http/admission.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { runOnce } from './idempotency.ts';
import { createOpenApi } from './openapi.ts';
import { resultConverter } from './result-converter.ts';
import type { RestRoute } from './routes/route.ts';
import { ROUTES } from './routes.ts';
import { runRoute } from './run-route.ts';

const OPENAPI_PATH = '/api/openapi.json';

/** Serves the `/api` routes. Each route runs the prepared document in its row. */
export function registerRest(
  app: FastifyInstance,
  options: {
    server: GraphQLServer;
    schema: GraphQLSchema;
    admission: Admission;
    idempotency: IdempotencyStore;
    contextOf(request: FastifyRequest): GraphQLContext;
  },
): void {
  const { server, schema, admission, idempotency, contextOf } = options;

  async function admit(request: FastifyRequest, reply: FastifyReply) {
    request.viewer = await admission.identify(request.headers.authorization, request.ip);
    reply.headers(await admission.count(request.viewer));
  }

  for (const route of ROUTES) {
    const prepared = { schema, route, convert: resultConverter(schema, route.document) };
    const run = (request: FastifyRequest) =>
      runRoute(
        server,
        prepared,
        {
          params: request.params as Record<string, string>,
          query: request.query as Record<string, string | string[] | undefined>,
          body: request.body,
          url: request.url,
        },
        contextOf(request),
      );

    app.route({
      method: route.method,
      url: route.path,
      // Runs before the body is read, so callers without access can't make the server read a body.
      onRequest: admit,
      handler: async (request, reply) => {
        const key = request.headers['idempotency-key'];
        const answer =
          route.method === 'POST' && typeof key === 'string'
            ? await runOnce(
                idempotency,
                {
                  ...{ scope: idempotencyScope(request.viewer!), header: key },
                  ...{ fingerprint: fingerprintOf(route, request), log: request.log as Logger },
                },
                () => run(request),
              )
            : await run(request);
        return send(reply, answer);
      },
    });
  }

  const openapi = JSON.stringify(createOpenApi(schema));
  app.get(OPENAPI_PATH, (_request, reply) => reply.type('application/json; charset=utf-8').send(openapi));

  for (const [path, methods] of methodsByPath()) {
    const allow = [...methods, ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].sort().join(', ');
    app.options(path, (_request, reply) => reply.code(204).header('allow', allow).send());
    app.route({
      // Fastify serves HEAD wherever it serves GET.
      method: app.supportedMethods.filter((method) => !methods.has(method) && !['HEAD', 'OPTIONS'].includes(method)),
      url: path,
      onRequest: () => {
        throw new AppError('METHOD_NOT_ALLOWED', { headers: { allow } });
      },
      handler: () => undefined,
    });
  }
}

function send(reply: FastifyReply, { status, headers, body }: StoredResponse) {
  reply.code(status).headers(headers);
  if (body === undefined) return reply.send();
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
}

/** Identifies a request, because an idempotency key is valid for only one request. */
function fingerprintOf(route: RestRoute, request: FastifyRequest): string {
  return createHash('sha256')
    .update(JSON.stringify([route.method, request.url, request.body ?? null]))
    .digest('hex');
}

function methodsByPath(): Map<string, Set<string>> {
  const byPath = new Map([[OPENAPI_PATH, new Set(['GET'])]]);
  for (const { path, method } of ROUTES) byPath.set(path, (byPath.get(path) ?? new Set()).add(method));
  return byPath;
}
