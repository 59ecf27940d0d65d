import fastify from 'fastify';
import mercurius from 'mercurius';
import { createData, createRules, resolversOf, TYPE_DEFS } from './api-common.mjs';

export async function createServer(options) {
  const admit = createRules(options);
  const resolvers = resolversOf({ ...options, data: createData(options) });
  const app = fastify();
  app.register(mercurius, {
    schema: TYPE_DEFS,
    resolvers,
    // Documents are compiled after their first run.
    jit: 1,
    context: async (request) => ({ user: await admit(request.headers) }),
  });
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() };
}
