import { createServer as createHttpServer } from 'node:http';
import { createSchema, createYoga } from 'graphql-yoga';
import { createData, createRules, resolversOf, TYPE_DEFS } from './api-common.mjs';
import { opened } from './opened.mjs';

export async function createServer(options) {
  const admit = createRules(options);
  const resolvers = resolversOf({ ...options, data: createData(options) });
  const yoga = createYoga({
    schema: createSchema({ typeDefs: TYPE_DEFS, resolvers }),
    context: async ({ request }) => ({
      user: await admit({ authorization: request.headers.get('authorization') ?? '' }),
    }),
    logging: false,
  });
  return opened(createHttpServer(yoga).listen(0, '127.0.0.1'));
}
