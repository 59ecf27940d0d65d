/** The signed payload and the terms it must meet, in the format of its x402 version. */
export type FacilitatorRequest = {
  x402Version: 1 | 2;
  paymentPayload: Record<string, unknown>;
  paymentRequirements: Record<string, unknown>;
};

export type FacilitatorVerification = { isValid: true } | { isValid: false; reason: string; message: string };

/**
 * A settlement's outcome, according to the facilitator.
 *
 * `refused`: rejected before anything was sent to the chain, so nothing is charged.
 * `notSent`: the facilitator wasn't reached, so nothing has started.
 * `unavailable`: the facilitator failed, or didn't respond. The settlement may have happened, and a retry may help.
 * `ambiguous`: the settlement may have happened, and only a lookup on the chain can tell. `isDenied`: the facilitator
 * says that it hasn't happened.
 *
 * `advice` is for the operator's log only.
 */
export type FacilitatorSettlement =
  | { kind: 'settled'; transactionHash: string }
  | { kind: 'refused' | 'notSent'; reason: string; message: string; advice?: string }
  | { kind: 'unavailable'; reason: string; message: string; retryAfterSeconds: number | undefined }
  | { kind: 'ambiguous'; reason: string; message: string; isDenied: boolean; transactionHash?: string };

export type SupportedKind = { x402Version: number; scheme: string; network: string };

/** Verifies signatures and settles payments on the chain. */
export type Facilitator = {
  /**
   * @param accountId the seller's account. Accounts take turns.
   * @throws FacilitatorError if there is no usable response.
   */
  verify(request: FacilitatorRequest, accountId?: string): Promise<FacilitatorVerification>;
  /** Never throws: every failure is one of the outcomes. */
  settle(request: FacilitatorRequest, accountId?: string): Promise<FacilitatorSettlement>;
  /** @throws FacilitatorError if there is no usable response. */
  supported(): Promise<SupportedKind[]>;
  /**
   * Sends an empty request, which has no effect, to find out whether an operation can be called.
   *
   * @returns the status of the response. It is usually 400.
   * @throws FacilitatorError if there is no response, or a redirect that isn't followed.
   */
  probe(operation: FacilitatorOperation): Promise<number>;
};

export type FacilitatorOperation = 'verify' | 'settle';

/** With these statuses, a facilitator rejects all requests, no matter which payment they contain. */
export const REJECTS_EVERYTHING: ReadonlySet<number> = new Set([401, 403, 404, 405]);

/**
 * The reason if the facilitator rejected our request itself, for example, its credentials or its address. A retry can't
 * help.
 */
export const FACILITATOR_REJECTED = 'facilitator_rejected';

/** The facilitator returned no usable response. The reason is a stable code and the message is safe to show. */
export class FacilitatorError extends Error {
  override readonly name = 'FacilitatorError';
  readonly reason: 'facilitator_unavailable' | 'facilitator_response_invalid' | typeof FACILITATOR_REJECTED;
  /** What the operator can do about it. Unlike the message, it can contain addresses from the configuration. */
  readonly advice: string | undefined;
  constructor(reason: FacilitatorError['reason'], message: string, options: { cause?: unknown; advice?: string } = {}) {
    const { cause, advice } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.advice = advice;
  }
}

const INVALID_RESPONSE = 'The facilitator returned an invalid response.';
const UNUSABLE = 'facilitator_response_invalid';
const MAX_REASON_CHARACTERS = 200;
/** Request Timeout, Conflict, Too Early, and Too Many Requests. */
const DEPENDS_ON_TIME = new Set([408, 409, 425, 429]);
const TRANSACTION_HASH = /^0x[0-9a-f]{64}$/i;
// Codes are free text (https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md#9-error-handling lists
// some). Codes in these families are returned before a transaction is sent, with the exceptions below.
const REFUSED_BEFORE_SENDING =
  /^(?:invalid_|unsupported_|insufficient_funds$|asset_not_deployed_contract$|undeployed_)/;
