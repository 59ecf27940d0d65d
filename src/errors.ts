/**
 * Every error that callers can get: a stable code, the HTTP status, and a message that says what to do. REST responses,
 * GraphQL errors, and the documentation all use this catalog.
 */
export const ERRORS = {
  BAD_REQUEST: { status: 400, message: 'The request could not be parsed. Check its syntax, then send it again.' },
  MALFORMED_JSON: {
    status: 400,
    message: "The request body isn't valid UTF-8-encoded JSON. Send a single JSON object.",
  },
  GRAPHQL_INVALID: {
    status: 400,
    message: 'The GraphQL document does not match the schema. Fix it, then send it again.',
  },
  GRAPHQL_TOO_COMPLEX: {
    status: 400,
    message:
      'The GraphQL document is too long, too deep, or too expensive. Split it into smaller documents, or lower `first`.',
  },
  RESPONSE_TOO_LARGE: {
    status: 400,
    message: 'The response is larger than 8 MB. Request fewer items or fields.',
  },
  PAYMENT_MALFORMED: {
    status: 400,
    message: 'The payment header is invalid. Create a new payment from the terms in a 402 response.',
  },
  UNAUTHENTICATED: {
    status: 401,
    message: 'Send `Authorization: Bearer` with an API key or a token from a configured issuer.',
  },
  RECENT_SIGN_IN_REQUIRED: {
    status: 401,
    message: 'You must have signed in recently to do this. Sign in again, then retry with the new token.',
  },
  FORBIDDEN: {
    status: 403,
    message: 'Your API key or your role in the project does not allow this. See `detail` for what it requires.',
  },
  ACCOUNT_BLOCKED: {
    status: 403,
    message:
      'The operator has blocked this account, or the account of the project’s owner. See `detail` for what to do.',
  },
  CONNECTOR_LIMIT_REACHED: {
    status: 403,
    message: 'You have reached the connector limit for your tier. Delete a connector or upgrade.',
  },
  WEBHOOK_LIMIT_REACHED: {
    status: 403,
    message: 'This project has reached the webhook limit for your tier. Delete a webhook or upgrade.',
  },
  PROJECT_LIMIT_REACHED: {
    status: 403,
    message: 'Your account has reached its project limit. Delete a project.',
  },
  ENDPOINT_LIMIT_REACHED: {
    status: 403,
    message: 'This project has reached its endpoint limit. Delete an endpoint, or create another project.',
  },
  API_KEY_LIMIT_REACHED: {
    status: 403,
    message: 'This project has reached its API key limit. Revoke a key.',
  },
  REPLAY_LIMIT_REACHED: {
    status: 403,
    message: 'Your account has reached its daily limit for replayed deliveries. Replay fewer deliveries, or wait.',
  },
  SCHEMA_LIMIT_REACHED: {
    status: 403,
    message:
      'Your account has reached its daily limit for the schemas and examples of endpoints. Wait, or make them smaller.',
  },
  NOT_FOUND: { status: 404, message: 'Not found. Check the path and the IDs in it.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'Method not allowed. See the `Allow` header for the methods this path supports.',
  },
  NOT_ACCEPTABLE: {
    status: 406,
    message: 'No response format matches the `Accept` header. Accept `application/json`.',
  },
  REQUEST_TIMEOUT: {
    status: 408,
    message: 'The request took too long to arrive. Check your connection, then send it again.',
  },
  CONFLICT: {
    status: 409,
    message: 'This change conflicts with an existing resource. Check its current state before you retry.',
  },
  HOST_RESERVED: {
    status: 409,
    message: 'Another account released this domain less than 30 days ago. Choose another one, or wait.',
  },
  IDEMPOTENCY_IN_FLIGHT: {
    status: 409,
    message:
      'The first request with this `Idempotency-Key` is still running, or ended less than a minute ago without a known result. Wait, then retry.',
  },
  IDEMPOTENCY_RESPONSE_NOT_STORED: {
    status: 409,
    message:
      'The first request with this `Idempotency-Key` made its changes, but its response was not stored. Read the current state instead of repeating the request.',
  },
  PAYMENT_IN_PROGRESS: {
    status: 409,
    message: 'A request with this payment is still running. Wait, then retry the same request with the same payment.',
  },
  PAYMENT_REUSED: {
    status: 409,
    message: 'This payment was already used for another request. Sign a new payment for this request.',
  },
  PAYMENT_RESPONSE_GONE: {
    status: 410,
    message:
      'This payment was settled, but its response is no longer stored. Sign a new payment to send the request again.',
  },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The request body is too large. Send a smaller one.' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'Send the request body as `Content-Type: application/json`.' },
  VALIDATION_FAILED: { status: 422, message: 'One or more fields are invalid. See `errors` for details.' },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'This `Idempotency-Key` was used with a different request. Use a new key for a new request.',
  },
  RATE_LIMITED: { status: 429, message: 'Too many requests. Wait for the number of seconds in `Retry-After`.' },
  FUNDS_IN_USE: {
    status: 429,
    message:
      'Payments in progress already tie up all the funds in this wallet. Nothing was charged. Wait, then retry the request with the same payment.',
  },
  HEADERS_TOO_LARGE: { status: 431, message: 'The path and headers are too large. Keep them under 16 KiB in total.' },
  INTERNAL: { status: 500, message: 'Something went wrong on our side. Retry later.' },
  OUTCOME_UNCERTAIN: {
    status: 500,
    message:
      'The request was interrupted, and its changes may have been applied. Check the current state before you retry.',
  },
  UPSTREAM_FAILED: {
    status: 502,
    message:
      'The API behind this endpoint did not return a usable response. If you sent a payment, the detail says whether you were charged.',
  },
  FACILITATOR_REJECTED: {
    status: 502,
    message:
      'The facilitator rejected the gateway’s request. Nothing was charged. Do not retry until the operator has fixed this.',
  },
  FACILITATOR_UNAVAILABLE: {
    status: 503,
    message: 'Payments cannot be verified right now. Nothing was charged. Retry the request with the same payment.',
  },
  PAYMENT_UNRESOLVED: {
    status: 503,
    message:
      'The outcome of this payment is still unknown. Do not pay again. Retry the same request with the same payment.',
  },
  UNAVAILABLE: { status: 503, message: 'The service is temporarily unavailable. Retry later.' },
  UPSTREAM_TIMEOUT: {
    status: 504,
    message:
      'The API behind this endpoint did not respond in time. If you sent a payment, the detail says whether you were charged.',
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** An invalid field: an RFC 6901 JSON pointer into the request body, such as `/walletAddress`, and what to change. */
export type FieldError = { pointer: string; message: string };

/** Writes a path as an RFC 6901 JSON pointer. */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export type AppErrorOptions = {
  /** Replaces the default message where a more specific one helps the caller. Never put internals in it. */
  detail?: string;
  fields?: FieldError[];
  retryAfterSeconds?: number;
  /** How recently the person must have signed in. */
  maxAgeSeconds?: number;
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

/** How many invalid fields an error lists. A body can have tens of thousands. */
export const MAX_FIELD_ERRORS = 100;

/** An error from `ERRORS`. Any other error is logged and masked as `INTERNAL`. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly fields: FieldError[];
  readonly retryable: boolean;
  readonly retryAfterSeconds: number | undefined;
  readonly maxAgeSeconds: number | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    super(options.detail ?? describeFirst(options.fields) ?? ERRORS[code].message, { cause: options.cause });
    this.code = code;
    this.status = ERRORS[code].status;
    this.fields = options.fields?.slice(0, MAX_FIELD_ERRORS) ?? [];
    this.retryable = RETRYABLE.has(code);
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.maxAgeSeconds = options.maxAgeSeconds;
    this.headers = options.headers ?? {};
  }
}

const MAX_POINTER_LENGTH = 100;

/**
 * Names an invalid field, so the message alone tells the caller what to fix. A misspelled field comes first, because it
 * is often the reason another one is missing.
 */
function describeFirst(fields: FieldError[] = []): string | undefined {
  const first = fields.find(({ message }) => message.startsWith('Unknown ')) ?? fields[0];
  if (!first) return undefined;
  return sentenceAbout(first) + whereToSee(fields.length);
}

function whereToSee(count: number): string {
  if (count === 1) return '';
  if (count <= MAX_FIELD_ERRORS) return ' See `errors` for the other invalid fields.';
  return ` See \`errors\` for the first ${MAX_FIELD_ERRORS} of ${count.toLocaleString('en-US')} invalid fields.`;
}

function sentenceAbout({ pointer, message }: FieldError): string {
  const name = pointer.slice(1, MAX_POINTER_LENGTH).toWellFormed().replaceAll('/', '.') || 'request body';
  if (message.startsWith('Unknown parameter')) return message;
  if (message.startsWith('Unknown field.')) return message.replace('field', `field \`${name}\``);
  if (message === 'Required.') return `\`${name}\` is required.`;
  return `Invalid ${name}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

/** The most common error: a single invalid field (422). */
export function invalidField(pointer: string, message: string): AppError {
  return new AppError('VALIDATION_FAILED', { fields: [{ pointer, message }] });
}

/**
 * The error for a resource that doesn't exist or belongs to someone else. It is the same in both cases, so callers
 * can't tell them apart.
 */
export function notFound(): AppError {
  return new AppError('NOT_FOUND');
}
