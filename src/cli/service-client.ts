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

/** A client for the service's GraphQL API, and for REST API paths that the SDK doesn't cover. */
export function createServiceClient({ url, credential }: { url: string; credential: string }) {
  const origin = url.replace(/\/+$/, '');
  const endpoint = `${origin}/graphql`;

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
    /** Reads a path from the REST API. @throws Failure for the same reasons as `run`. */
    async get<Result>(path: string, signal: AbortSignal): Promise<Result> {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MILLISECONDS)]);
      const headers = { authorization: `Bearer ${credential}`, 'user-agent': `tollgate-cli/${VERSION}` };
      const sent = request(url.replace(/\/+$/, '') + path, { headers, signal: limited });
      const { text, status } = await noteIfSlow(textOf(sent, signal), waitingFor(url));
      return resultOf<Result>(text, status, url);
    },

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

    /**
     * Downloads a file from the REST API.
     *
     * @throws Failure for the same reasons as `run`.
     */
    async download(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
      const late = new AbortController();
      const timer = setTimeout(
        () => late.abort(new DOMException('', 'TimeoutError')),
        REQUEST_TIMEOUT_MILLISECONDS,
      ).unref();
      const headers = { authorization: `Bearer ${credential}`, 'user-agent': `tollgate-cli/${VERSION}` };
      const sent = request(origin + path, { headers, signal: AbortSignal.any([signal, late.signal]) });
      const response = await noteIfSlow(sent, waitingFor(url));
      clearTimeout(timer);
      if (response.ok && response.body && response.headers.has('content-disposition')) return response.body;
      throw failureOf(await response.text(), response.status, url);
    },
  };
}

type Problem = { detail?: string; code?: string; errors?: FieldError[] };

/** Reads a REST response. Problems become the errors that GraphQL would have returned. */
function resultOf<Result>(text: string, status: number, url: string): Result {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw notTollgate(url, status);
  }
  if (status < 300) return body as Result;
  const { detail, code, errors = [] } = body as Problem;
  if (!detail || !code) throw notTollgate(url, status);
  const retryable = status === 429 || status >= 500;
  const extensions = { code, retryable, ...(errors.length > 0 && { errors }) };
  return dataOf<Result>({ errors: [{ message: detail, extensions }] });
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

/** The failure for an error response from the REST API (RFC 9457). */
function failureOf(text: string, status: number, url: string): Failure {
  try {
    const { detail, code, errors = [] } = JSON.parse(text) as { detail: string; code: string; errors?: FieldError[] };
    const isTransient = status === 429 || status >= 500;
    if (!code) return notTollgate(url, status);
    const message = `${detail}${otherErrors(errors)}${adviceFor(code)}`;
    return new Failure(isTransient ? 'unreachable' : 'refused', message, { isTransient, code });
  } catch {
    return notTollgate(url, status);
  }
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