// These refer to a transaction that was sent, or to a nonce that this same payment may have used.
const ABOUT_THE_CHAIN = /nonce|transaction_failed|transaction_state|transfer_event|pending|broadcast|simulation/;

/** A transaction was sent, but moved no money. */
const REVERTED = /transaction_failed|transaction_state|revert/;

/** What the reference facilitator means by codes that it sends without a message, and what the buyer can do. */
const WORDS: Readonly<Record<string, string>> = {
  eip6492_factory_not_allowed:
    'The smart wallet isn’t deployed yet, and the facilitator doesn’t deploy wallets of its factory (ERC-6492). The buyer can deploy the wallet, for example, by sending a transaction from it.',
};

/** Reads the response to `/verify`. @throws FacilitatorError if it is unusable. */
export function readVerification(response: unknown): FacilitatorVerification {
  const { isValid, invalidReason, invalidMessage } = fieldsOf(response);
  if (isValid === true) return { isValid };
  if (isValid !== false) throw unusableResponse();
  const reason = textOf(invalidReason) ?? 'verification_failed';
  return {
    isValid,
    reason,
    message: textOf(invalidMessage) ?? WORDS[reason] ?? `The facilitator rejected the payment: ${reason}.`,
  };
}

/** Reads the response to `/settle`. Anything unclear is ambiguous. */
export function readSettlement(response: unknown): FacilitatorSettlement {
  const { success, transaction, errorReason, errorMessage } = fieldsOf(response);
  const hash =
    typeof transaction === 'string' && TRANSACTION_HASH.test(transaction) ? transaction.toLowerCase() : undefined;
  if (success === true && hash) return { kind: 'settled', transactionHash: hash };
  const ambiguous = { kind: 'ambiguous', ...(hash && { transactionHash: hash }) } as const;
  if (success !== false) return { ...ambiguous, reason: UNUSABLE, message: INVALID_RESPONSE, isDenied: false };
  const reason = textOf(errorReason) ?? 'settlement_failed';
  const message = textOf(errorMessage) ?? `The facilitator didn't settle the payment: ${reason}.`;
  const isRefused = !hash && REFUSED_BEFORE_SENDING.test(reason) && !ABOUT_THE_CHAIN.test(reason);
  if (isRefused) return { kind: 'refused', reason, message };
  const isDenied = hash ? REVERTED.test(reason) : !reason.includes('pending');
  return { ...ambiguous, reason, message, isDenied };
}

/**
 * Reads an HTTP error. A 4xx status means that we sent something wrong, unless the status concerns the timing of the
 * request.
 *
 * @param text the response's body, without secrets.
 */
export function readHttpError(statusCode: number, text: string): FacilitatorError {
  const status = `The facilitator responded with status ${statusCode}`;
  const isRejected = statusCode >= 400 && statusCode < 500 && !DEPENDS_ON_TIME.has(statusCode);
  if (!isRejected) return new FacilitatorError('facilitator_unavailable', `${status}.`);
  const detail = textOf(text);
  return new FacilitatorError(FACILITATOR_REJECTED, detail ? `${status}: ${detail}` : `${status}.`);
}

/** Reads the response to `/supported`. @throws FacilitatorError if it is unusable. */
export function readSupported(response: unknown): SupportedKind[] {
  const { kinds } = fieldsOf(response);
  if (!Array.isArray(kinds)) throw unusableResponse();
  return kinds.map(fieldsOf).map(({ x402Version, scheme, network }) => ({
    x402Version: Number(x402Version),
    scheme: String(scheme),
    network: String(network),
  }));
}

function fieldsOf(response: unknown): Record<string, unknown> {
  return typeof response === 'object' && response !== null ? (response as Record<string, unknown>) : {};
}

/** Cleans up third-party text for records and headers: one line of printable characters, limited in length. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, MAX_REASON_CHARACTERS);
  return text === '' ? undefined : text;
}

function unusableResponse(): FacilitatorError {
  return new FacilitatorError(UNUSABLE, INVALID_RESPONSE);
}
