import type { DocumentNode, ExecutionResult, GraphQLError } from 'graphql';
import { createLRUCache, createYoga, type Plugin } from 'graphql-yoga';
import type { Logger } from 'pino';
import type { TurnOptions } from '../limits/turns.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { refuseConditionalSubscriptions } from './conditional-subscriptions.ts';
import { countMutations } from './count-mutations.ts';
import { createOperationRunner } from './deadline.ts';
import { createErrorMask, unavailableStatus } from './errors.ts';
import { countIntrospections } from './introspection.ts';
import { limitPlugins } from './limits.ts';
import { schema } from './schema.ts';
import { shareResults } from './share-results.ts';
import { traceOperations } from './trace-operations.ts';
import { type OnOperation, watchOperations } from './watch-operations.ts';

/** How many parsed and validated documents to cache. Each can use as much as 1 MB. */
const MAX_CACHED_DOCUMENTS = 100;

export type GraphQLServer = ReturnType<typeof createGraphQLServer>;

/**
 * The single GraphQL server behind HTTP, SSE, WebSocket, and the REST routes.
 *
 * @param ownDocuments the REST routes' documents, which are validated at build time and run without being parsed.
 */
export function createGraphQLServer(options: {
  log: Logger;
  ownDocuments: ReadonlySet<DocumentNode>;
  /** Where clients find the pages about errors, if it is known. */
  publicUrl: string | undefined;
  /** How many database connections this process has. */
  poolSize: number;
  /** How long an operation may take. */
  operationMilliseconds?: number;
  /** How expensive documents take turns. */
  turns?: TurnOptions | undefined;
  onOperation?: OnOperation;
}) {
  const { log, ownDocuments, publicUrl, poolSize, operationMilliseconds, turns, onOperation } = options;
  const maskError = createErrorMask(log, publicUrl);
  const runOperation = createOperationRunner(poolSize, operationMilliseconds);
  const yoga = createYoga<GraphQLContext>({
    schema,
    graphqlEndpoint: '/graphql',
    batching: false,
    multipart: false,
    cors: false,
    landingPage: false,
    graphiql: false,
    maskedErrors: { maskError },
    parserAndValidationCache: {
      documentCache: createLRUCache({ max: MAX_CACHED_DOCUMENTS }),
      errorCache: createLRUCache({ max: MAX_CACHED_DOCUMENTS }),
    },
    plugins: [
      ...limitPlugins((document) => ownDocuments.has(document), runOperation, turns),
      refuseConditionalSubscriptions(),
      countMutations(),
      countIntrospections(),
      maskValidationErrors(maskError),
      shareResults(runOperation),
      traceOperations(),
      ...(onOperation ? [watchOperations(onOperation)] : []),
    ] as Plugin[],
    logging: false,
  });

  return {
    yoga,
    maskError,
    /** Runs a prepared document with the same context, rules, and error handling as other documents. */
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

/** Yoga masks execution errors. This gives validation errors their code. */
function maskValidationErrors(maskError: (error: unknown) => Error): Plugin {
  return {
    onExecutionResult({ result, setResult }) {
      if (!result || Symbol.asyncIterator in result || Array.isArray(result) || !result.errors) return;
      const masked = { ...result, errors: result.errors.map((error) => maskError(error) as GraphQLError) };
      const http = unavailableStatus(masked);
      setResult({ ...masked, ...(http && { extensions: { ...masked.extensions, http } }) });
    },
  };
}
