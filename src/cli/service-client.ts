import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { print } from 'graphql';
import { VERSION } from '../version.ts';
import { Failure } from './failure.ts';
import { connectionFailure, request } from './http.ts';
import { serverSentEvents } from './server-sent-events.ts';

export type ServiceClient = ReturnType<typeof createServiceClient>;

type FieldError = { pointer: string; message: string };
type GraphQLError = {
  message: string;
  extensions?: { code?: string; retryable?: boolean; field?: string; errors?: FieldError[] };
};
type GraphQLResult<Result> = { data?: Result | null; errors?: GraphQLError[] };

const REQUEST_TIMEOUT_MILLISECONDS = 30_000;

/** A client for the service's GraphQL API: queries and mutations over HTTP, subscriptions over server-sent events. */
export function createServiceClient({ url, credential }: { url: string; credential: string }) {
  const endpoint = `${url.replace(/\/+$/, '')}/graphql`;

  function post(document: unknown, variables: unknown, accept: string, signal: AbortSignal): Promise<Response> {
    return request(endpoint, {
      method: 'POST',
      headers: {
        accept,
        authorization: `Bearer ${credential}`,
        'content-type': 'application/json',
        'user-agent': `tollgate-cli/${VERSION}`,
      },
      body: JSON.stringify({ query: document, variables }),
      signal,
    });
  }

  return {
    /** @throws Failure that says what the service rejected, or that the service isn't responding. */
    async run<Result, Variables>(
      document: TypedDocumentNode<Result, Variables>,
      variables: Variables,
      signal: AbortSignal,
    ): Promise<Result> {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MILLISECONDS)]);
      const response = await post(print(document), variables, 'application/graphql-response+json', limited);
      const text = await response.text().catch((error) => {
        throw connectionFailure(error, url, signal);
      });
      return dataOf(parse<Result>(text, response.status, url));
    },

    /**
     * Opens a subscription. The results end when the service closes the subscription.
     *
     * @throws Failure for the same reasons as `run`, before the first result or later.
     */
    async subscribe<Result, Variables>(
      document: TypedDocumentNode<Result, Variables>,
      variables: Variables,
      signal: AbortSignal,
    ): Promise<AsyncGenerator<Result>> {
      const response = await post(print(document), variables, 'text/event-stream', signal);
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      if (!response.ok || !response.body || !isStream) {
        dataOf(parse(await response.text(), response.status, url));
        throw notTollgate(url, response.status);
      }
      return results<Result>(response.body, url, signal);
    },
  };
}

async function* results<Result>(
  body: ReadableStream<Uint8Array>,
  url: string,
  signal: AbortSignal,
): AsyncGenerator<Result> {
  try {
    for await (const { event, data } of serverSentEvents(body)) {
      if (event === 'complete') return;
      if (event === 'next') yield dataOf(JSON.parse(data) as GraphQLResult<Result>);
    }
  } catch (error) {
    throw error instanceof Failure ? error : connectionFailure(error, url, signal);
  }
}

function parse<Result>(text: string, status: number, url: string): GraphQLResult<Result> {
  try {
    const result = JSON.parse(text) as GraphQLResult<Result>;
    if (result.data || result.errors) return result;
  } catch {
    // The error below explains what went wrong.
  }
  throw notTollgate(url, status);
}

function notTollgate(url: string, status: number): Failure {
  const message = `${url} returned a response that isn't from Tollgate (status ${status}). Check --url or TOLLGATE_URL.`;
  return new Failure('unreachable', message, { isTransient: status >= 500 });
}

function dataOf<Result>({ data, errors }: GraphQLResult<Result>): Result {
  const [error] = errors ?? [];
  if (!error) return data!;
  const { code, retryable = false, field, errors: values } = error.extensions ?? {};
  const place = field ? ` (${field})` : '';
  const where = values?.map(({ pointer, message }) => `\n  ${pointer}: ${message}`).join('') ?? place;
  const isTransient = retryable;
  throw new Failure(isTransient ? 'unreachable' : 'refused', `${error.message}${where}${ADVICE[code ?? ''] ?? ''}`, {
    isTransient,
    ...(code && { code }),
  });
}

/** Advice for people at a terminal, added to the service's message. */
const ADVICE: Readonly<Record<string, string>> = {
  UNAUTHENTICATED: ' Set TOLLGATE_API_KEY to an API key, or TOLLGATE_TOKEN to a token that has not expired.',
};
