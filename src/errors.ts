/**
 * The one catalogue of everything a caller can be told went wrong: stable code, HTTP status, and a sentence that tells
 * the caller what to do. REST answers, GraphQL `extensions.code` and the documentation are all drawn from it.
 */
export const ERRORS = {
  BAD_REQUEST: { status: 400, message: 'The request could not be read. Check its syntax and send it again.' },
  MALFORMED_JSON: { status: 400, message: 'The body is not valid JSON in UTF-8. Send one JSON object.' },
  GRAPHQL_INVALID: {
    status: 400,
    message: 'The GraphQL document is not valid for this schema. Correct what the message names.',
  },
  GRAPHQL_TOO_COMPLEX: {
    status: 400,
    message: 'The GraphQL document asks for too much at once. Split it or lower `first`.',
  },
  PAYMENT_MALFORMED: {
    status: 400,
    message: 'The payment header could not be read. Make it anew of the terms of a 402 answer.',
  },
  UNAUTHENTICATED: {
    status: 401,
    message: 'Send `Authorization: Bearer` with an API key or a token of a configured issuer.',
  },
  FORBIDDEN: { status: 403, message: 'This credential may not do that. Use a user token of the owner.' },
  CONNECTOR_LIMIT_REACHED: {
    status: 403,
    message: 'Your tier allows no more connectors. Delete one or move to a higher tier.',
  },
  WEBHOOK_LIMIT_REACHED: {
    status: 403,
    message: 'Your tier allows no more webhooks in this project. Delete one or move to a higher tier.',
  },
  NOT_FOUND: { status: 404, message: 'There is no such resource. Check the path and the identifiers in it.' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This path does not answer that method. See the `Allow` header.' },
  NOT_ACCEPTABLE: {
    status: 406,
    message: 'There is no answer in a form that `Accept` allows. Accept `application/json`.',
  },
  REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive. Send it again in one go.' },
  CONFLICT: {
    status: 409,
    message: 'The change conflicts with something that exists already. Read its state, then decide.',
  },
  HOST_RESERVED: {
    status: 409,
    message: 'Another account released this host name less than 30 days ago. Choose another one, or wait.',
  },
  IDEMPOTENCY_IN_FLIGHT: {
    status: 409,
    message: 'The first request with this Idempotency-Key is still running. Wait and send it again.',
  },
  PAYMENT_IN_PROGRESS: {
    status: 409,
    message: 'A request with this payment is still running. Wait, then repeat the same request with the same payment.',
  },
  PAYMENT_REUSED: {
    status: 409,
    message: 'This payment was made for another request. Sign a new one for this request.',
  },
  PAYMENT_ANSWER_GONE: {
    status: 410,
    message: 'This payment was settled and answered, and its answer is no longer kept. Sign a new one to ask again.',
  },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The body is larger than this service accepts. Send a smaller one.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'Send the body as `Content-Type: application/json`.' },
  VALIDATION_FAILED: { status: 422, message: 'Some values are not accepted. See `errors` for each of them.' },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key was used with another request. Use a new key for a new request.',
  },
  RATE_LIMITED: { status: 429, message: 'Too many requests. Wait for the time given in `Retry-After`.' },
  FUNDS_IN_USE: {
    status: 429,
    message:
      'The payments of this wallet that are in progress take all the money it has. Nothing was charged: wait, then repeat the request with the same payment.',
  },
  HEADERS_TOO_LARGE: {
    status: 431,
    message: 'The path or the headers are larger than this service accepts. Send less, 16 KiB together.',
  },
  INTERNAL: { status: 500, message: 'Something went wrong on our side. Send the request again later.' },
  OUTCOME_UNCERTAIN: {
    status: 500,
    message: 'The request was stopped, and its changes may have been made. Read the state before you send it again.',
  },
  UPSTREAM_FAILED: {
    status: 502,
    message:
      'The API behind this endpoint gave no answer that could be passed on. Nothing was charged: sign a new payment to try again.',
  },
  FACILITATOR_UNAVAILABLE: {
    status: 503,
    message: 'Payments cannot be verified right now. Nothing was charged: repeat the request with the same payment.',
  },
  PAYMENT_UNRESOLVED: {
    status: 503,
    message:
      'Whether the payment was settled is not known yet. Do not pay again: repeat the same request with the same payment.',
  },
  UNAVAILABLE: { status: 503, message: 'The service cannot answer right now. Send the request again later.' },
  UPSTREAM_TIMEOUT: {
    status: 504,
    message:
      'The API behind this endpoint did not answer in time. Nothing was charged: sign a new payment to try again.',
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** One refused value: an RFC 6901 JSON pointer into the request body (`/walletAddress`) and what to change. */
export type FieldError = { pointer: string; message: string };

export type AppErrorOptions = {
  /** Replaces the catalogue's sentence when a more exact one helps the caller. Never put internals into it. */
  detail?: string;
  fields?: FieldError[];
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  cause?: unknown;
};

const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  'RATE_LIMITED',
  'FUNDS_IN_USE',
  'IDEMPOTENCY_IN_FLIGHT',
  'PAYMENT_IN_PROGRESS',
  'FACILITATOR_UNAVAILABLE',
  'PAYMENT_UNRESOLVED',
  'INTERNAL',
  'UNAVAILABLE',
]);

/** An error of the catalogue. Everything else that is thrown is masked as `INTERNAL` and logged. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly fields: FieldError[];
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    super(options.detail ?? ERRORS[code].message, { cause: options.cause });
    this.code = code;
    this.status = ERRORS[code].status;
    this.fields = options.fields ?? [];
    this.retryable = RETRYABLE.has(code);
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? {};
  }
}

/** Shorthand for the commonest error: one field that is not accepted (422). */
export function invalidField(pointer: string, message: string): AppError {
  return new AppError('VALIDATION_FAILED', { fields: [{ pointer, message }] });
}

/** The one answer for "not yours" and "not there" alike, so that existence stays a secret. */
export function notFound(): AppError {
  return new AppError('NOT_FOUND');
}
