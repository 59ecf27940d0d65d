import { createHash } from 'node:crypto';
import type { PresentedPayment } from './payment-header.ts';

export type FingerprintParts = {
  projectId: string;
  method: string;
  /** The canonical path, and the query as it arrived. */
  target: string;
  /** What identifies the client that may retry the request: its Idempotency-Key, or else its address. */
  holder: string;
  payment: PresentedPayment;
};

/**
 * Identifies a request so that retries with the same payment are recognized. Returns a function of the body's digest,
 * which is null if there is no body or its digest isn't known yet.
 *
 * After settlement, everything that was signed is public on the chain. For that reason, only the original buyer gets
 * the response again: the same client address, or the same Idempotency-Key, which is never public.
 */
export function fingerprintOf(parts: FingerprintParts): (bodyDigest: string | null) => string {
  const { projectId, method, target, holder, payment } = parts;
  const { from, to, value, validAfter, validBefore, nonce } = payment.authorization;
  const signed = [payment.signature, from, to, value.toString(), validAfter, validBefore, nonce];
  return (bodyDigest) =>
    createHash('sha256')
      // A JSON array is unambiguous: no two different requests produce the same one.
      .update(JSON.stringify([projectId, method, target, holder, signed, bodyDigest]))
      .digest('hex');
}
