import { ApolloServer } from '@apollo/server';
import fastifyApollo, { fastifyApolloDrainPlugin } from '@as-integrations/fastify';
import fastify from 'fastify';
import { createData, createRules, resolversOf, TYPE_DEFS } from './api-common.mjs';

export async function createServer(options) {
  const admit = createRules(options);
  const resolvers = resolversOf({ ...options, data: createData(options) });
  const app = fastify();
  const apollo = new ApolloServer({ typeDefs: TYPE_DEFS, resolvers, plugins: [fastifyApolloDrainPlugin(app)] });
  await apollo.start();
  await app.register(fastifyApollo(apollo), { context: async (request) => ({ user: await admit(request.headers) }) });
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() };
}
