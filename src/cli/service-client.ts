import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { print } from 'graphql';
import { VERSION } from '../version.ts';
import { adviceFor, Failure, type FieldError, otherErrors } from './failure.ts';
import { connectionFailure, request } from './http.ts';
import { noteIfSlow, waitingFor } from './slow.ts';

export type ServiceClient = ReturnType<typeof createServiceClient>;

type GraphQLError = {
  message: string;
  extensions?: { code?: string; retryable?: boolean; field?: string; errors?: FieldError[] };
};
type GraphQLResult<Result> = { data?: Result | null; errors?: GraphQLError[] };

const REQUEST_TIMEOUT_MILLISECONDS = 30_000;

/** A client for the service's GraphQL API. The SDK is the client for the REST API. */
export function createServiceClient({ url, credential }: { url: string; credential: string }) {
  const endpoint = `${url.replace(/\/+$/, '')}/graphql`;

  function post(document: string, variables: unknown, signal: AbortSignal): Promise<Response> {
    return request(endpoint, {
      method: 'POST',
      headers: {
        accept: 'application/graphql-response+json',
        authorization: `Bearer ${credential}`,
        'content-type': 'application/json',
        'tollgate-client': 'cli',
        'user-agent': `tollgate-cli/${VERSION}`,
      },
      body: JSON.stringify({ query: document, variables }),
      signal,
    });
  }

  /** Sends a request and reads the response. @throws Failure if there is no response */
  async function textOf(sent: Promise<Response>, signal: AbortSignal): Promise<{ text: string; status: number }> {
    const response = await sent;
    const text = await response.text().catch((error) => {
      throw connectionFailure(error, url, signal);
    });
    return { text, status: response.status };
  }

  return {
    /** @throws Failure that says what the service rejected, or that the service isn't responding. */
    async run<Result, Variables>(
      document: TypedDocumentNode<Result, Variables>,
      variables: Variables,
      signal: AbortSignal,
    ): Promise<Result> {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MILLISECONDS)]);
      const sent = post(print(document), variables, limited);
      const { text, status } = await noteIfSlow(textOf(sent, signal), waitingFor(url));
      return dataOf(parse<Result>(text, status, url));
    },
  };
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
  const where = values ? otherErrors(values) : place;
  const isTransient = retryable;
  throw new Failure(isTransient ? 'unreachable' : 'refused', `${error.message}${where}${adviceFor(code)}`, {
    isTransient,
    ...(code && { code }),
    ...(values && { errors: values }),
  });
}
