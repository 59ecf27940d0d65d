import type { Payment, PaymentStage, SettlementOrder } from '../../generated/prisma/client.ts';

/** Identifies an authorization. `network` is a CAIP-2 ID such as `eip155:8453`. Hex can be uppercase or lowercase. */
export type AuthorizationKey = { network: string; assetAddress: string; payer: string; nonce: string };

export type NewPayment = AuthorizationKey & {
  projectId: string;
  endpointId: string;
  endpointPath: string;
  method: string;
  x402Version: 1 | 2;
  /** The symbol, for example, `USDC`. */
  asset: string;
  payTo: string;
  amountAtomic: bigint;
  validAfter: Date;
  validBefore: Date;
  /** The signed payload and the requirements it meets. Settling needs both. */
  authorization: unknown;
  requestFingerprint: string;
  /** Defaults to `AFTER_RESPONSE`. */
  settlement?: SettlementOrder;
  /** The buyer's identifier for the payment. */
  paymentIdentifier?: string | undefined;
  leaseSeconds: number;
};

/** Identifies a payment by the identifier that its buyer chose. Addresses can be uppercase or lowercase. */
export type IdentifierKey = { projectId: string; payer: string; paymentIdentifier?: string | undefined };

/**
 * `existing`: another payment already uses the authorization's nonce (perhaps in another project) or the buyer's
 * identifier.
 */
export type PaymentClaim = { kind: 'claimed'; payment: Payment } | { kind: 'existing'; payment: Payment };

/** An upstream response that the buyer gets once the payment is settled. */
export type ServedResponse = {
  statusCode: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
  durationMs: number;
  /** Until this time, retries with the same payment get this response. */
  keepUntil: Date;
  /** Replaces the claim's fingerprint, now that the streamed body's digest is known. */
  requestFingerprint?: string;
};

export type OnChainSettlement = { transactionHash: string; settledAt: Date };

export type PaymentFailure = {
  stage: PaymentStage;
  /** A stable code, for example, `insufficient_funds`. */
  reason: string;
  message: string;
  /** Set if the upstream responded with an error. */
  upstream?: { statusCode: number; durationMs: number };
};

/** A payment's progress. */
export type PaymentProgress = Pick<Payment, 'projectId' | 'status' | 'failureStage' | 'createdAt' | 'updatedAt'>;
