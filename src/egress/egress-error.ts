import { errors } from 'undici';
import { NO_PHASES, type Phases, phasesOf } from './phases.ts';

/**
 * The reasons a request got no response, each with a message that is safe to show to customers. Messages contain no
 * addresses, and all rejected targets get the same message, so that nobody can use messages to map a private network.
 */
export const ERROR_MESSAGES = {
  target_not_allowed: 'The target address must be public.',
  dns_error: "The host name couldn't be resolved.",
  connection_refused: 'The connection was refused, or the host is unreachable.',
  connection_reset: 'The connection was closed before the response was complete.',
  connect_timeout: "Couldn't connect in time.",
  timeout: "The response didn't finish in time.",
  tls_error: "Couldn't establish a secure connection.",
  protocol_error: "The response isn't valid HTTP.",
  proxy_error: "Our proxy for outgoing requests didn't open a connection.",
  aborted: 'The request was aborted.',
  unknown: "The request couldn't be sent.",
} as const;

export type EgressErrorClass = keyof typeof ERROR_MESSAGES;

const UNSENT: ReadonlySet<string> = new Set<EgressErrorClass>([
  'target_not_allowed',
  'dns_error',
  'connection_refused',
  'connect_timeout',
  'tls_error',
  'proxy_error',
]);

/** Whether a request that failed with this class was never sent. After any other failure, it may have arrived. */
export function isUnsent(errorClass: string): boolean {
  return UNSENT.has(errorClass);
}

const CLASSES_BY_CODE: Record<string, EgressErrorClass> = {
  ECONNREFUSED: 'connection_refused',
  EHOSTUNREACH: 'connection_refused',
  EHOSTDOWN: 'connection_refused',
  ENETUNREACH: 'connection_refused',
  ENETDOWN: 'connection_refused',
  EADDRNOTAVAIL: 'connection_refused',
  ECONNRESET: 'connection_reset',
  ECONNABORTED: 'connection_reset',
  EPIPE: 'connection_reset',
  ETIMEDOUT: 'connection_reset',
  UND_ERR_SOCKET: 'connection_reset',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'protocol_error',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol_error',
  UND_ERR_ABORTED: 'aborted',
  UND_ERR_CLOSED: 'aborted',
  UND_ERR_DESTROYED: 'aborted',
  ABORT_ERR: 'aborted',
  EPROTO: 'tls_error',
};

// Error codes for TLS: from Node, from OpenSSL, and for certificates
// (https://nodejs.org/api/tls.html#x509-certificate-error-codes).
const TLS_CODES =
  /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_|ERROR_IN_C)/;

// The codes of these errors (such as `ENOTFOUND`) tell the server's owner what to fix, and reveal nothing about us.
const CLASSES_WITH_CODE: ReadonlySet<EgressErrorClass> = new Set(['dns_error', 'tls_error']);

export type EgressErrorOptions = { message?: string; cause?: unknown; durationMilliseconds?: number; phases?: Phases };

/** Thrown for a request that got no usable response. The message is safe to show. The cause is only for the log. */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly errorClass: EgressErrorClass;
  readonly durationMilliseconds: number;
  /** How far the request got, and how long each phase took. */
  readonly phases: Phases;

  constructor(errorClass: EgressErrorClass, options: EgressErrorOptions = {}) {
    super(options.message ?? messageOf(errorClass, options.cause), { cause: options.cause });
    this.errorClass = errorClass;
    this.durationMilliseconds = options.durationMilliseconds ?? 0;
    this.phases = options.phases ?? NO_PHASES;
  }
}

/** Classifies anything that undici, TLS, or the operating system throws. */
export function toEgressError(error: unknown, durationMilliseconds = 0): EgressError {
  const phases = phasesOf(error);
  if (error instanceof EgressError) {
    const { errorClass, message, cause } = error;
    return new EgressError(errorClass, { message, cause, durationMilliseconds, phases });
  }
  return new EgressError(classOf(error), { cause: error, durationMilliseconds, phases });
}

function classOf(error: unknown): EgressErrorClass {
  const code = codeOf(error);
  // Parser errors have no specific code.
  if (error instanceof errors.HTTPParserError) return 'protocol_error';
  return TLS_CODES.test(code) ? 'tls_error' : (CLASSES_BY_CODE[code] ?? 'unknown');
}

/** What a server wants, for TLS codes that its owner can't be expected to know. */
const WANTS: readonly [codes: RegExp, advice: string][] = [
  [/^ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED$/, 'The server requires a client certificate.'],
  [
    /ALERT_(HANDSHAKE_FAILURE|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_UNKNOWN)$/,
    'The server refused the connection. It may require a client certificate, or another one.',
  ],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/,
    "The server's certificate doesn't come from an authority that is trusted for it.",
  ],
];

function messageOf(errorClass: EgressErrorClass, cause: unknown): string {
  const code = CLASSES_WITH_CODE.has(errorClass) ? codeOf(cause) : '';
  const wanted = WANTS.find(([codes]) => codes.test(code))?.[1];
  if (wanted) return `${wanted.slice(0, -1)} (${code}).`;
  return code ? `${ERROR_MESSAGES[errorClass].slice(0, -1)} (${code}).` : ERROR_MESSAGES[errorClass];
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
