import fastify from 'fastify';
import { createData, createRules } from './api-common.mjs';

export async function createServer(options) {
  const admit = createRules(options);
  const data = createData(options);
  const app = fastify();
  app.decorateRequest('user', null);
  app.addHook('onRequest', async (request) => {
    request.user = await admit(request.headers);
  });
  app.get('/api/projects/:projectId/endpoints/:id', async ({ user, params }, reply) => {
    const found = await data.endpoint(user, params.projectId, params.id);
    return found ?? reply.code(404).send({ title: 'Not found' });
  });
  app.get('/api/projects/:projectId/endpoints', ({ user, params, query }) =>
    data.endpoints(user, params.projectId, { limit: Number(query.limit ?? 20), after: query.after }),
  );
  app.post('/api/projects/:projectId/endpoints', async ({ user, params, body }, reply) => {
    reply.code(201);
    return data.createEndpoint(user, params.projectId, body);
  });
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() };
}
