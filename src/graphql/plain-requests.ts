import type { FastifyRequest } from 'fastify';
import { type ExecutionResult, getOperationAST, parse } from 'graphql';
import { type FetchAPI, type GraphQLParams, processRegularResult } from 'graphql-yoga';
import { AppError } from '../errors.ts';
import { requireMember } from '../library-member.ts';
import type { GraphQLContext } from '../schema/context.ts';
import { MAX_LENGTH, MAX_TOKENS } from './limits.ts';
import type { GraphQLServer } from './yoga.ts';

type MediaType = 'application/json' | 'application/graphql-response+json';

/** The `Accept` headers that request one JSON response, and the type of that response. Yoga handles all others. */
const MEDIA_TYPES: ReadonlyMap<string | undefined, MediaType> = new Map([
  [undefined, 'application/json'],
  ['*/*', 'application/json'],
  ['application/json', 'application/json'],
  ['application/json, text/plain, */*', 'application/json'],
  ['application/graphql-response+json', 'application/graphql-response+json'],
  ['application/graphql-response+json, application/json', 'application/graphql-response+json'],
  ['application/graphql-response+json,application/json;q=0.9', 'application/graphql-response+json'],
]);
const CONTENT_TYPE = /^application\/json(;|$)/i;
const PARAMETERS = new Set(['query', 'variables', 'operationName', 'extensions']);

/** Yoga's hooks need a request, but they use only its method. */
const POST = new Request('http://localhost/graphql', { method: 'POST' });

/** A request that needs only Yoga's rules for documents: a well-formed POST for one JSON response. */
export type PlainRequest = { params: GraphQLParams; mediaType: MediaType };

export type PlainResponse = { body: string; status: number; headers: Record<string, string> };

/** Returns undefined for all requests that need Yoga's HTTP server, such as subscriptions. */
export function plainRequestOf({ method, url, headers, body }: FastifyRequest): PlainRequest | undefined {
  const mediaType = MEDIA_TYPES.get(headers.accept);
  const isPost = method === 'POST' && url === '/graphql' && CONTENT_TYPE.test(headers['content-type'] ?? '');
  if (!mediaType || !isPost || !isWellFormed(body)) return undefined;
  // Every subscription contains this word, and few other documents do.
  if (body.query.includes('subscription')) return undefined;
  return { params: body, mediaType };
}

/**
 * The mutation in a POST, which can run at most once. Undefined for queries, subscriptions, and anything that Yoga
 * rejects.
 *
 * @throws AppError `NOT_ACCEPTABLE` if the request accepts only a stream.
 */
export function plainMutationOf({ method, headers, body }: FastifyRequest): PlainRequest | undefined {
  const { accept = '' } = headers;
  if (method !== 'POST' || !CONTENT_TYPE.test(headers['content-type'] ?? '') || !isWellFormed(body)) return undefined;
  if (!isMutation(body)) return undefined;
  if (accept.includes('text/event-stream') && !/json|\*\/\*/.test(accept)) throw new AppError('NOT_ACCEPTABLE');
  const isNew = accept.includes('application/graphql-response+json');
  return {
    params: body,
    mediaType: MEDIA_TYPES.get(headers.accept) ?? (isNew ? 'application/graphql-response+json' : 'application/json'),
  };
}

function isMutation({ query, operationName }: GraphQLParams & { query: string }): boolean {
  if (query.length > MAX_LENGTH) return false;
  try {
    const operation = getOperationAST(parse(query, { maxTokens: MAX_TOKENS, noLocation: true }), operationName);
    return operation?.operation === 'mutation';
  } catch {
    // The error is reported when the document runs.
    return false;
  }
}

/** Checks the two functions of Yoga that `runPlainRequest` calls, and that its documentation doesn't mention. */
export function requireYogaFunctions({ yoga }: GraphQLServer): void {
  requireMember('graphql-yoga 5.24.1', yoga, 'getResultForParams');
  requireMember('graphql-yoga 5.24.1', { processRegularResult }, 'processRegularResult');
}

/**
 * Runs the request's document without Fetch API objects for the request and the response, because for many documents,
 * these would cost more than the execution. Follows Yoga's rules, and returns the same status, headers, and body.
 */
export async function runPlainRequest(
  { yoga }: GraphQLServer,
  { params, mediaType }: PlainRequest,
  context: GraphQLContext,
): Promise<PlainResponse> {
  const result = await yoga.getResultForParams({ params, request: POST }, context);
  return processRegularResult(result as ExecutionResult, WRITER, mediaType) as unknown as PlainResponse;
}

/** Takes the place of the Fetch API's response, but only keeps what Yoga writes. */
class WrittenResponse implements PlainResponse {
  readonly body: string;
  readonly status: number;
  readonly headers: Record<string, string>;

  constructor(body: string, { status, headers }: Omit<PlainResponse, 'body'>) {
    this.body = body;
    this.status = status;
    this.headers = headers;
  }
}

/** The part of the Fetch API that Yoga uses to write a result. */
const WRITER = { Response: WrittenResponse } as unknown as FetchAPI;

function isWellFormed(body: unknown): body is GraphQLParams & { query: string } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false;
  const { query, variables, extensions } = body as Record<string, unknown>;
  // Like Yoga, ignores other fields that are null.
  const hasOnlyParameters = Object.entries(body).every(([name, value]) => value === null || PARAMETERS.has(name));
  return (
    typeof query === 'string' && hasOnlyParameters && isObjectOrMissing(variables) && isObjectOrMissing(extensions)
  );
}

const isObjectOrMissing = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && !Array.isArray(value));
