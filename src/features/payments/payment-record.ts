import type { Payment, PaymentStage } from '../../generated/prisma/client.ts';

/** What makes an authorization unique: the network as CAIP-2, for example `eip155:8453`; the rest in any case. */
export type AuthorizationKey = { network: string; assetAddress: string; payer: string; nonce: string };

export type NewPayment = AuthorizationKey & {
  projectId: string;
  endpointId: string;
  endpointPath: string;
  method: string;
  x402Version: 1 | 2;
  /** Symbol, for example `USDC`. */
  asset: string;
  payTo: string;
  amountAtomic: bigint;
  validAfter: Date;
  validBefore: Date;
  /** The signed payload and the requirements it answers: what settling it later takes. */
  authorization: unknown;
  requestFingerprint: string;
  leaseSeconds: number;
};

/** `existing`: the authorization was presented before, perhaps to another project, and holds its nonce. */
export type Claim = { kind: 'claimed'; payment: Payment } | { kind: 'existing'; payment: Payment };

export type UpstreamAnswer = {
  statusCode: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
  durationMs: number;
  /** Until when a retry of the same payment is given this answer. */
  keepUntil: Date;
  /** Replaces the one of the claim: the digest of a streamed body is known only now. */
  requestFingerprint?: string;
};

export type Settlement = { transactionHash: string; settledAt: Date };

export type PaymentFailure = {
  stage: PaymentStage;
  /** Stable code, for example `insufficient_funds`. */
  reason: string;
  message: string;
  /** Of an upstream that answered, and with an error. */
  upstream?: { statusCode: number; durationMs: number };
};

/** Where a payment has come to. */
export type PaymentProgress = Pick<Payment, 'projectId' | 'status' | 'failureStage' | 'createdAt'>;
