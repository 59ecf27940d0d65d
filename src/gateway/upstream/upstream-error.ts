import { toEgressError } from '../../egress/egress-error.ts';
import { addressRefusal } from '../../features/urls/refusal.ts';

/** The reason if the buyer disconnected before the upstream had the request. */
export const BUYER_GONE = 'buyer_gone';
/** The reason if the upstream had too little time left, because the buyer took so long to send the request body. */
export const BUYER_SLOW = 'buyer_slow';
/** The reason if the response or its headers are too large to be passed on. */
export const UPSTREAM_RESPONSE_TOO_LARGE = 'upstream_response_too_large';
/** The reason if there is no memory for another response. */
export const GATEWAY_BUSY = 'gateway_busy';
/** The reason if the operator's proxy for outgoing requests didn't open a connection. */
export const GATEWAY_PROXY_FAILED = 'gateway_proxy_failed';

/**
 * The upstream returned no response that can be passed on. `reason` is stable, the message is safe to show to buyers, and
 * `sellerMessage` can say more about the upstream and how to fix it.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly reason: string;
  readonly isTimeout: boolean;
  /** The message for the seller. By default, it is the same. */
  readonly sellerMessage: string;
  /** The upstream's status, if it responded. */
  readonly statusCode: number | undefined;
  constructor(
    reason: string,
    message: string,
    options: { cause?: unknown; isTimeout?: boolean; statusCode?: number; sellerMessage?: string } = {},
  ) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.isTimeout = options.isTimeout ?? false;
    this.statusCode = options.statusCode;
    this.sellerMessage = options.sellerMessage ?? message;
  }
}

export function buyerGone(): UpstreamError {
  return new UpstreamError(BUYER_GONE, 'The buyer closed the connection.');
}

export function buyerSlow(): UpstreamError {
  const message = 'The request body took so long to arrive that the upstream had too little time left to respond.';
  return new UpstreamError(BUYER_SLOW, message, { isTimeout: true });
}

/**
 * The time limit for the whole response was reached.
 *
 * @param advice for the seller.
 */
export function stillSending(limitMilliseconds: number, advice?: string): UpstreamError {
  return cutOff(`The upstream was still sending its response after ${inSeconds(limitMilliseconds)}.`, advice);
}

/**
 * The upstream has sent part of its response, and then nothing for too long.
 *
 * @param advice for the seller.
 */
export function stoppedSending(idleMilliseconds: number, advice?: string): UpstreamError {
  const pause = inSeconds(idleMilliseconds);
  return cutOff(`The upstream stopped in the middle of its response, and sent nothing for ${pause}.`, advice);
}

function cutOff(message: string, advice: string | undefined): UpstreamError {
  const sellerMessage = advice === undefined ? message : `${message} ${advice}`;
  return new UpstreamError('upstream_timeout', message, { isTimeout: true, sellerMessage });
}

function inSeconds(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  return `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
}

export function gatewayBusy(): UpstreamError {
  return new UpstreamError(GATEWAY_BUSY, 'The gateway is holding too many responses right now.');
}

/** The seller's message for a response with a status of 400 or above. */
export function statusMessage(statusCode: number): string {
  return `The upstream responded with status ${statusCode}.`;
}

/** What a failed call means to the buyer and the seller. */
export function failureOf(cause: unknown): UpstreamError {
  if (cause instanceof UpstreamError) return cause;
  const { errorClass, message } = toEgressError(cause);
  if (errorClass === 'proxy_error') return new UpstreamError(GATEWAY_PROXY_FAILED, message, { cause });
  const isTimeout = errorClass === 'timeout' || errorClass === 'connect_timeout';
  if (isTimeout)
    return new UpstreamError('upstream_timeout', "The upstream didn't respond in time.", { cause, isTimeout });
  return errorClass === 'target_not_allowed' ? upstreamNotAllowed(cause) : unreachable({ cause });
}

/** The upstream's address is neither public nor open to its project. Only the seller learns that. */
export function upstreamNotAllowed(cause?: unknown): UpstreamError {
  return unreachable({ cause, sellerMessage: addressRefusal('UPSTREAM_ALLOW') });
}

function unreachable(options: { cause: unknown; sellerMessage?: string }): UpstreamError {
  const message = "The upstream couldn't be reached, or closed the connection.";
  return new UpstreamError('upstream_unreachable', message, options);
}
