import { errorOfResponse, isObject, parsed, TollgateError } from './errors.ts';
import type { CreateOptions, TollgateOptions } from './options.ts';
import { backoffSeconds, wait } from './wait.ts';

export type Query = Readonly<Record<string, unknown>>;
export type Call = {
  method: string;
  path: string;
  query?: Query | undefined;
  body?: unknown;
  options: CreateOptions;
  /** Whether a response can be from the service. By default, it can be any object. */
  isExpected?: (body: unknown) => boolean;
};
export type Transport = ReturnType<typeof createTransport>;

const DEFAULT_TIMEOUT_SECONDS = 30;
const DEFAULT_RETRIES = 4;
/**
 * Retries start at most this long after the first attempt. The service doesn't rerun a request with an unknown outcome
 * for 60 s (docs/rest.md#idempotency), so no retry can repeat a change.
 */
const RETRY_WINDOW_SECONDS = 50;
const RETRIED_STATUSES: ReadonlySet<number | undefined> = new Set([429, 502, 503, 504]);
const RETRIED_CODES: ReadonlySet<string> = new Set(['CONNECTION_FAILED', 'TIMED_OUT', 'IDEMPOTENCY_IN_FLIGHT']);

/** Sends requests to the service, with the credential, a timeout, and retries. */
export function createTransport({ baseUrl, apiKey, token, ...defaults }: TollgateOptions) {
  if (!apiKey === !token) throw new TypeError('Set either apiKey or token.');
  const origin = baseUrl.replace(/\/+$/, '');

  async function open(path: string, init: RequestInit & { headers: Record<string, string> }): Promise<Response> {
    const credential = apiKey ?? (typeof token === 'function' ? await token() : token);
    const headers = { ...init.headers, authorization: `Bearer ${credential}` };
    // The service never redirects these requests, so something else does. It must get neither the credential nor the body.
    return (defaults.fetch ?? fetch)(origin + path, { ...init, headers, redirect: 'manual' });
  }

  async function attempt(call: Call, idempotencyKey: string): Promise<unknown> {
    const { method, path, query, body, options, isExpected = isObject } = call;
    const { signal, timeoutSeconds = defaults.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS } = options;
    const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
    const headers = {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method === 'POST' && { 'idempotency-key': idempotencyKey }),
    };
    try {
      const response = await open(path + queryText(query), {
        method,
        headers,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return resultOf(response, await response.text(), isExpected);
    } catch (error) {
      throw connectionError(error, signal, timeoutSeconds);
    }
  }

  /** Starts a download. The timeout applies to the start of the response, and then to each chunk. */
  async function openFile({ path, query, options }: Call): Promise<ReadableStream<Uint8Array>> {
    const { signal, timeoutSeconds = defaults.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS } = options;
    const ending = new AbortController();
    const inTime = async <T>(work: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => ending.abort(new DOMException('', 'TimeoutError')), timeoutSeconds * 1000);
      try {
        return await work;
      } catch (error) {
        throw connectionError(error, signal, timeoutSeconds);
      } finally {
        clearTimeout(timer);
      }
    };
    const either = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal;
    const response = await inTime(open(path + queryText(query), { headers: {}, signal: either }));
    if (!response.ok || !response.body || !isExport(response))
      throw errorOfResponse(response, await inTime(response.text()));
    const reader = response.body.getReader();
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await inTime(reader.read());
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  async function withRetries<T>(call: Call, attemptOnce: (idempotencyKey: string) => Promise<T>) {
    const { signal, maxRetries = defaults.maxRetries ?? DEFAULT_RETRIES } = call.options;
    const idempotencyKey = call.options.idempotencyKey ?? crypto.randomUUID();
    const lastStart = Date.now() + RETRY_WINDOW_SECONDS * 1000;
    let mayHaveRun = false;
    for (let retry = 0; ; retry++) {
      try {
        return await attemptOnce(idempotencyKey);
      } catch (error) {
        if (!(error instanceof TollgateError)) throw error;
        // The response to an earlier attempt was lost, and that attempt deleted the resource.
        if (call.method === 'DELETE' && error.status === 404 && mayHaveRun) return undefined;
        const seconds = Math.max(backoffSeconds(retry), error.retryAfterSeconds ?? 0);
        if (retry >= maxRetries || !isRetried(error) || Date.now() + seconds * 1000 > lastStart) throw error;
        mayHaveRun ||= error.status !== 429;
        await wait(seconds, signal);
      }
    }
  }

  return {
    /** Sends one request without retries, such as a subscription. */
    open,

    /**
     * Sends a request, and returns the parsed response, or undefined if it has no body.
     *
     * @throws TollgateError if the request and all of its retries fail.
     */
    send: (call: Call): Promise<unknown> => withRetries(call, (idempotencyKey) => attempt(call, idempotencyKey)),

    /**
     * Downloads a file. Retries only until the response starts. Rejects with the same errors as `send`, and so does
     * reading the file.
     */
    async download(call: Call): Promise<ReadableStream<Uint8Array>> {
      return (await withRetries(call, () => openFile(call)))!;
    },
  };
}

function isRetried({ status, code }: TollgateError): boolean {
  return RETRIED_STATUSES.has(status) || RETRIED_CODES.has(code);
}

/** Checks the content type, because pages of other origins can't read `Content-Disposition`. */
function isExport({ headers }: Response): boolean {
  return /^(text\/csv|application\/jsonl)\b/.test(headers.get('content-type') ?? '');
}

function resultOf(response: Response, text: string, isExpected: (body: unknown) => boolean): unknown {
  if (!response.ok) throw errorOfResponse(response, text);
  if (response.status === 204) return undefined;
  const body = parsed(text);
  if (!isExpected(body)) throw errorOfResponse(response, '');
  return body;
}

/** Explains why there is no response. An abort by the caller's signal is returned unchanged. */
export function connectionError(error: unknown, signal: AbortSignal | undefined, timeoutSeconds: number): unknown {
  if (error instanceof TollgateError || signal?.aborted) return error;
  if ((error as Error).name === 'TimeoutError') {
    return new TollgateError('TIMED_OUT', `There was no response within ${timeoutSeconds} seconds.`, { cause: error });
  }
  return new TollgateError('CONNECTION_FAILED', 'The service could not be reached.', { cause: error });
}

/** Lists are repeated: `?status=FAILED&status=SKIPPED`. */
function queryText(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) if (item != null) parameters.append(name, String(item));
  }
  const text = parameters.toString();
  return text && `?${text}`;
}
