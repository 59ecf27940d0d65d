import { renderGraphiQL } from '@graphql-yoga/render-graphiql';
import type { DocumentNode, ExecutionResult } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import type { GraphQLContext } from './context.ts';
import { createErrorMask } from './errors.ts';
import { limitPlugins } from './limits.ts';
import { schema } from './schema.ts';

const EXPLORER_QUERY = `# Welcome to Tollgate.
#
# Open "Headers" below and put in your credential:
#   { "Authorization": "Bearer <token or API key>" }

query Start {
  viewer {
    tier
    limits { requestsPerMinute maxConnectors connectorCount }
  }
  projects(first: 10) {
    nodes { id name walletAddress }
  }
}
`;

export type GraphQLServer = ReturnType<typeof createGraphQLServer>;

/**
 * The one GraphQL server behind HTTP, SSE, WebSocket and the REST routes.
 *
 * @param ownDocuments documents of the REST routes: validated when they were built, run without parsing.
 */
export function createGraphQLServer(options: { log: Logger; ownDocuments: ReadonlySet<DocumentNode> }) {
  const { log, ownDocuments } = options;
  const yoga = createYoga<GraphQLContext>({
    schema,
    graphqlEndpoint: '/graphql',
    batching: false,
    multipart: false,
    cors: false,
    landingPage: false,
    graphiql: { title: 'Tollgate GraphQL', defaultQuery: EXPLORER_QUERY },
    renderGraphiQL,
    maskedErrors: { maskError: createErrorMask(log) },
    plugins: limitPlugins((document) => ownDocuments.has(document)) as Plugin<GraphQLContext>[],
    logging: false,
  });

  return {
    yoga,
    /** Runs a prepared document with the same context, rules and error handling as any other. */
    async run<Data, Variables>(
      document: DocumentNode & { __apiType?: (variables: Variables) => Data },
      variables: Variables,
      context: GraphQLContext,
    ): Promise<ExecutionResult<Data>> {
      const { execute, contextFactory } = yoga.getEnveloped(context);
      return (await execute({
        schema,
        document,
        variableValues: variables,
        contextValue: await contextFactory(),
      })) as ExecutionResult<Data>;
    },
  };
}
