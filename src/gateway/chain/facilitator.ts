/** What a facilitator is asked about: the signed payload and the terms it must meet, in the shapes of its x402 version. */
export type FacilitatorRequest = {
  x402Version: 1 | 2;
  paymentPayload: Record<string, unknown>;
  paymentRequirements: Record<string, unknown>;
};

export type Verification = { isValid: true } | { isValid: false; reason: string; message: string };

/**
 * What became of a settlement.
 *
 * `refused`: told before anything was sent to the chain, so nothing is charged.
 * `notSent`: the facilitator was not reached, so it has not begun.
 * `ambiguous`: it may have happened; only the chain knows.
 */
export type Settlement =
  | { kind: 'settled'; transactionHash: string }
  | { kind: 'refused' | 'notSent'; reason: string; message: string }
  | { kind: 'ambiguous'; reason: string; message: string; transactionHash?: string };

export type SupportedKind = { x402Version: number; scheme: string; network: string };

/** Who verifies signatures and brings them to the chain. */
export type Facilitator = {
  /** @throws FacilitatorError when there is no usable answer. */
  verify(request: FacilitatorRequest): Promise<Verification>;
  /** Never throws: whatever goes wrong is one of the outcomes. */
  settle(request: FacilitatorRequest): Promise<Settlement>;
  /** @throws FacilitatorError when there is no usable answer. */
  supported(): Promise<SupportedKind[]>;
};

/** The facilitator gave no usable answer. The reason is a stable code, the message is safe to show. */
export class FacilitatorError extends Error {
  override readonly name = 'FacilitatorError';
  readonly reason: 'facilitator_unavailable' | 'facilitator_answer_invalid';
  constructor(reason: FacilitatorError['reason'], message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}

const MAX_REASON_CHARACTERS = 200;
const TRANSACTION_HASH = /^0x[0-9a-f]{64}$/i;
// Codes are free text (https://github.com/coinbase/x402/blob/main/specs/x402-specification-v2.md#9-error-handling lists
// some). These families are judged before a transaction is sent …
const REFUSED_BEFORE_SENDING =
  /^(?:invalid_|unsupported_|insufficient_funds$|asset_not_deployed_contract$|undeployed_)/;
// … but these of their members speak of a transaction that was sent, or of a nonce that may have been used by this very
// payment.
const ABOUT_THE_CHAIN = /nonce|transaction_failed|transaction_state|transfer_event|pending|broadcast|simulation/;

/** Reads the answer to `/verify`. @throws FacilitatorError when it is none. */
export function readVerification(answer: unknown): Verification {
  const { isValid, invalidReason, invalidMessage } = fieldsOf(answer);
  if (isValid === true) return { isValid };
  if (isValid !== false) throw notAnAnswer();
  const reason = textOf(invalidReason) ?? 'verification_failed';
  return { isValid, reason, message: textOf(invalidMessage) ?? `The facilitator refused the payment: ${reason}.` };
}

/** Reads the answer to `/settle`. What it does not clearly say is ambiguous. */
export function readSettlement(answer: unknown): Settlement {
  const { success, transaction, errorReason, errorMessage } = fieldsOf(answer);
  const hash =
    typeof transaction === 'string' && TRANSACTION_HASH.test(transaction) ? transaction.toLowerCase() : undefined;
  if (success === true && hash) return { kind: 'settled', transactionHash: hash };
  if (success !== false) {
    const message = 'The facilitator gave an answer that is none.';
    return { kind: 'ambiguous', reason: 'facilitator_answer_invalid', message, ...(hash && { transactionHash: hash }) };
  }
  const reason = textOf(errorReason) ?? 'settlement_failed';
  const message = textOf(errorMessage) ?? `The facilitator did not settle the payment: ${reason}.`;
  const isRefused = !hash && REFUSED_BEFORE_SENDING.test(reason) && !ABOUT_THE_CHAIN.test(reason);
  if (isRefused) return { kind: 'refused', reason, message };
  return { kind: 'ambiguous', reason, message, ...(hash && { transactionHash: hash }) };
}

/** Reads the answer to `/supported`. @throws FacilitatorError when it is none. */
export function readSupported(answer: unknown): SupportedKind[] {
  const { kinds } = fieldsOf(answer);
  if (!Array.isArray(kinds)) throw notAnAnswer();
  return kinds.map(fieldsOf).map(({ x402Version, scheme, network }) => ({
    x402Version: Number(x402Version),
    scheme: String(scheme),
    network: String(network),
  }));
}

function fieldsOf(answer: unknown): Record<string, unknown> {
  return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {};
}

/** Text of another's making that goes into records and headers: one line of printable characters, bounded. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, MAX_REASON_CHARACTERS);
  return text === '' ? undefined : text;
}

function notAnAnswer(): FacilitatorError {
  return new FacilitatorError('facilitator_answer_invalid', 'The facilitator gave an answer that is none.');
}
