import type { FieldError, Problem } from './generated.ts';

/** A code from the service's catalog or, if there was no usable response, one of the client's own codes. */
export type TollgateErrorCode = Problem['code'] | 'CONNECTION_FAILED' | 'TIMED_OUT' | 'INVALID_RESPONSE';

type Details = {
  status?: number | undefined;
  requestId?: string | undefined;
  errors?: FieldError[] | undefined;
  retryAfterSeconds?: number | undefined;
  documentationUrl?: string | undefined;
  cause?: unknown;
};

/**
 * The error that the client throws for every failure, except an abort by your own `AbortSignal`. `message` says what to
 * do.
 */
export class TollgateError extends Error {
  override readonly name = 'TollgateError';
  readonly code: TollgateErrorCode;
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** Identifies the request in the service's log. */
  readonly requestId: string | undefined;
  /** The invalid fields of the request. */
  readonly errors: FieldError[];
  /** How long the service asked the client to wait. */
  readonly retryAfterSeconds: number | undefined;
  /** The page about the error in the service's documentation. */
  readonly documentationUrl: string | undefined;

  constructor(code: TollgateErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.requestId = details.requestId;
    this.errors = details.errors ?? [];
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.documentationUrl = details.documentationUrl;
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

type GraphQLError = {
  message: string;
  extensions?: { code?: Problem['code']; requestId?: string; errors?: FieldError[] };
};

/** Reads the error from a response: a problem (RFC 9457), GraphQL errors, or a proxy's error page. */
export function errorOfResponse(response: Response, text: string): TollgateError {
  const details = {
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: secondsOf(response.headers.get('retry-after')),
  };
  const value = parsed(text);
  const body = (isObject(value) ? value : {}) as Partial<Problem> & { errors?: unknown };
  if (body.code) {
    const documentationUrl = resolved(body.type, response.url);
    const message = body.detail ?? body.title ?? body.code;
    return new TollgateError(body.code, message, { ...details, documentationUrl, errors: body.errors });
  }
  const [first] = Array.isArray(body.errors) ? (body.errors as GraphQLError[]) : [];
  if (first?.extensions?.code) return errorOfGraphQL(first, details);
  const message = redirectOf(response) ?? `The response isn't from Tollgate (status ${response.status}).`;
  return new TollgateError('INVALID_RESPONSE', message, details);
}

/** Names only the origin, because the rest may contain a secret. Browsers hide it altogether. */
function redirectOf({ type, status, headers, url }: Response): string | undefined {
  if (type !== 'opaqueredirect' && !REDIRECTS.has(status)) return undefined;
  const location = headers.get('location') ?? '';
  const origin = location !== '' && URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : '';
  return `The service can't be reached at this URL, which redirects${origin}. Redirects aren't followed.`;
}

export function errorOfGraphQL({ message, extensions }: GraphQLError, details: Details = {}): TollgateError {
  return new TollgateError(extensions?.code ?? 'INTERNAL', message, {
    ...details,
    requestId: details.requestId ?? extensions?.requestId,
    errors: extensions?.errors,
  });
}

/** A problem's `type` is a relative URL if the service doesn't know its public URL. */
function resolved(type: string | undefined, base: string): string | undefined {
  return type !== undefined && URL.canParse(type, base) ? new URL(type, base).href : undefined;
}

/** The value of a JSON text. Undefined if it isn't valid JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a parsed JSON value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `Retry-After` is a number of seconds or a date. */
function secondsOf(value: string | null): number | undefined {
  if (value === null) return undefined;
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
