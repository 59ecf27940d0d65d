import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { unavailability } from '../database/unavailable.ts';
import { AppError, ERRORS, type ErrorCode } from '../errors.ts';
import { errorHeaders } from '../http/problem.ts';
import { currentRequest } from '../request-context.ts';
import { withoutValues } from './error-message.ts';

/** Errors of a document quote it, and it may be long. */
const MAX_MESSAGE_LENGTH = 300;
const MAX_LOCATIONS = 3;

/**
 * Gives every error of an answer its code, and hides what callers must not see. Errors of the catalogue keep their
 * sentence, errors of the document (syntax, validation, variables) are the caller's to read, all others are logged and
 * masked.
 */
export function createErrorMask(log: Logger): (error: unknown) => GraphQLError {
  return (error) => {
    const graphqlError = isGraphQLError(error) ? error : undefined;
    const cause = rootCause(error);
    if (cause instanceof AppError) return present(cause, graphqlError);
    if (graphqlError && isAboutDocument(graphqlError, cause)) {
      const { code, http, retryable } = graphqlError.extensions;
      // Errors can come by here twice: what is described already stays.
      if (retryable !== undefined && statusOfCode(code)) return graphqlError;
      return new GraphQLError(shorten(withoutValues(graphqlError.message)), {
        ...placeOf(graphqlError),
        extensions: {
          ...describe(errorCodeOf(graphqlError)),
          ...fieldOf(graphqlError.message),
          // `spec` leaves the status to the media type. A request that is none is 400 in both.
          ...(http !== undefined && { http: code === 'BAD_REQUEST' ? { ...http, spec: false } : http }),
        },
      });
    }
    const unavailable = unavailability(cause);
    if (unavailable) log.warn({ err: cause }, 'the database is unavailable');
    else log.error({ err: cause }, 'unexpected error in a resolver');
    return present(unavailable ?? new AppError('INTERNAL'), graphqlError);
  };
}

/** What callers are told of an error, whether it has been masked already or not. */
export function errorCodeOf(error: unknown): ErrorCode {
  const cause = rootCause(error);
  if (cause instanceof AppError) return cause.code;
  if (!isGraphQLError(error) || !isAboutDocument(error, cause)) return unavailability(cause)?.code ?? 'INTERNAL';
  const { code } = error.extensions;
  // Yoga's own refusals have a code already.
  return statusOfCode(code) ? (code as ErrorCode) : 'GRAPHQL_INVALID';
}

/** Whether the caller wrote what is wrong. Errors that a field's own value caused say nothing of a place in the document. */
function isAboutDocument({ path }: GraphQLError, cause: unknown): boolean {
  return isGraphQLError(cause) && (path === undefined || cause.locations !== undefined);
}

function present(error: AppError, at: GraphQLError | undefined): GraphQLError {
  const field = error.fields[0]?.pointer;
  return new GraphQLError(error.message, {
    ...placeOf(at),
    extensions: {
      ...describe(error.code),
      retryable: error.retryable,
      ...(field !== undefined && { field, errors: error.fields }),
      ...(error.retryAfterSeconds !== undefined && { retryAfterSeconds: error.retryAfterSeconds }),
      // Without a path nothing ran. `spec` leaves it to the media type whether that shows in the status (GraphQL over HTTP).
      ...(at?.path === undefined && { http: httpOf(error) }),
    },
  });
}

function httpOf(error: AppError) {
  return { status: error.status, spec: error.status < 500, headers: errorHeaders(error) };
}

/**
 * Where nothing of a document could be answered because the service cannot answer now, the status says so too: load
 * balancers and clients that repeat look at nothing else.
 */
export function unavailableStatus({ data, errors = [] }: ExecutionResult): ReturnType<typeof httpOf> | undefined {
  const isEmpty = !data || Object.values(data).every((value) => value === null);
  const unavailable = errors.find(({ extensions }) => extensions.code === 'UNAVAILABLE');
  if (!isEmpty || !unavailable) return undefined;
  const { retryAfterSeconds } = unavailable.extensions as { retryAfterSeconds?: number };
  return httpOf(new AppError('UNAVAILABLE', retryAfterSeconds === undefined ? {} : { retryAfterSeconds }));
}

/**
 * The place in a variable that graphql-js refused, as errors of the catalogue name it: it says `at "input.types[0]"` in
 * its sentence and nowhere else.
 */
function fieldOf(message: string): { field?: string } {
  const path = /^Variable "\$\w+" got invalid value .* at "\w+((?:\.\w+|\[\d+\])+)"; /s.exec(message)?.[1];
  return path ? { field: path.replaceAll(/\.|\[/g, '/').replaceAll(']', '') } : {};
}

function describe(code: ErrorCode) {
  const requestId = currentRequest()?.requestId;
  return { code, retryable: false, ...(requestId && { requestId }) };
}

function placeOf(error: GraphQLError | undefined) {
  return {
    source: error?.source,
    positions: error?.positions?.slice(0, MAX_LOCATIONS),
    path: error?.path,
  };
}

function shorten(message: string): string {
  return message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed()}…` : message;
}

/** The status that the catalogue gives a code; undefined for codes that are not ours. */
export function statusOfCode(code: unknown): number | undefined {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].status : undefined;
}

// Two copies of graphql can be loaded at once, so `instanceof` would not do.
function isGraphQLError(error: unknown): error is GraphQLError {
  return error instanceof Error && error.name === 'GraphQLError';
}

function rootCause(error: unknown): unknown {
  const original = isGraphQLError(error) ? error.originalError : undefined;
  return original ? rootCause(original) : error;
}
