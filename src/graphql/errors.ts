import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { AppError, ERRORS, type ErrorCode } from '../errors.ts';
import { currentRequest } from '../http/request-context.ts';

/**
 * Gives every error of an answer its code, and hides what callers must not see. Errors of the catalogue keep their
 * sentence, errors of the document (syntax, validation, variables) are the caller's to read, all others are logged and
 * masked.
 */
export function createErrorMask(log: Logger): (error: unknown) => Error {
  return (error) => {
    const graphqlError = isGraphQLError(error) ? error : undefined;
    const cause = rootCause(error);
    if (cause instanceof AppError) return present(cause, graphqlError);
    if (graphqlError && (cause === graphqlError || isGraphQLError(cause))) {
      if (statusOfCode(graphqlError.extensions.code)) return graphqlError;
      return new GraphQLError(graphqlError.message, {
        nodes: graphqlError.nodes,
        source: graphqlError.source,
        positions: graphqlError.positions,
        path: graphqlError.path,
        extensions: { ...graphqlError.extensions, ...describe('GRAPHQL_INVALID') },
      });
    }
    log.error({ err: cause }, 'unexpected error in a resolver');
    return present(new AppError('INTERNAL'), graphqlError);
  };
}

function present(error: AppError, at: GraphQLError | undefined): GraphQLError {
  const field = error.fields[0]?.pointer;
  return new GraphQLError(error.message, {
    nodes: at?.nodes,
    source: at?.source,
    positions: at?.positions,
    path: at?.path,
    extensions: {
      ...describe(error.code),
      retryable: error.retryable,
      ...(field !== undefined && { field, errors: error.fields }),
    },
  });
}

function describe(code: ErrorCode) {
  const requestId = currentRequest()?.requestId;
  return { code, retryable: false, ...(requestId && { requestId }) };
}

/** The status that the catalogue gives a code; undefined for codes that are not ours. */
export function statusOfCode(code: unknown): number | undefined {
  return typeof code === 'string' && code in ERRORS ? ERRORS[code as ErrorCode].status : undefined;
}

// Two copies of graphql can be loaded at once, so `instanceof` would not do.
function isGraphQLError(error: unknown): error is GraphQLError {
  return error instanceof Error && error.name === 'GraphQLError';
}

function rootCause(error: unknown): unknown {
  const original = isGraphQLError(error) ? error.originalError : undefined;
  return original ? rootCause(original) : error;
}
