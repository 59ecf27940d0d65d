import { type ExecutionResult, GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { isRowGone } from '../database/errors.ts';
import { unavailability } from '../database/unavailable.ts';
import { AppError, ERRORS, type ErrorCode, notFound } from '../errors.ts';
import { errorHeaders, problemType } from '../http/problem.ts';
import { currentRequest } from '../request-context.ts';
import { withoutValues } from './error-message.ts';

/** Document errors quote parts of the document, which can be long. */
const MAX_MESSAGE_LENGTH = 300;
const MAX_LOCATIONS = 3;

/** The errors behind those in responses. They can't be their `originalError`, because Yoga treats that as a bug (500). */
const presentedFor = new WeakMap<GraphQLError, AppError>();

/**
 * Gives every error in a response its code, and hides what callers must not see. An `AppError` and errors in the
 * document (syntax, validation, variables) keep their messages. A row that is gone is not found. All other errors are
 * logged and masked.
 *
 * @param publicUrl where clients find the pages about errors, if it is known
 */
export function createErrorMask(log: Logger, publicUrl: string | undefined): (error: unknown) => GraphQLError {
  return (error) => {
    const graphqlError = isGraphQLError(error) ? error : undefined;
    const cause = rootCause(error);
    if (cause instanceof AppError) return present(cause, graphqlError, publicUrl);
    if (graphqlError && isAboutDocument(graphqlError, cause)) {
      const { code, http, retryable } = graphqlError.extensions;
      // Errors can get here twice. Keep an error that already has a description.
      if (retryable !== undefined && statusOfCode(code)) return graphqlError;
      return new GraphQLError(shorten(withoutValues(graphqlError.message)), {
        ...placeOf(graphqlError),
        extensions: {
          ...describe(errorCodeOf(graphqlError), publicUrl),
          ...fieldOf(graphqlError.message),
          // `spec` lets the media type determine the status. A malformed request gets 400 either way.
          ...(http !== undefined && { http: code === 'BAD_REQUEST' ? { ...http, spec: false } : http }),
        },
      });
    }
    // A mutation's result is read after its transaction, when someone else may already have deleted it.
    if (isRowGone(cause)) return present(notFound(), graphqlError, publicUrl);
    const unavailable = unavailability(cause);
    if (unavailable) log.warn({ err: cause }, 'the database is unavailable');
    else log.error({ err: cause }, 'unexpected error in a resolver');
    return present(unavailable ?? new AppError('INTERNAL'), graphqlError, publicUrl);
  };
}

/** The code that callers get for an error, even if the error is masked. */
export function errorCodeOf(error: unknown): ErrorCode {
  const cause = rootCause(error);
  if (cause instanceof AppError) return cause.code;
  if (isRowGone(cause)) return notFound().code;
  if (!isGraphQLError(error) || !isAboutDocument(error, cause)) return unavailability(cause)?.code ?? 'INTERNAL';
  const { code } = error.extensions;
  // Errors from Yoga itself already have a code.
  return statusOfCode(code) ? (code as ErrorCode) : 'GRAPHQL_INVALID';
}

/** Whether the document caused the error. Errors caused by a field's result have no location in the document. */
function isAboutDocument({ path }: GraphQLError, cause: unknown): boolean {
  return isGraphQLError(cause) && (path === undefined || cause.locations !== undefined);
}

function present(error: AppError, at: GraphQLError | undefined, publicUrl: string | undefined): GraphQLError {
  const presented = new GraphQLError(error.message, {
    ...placeOf(at),
    extensions: {
      ...extensionsOf(error, publicUrl),
      // Without a path, nothing ran. `spec` lets the media type determine the HTTP status (GraphQL over HTTP).
      ...(at?.path === undefined && { http: httpOf(error) }),
    },
  });
  presentedFor.set(presented, error);
  return presented;
}

/** The `AppError` that an error in a response presents, or undefined for an error in the document. */
export const appErrorOf = (error: GraphQLError): AppError | undefined => presentedFor.get(error);

/** What a response says about an error besides its message and its place. */
export function extensionsOf(error: AppError, publicUrl: string | undefined) {
  const { code, fields, retryable, retryAfterSeconds, maxAgeSeconds } = error;
  return {
    ...describe(code, publicUrl),
    retryable,
    ...(fields[0] && { field: fields[0].pointer, errors: fields }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
  };
}

function httpOf(error: AppError) {
  return { status: error.status, spec: error.status < 500, headers: errorHeaders(error) };
}

/**
 * The HTTP status for a response that has no data because the service is unavailable. Load balancers and clients that
 * retry look only at the status.
 */
export function unavailableStatus({ data, errors = [] }: ExecutionResult): ReturnType<typeof httpOf> | undefined {
  const isEmpty = !data || Object.values(data).every((value) => value === null);
  const unavailable = errors.find(({ extensions }) => extensions.code === 'UNAVAILABLE');
  if (!isEmpty || !unavailable) return undefined;
  const { retryAfterSeconds } = unavailable.extensions as { retryAfterSeconds?: number };
  return httpOf(new AppError('UNAVAILABLE', retryAfterSeconds === undefined ? {} : { retryAfterSeconds }));
}

/**
 * A variable's invalid field as a JSON pointer. graphql-js mentions it only in its message: `at "input.types[0]"`.
 */
function fieldOf(message: string): { field?: string } {
  const path = /^Variable "\$\w+" got invalid value .* at "\w+((?:\.\w+|\[\d+\])+)"; /s.exec(message)?.[1];
  return path ? { field: path.replaceAll(/\.|\[/g, '/').replaceAll(']', '') } : {};
}

function describe(code: ErrorCode, publicUrl: string | undefined) {
  const requestId = currentRequest()?.requestId;
  return { code, type: problemType(code, publicUrl), retryable: false, ...(requestId && { requestId }) };
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

/** The status for a code in `ERRORS`, or undefined for other codes. */
function statusOfCode(code: unknown): number | undefined {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode].status : undefined;
}

// Two copies of graphql can be loaded at the same time, so `instanceof` isn't reliable.
function isGraphQLError(error: unknown): error is GraphQLError {
  return error instanceof Error && error.name === 'GraphQLError';
}

function rootCause(error: unknown): unknown {
  const original = isGraphQLError(error) ? error.originalError : undefined;
  return original ? rootCause(original) : error;
}
