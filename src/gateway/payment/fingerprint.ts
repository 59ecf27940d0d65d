import { createHash } from 'node:crypto';
import type { PresentedPayment } from './payment-header.ts';

export type FingerprintParts = {
  projectId: string;
  method: string;
  /** Canonical path and query as it arrived. */
  target: string;
  /** Who may repeat the request: the value of its Idempotency-Key, or else the address it comes from. */
  holder: string;
  payment: PresentedPayment;
};

/**
 * What makes a request the same as an earlier one with the same payment, as a function of its body's digest (null for
 * none, or while it is not known).
 *
 * Once settled, everything that was signed is public on the chain. So an answer is given again only to whom it was given
 * first: to the same address, or to the same Idempotency-Key, which is nowhere public.
 */
export function fingerprintOf(parts: FingerprintParts): (bodyDigest: string | null) => string {
  const { projectId, method, target, holder, payment } = parts;
  const { from, to, value, validAfter, validBefore, nonce } = payment.authorization;
  const signed = [payment.signature, from, to, value.toString(), validAfter, validBefore, nonce];
  return (bodyDigest) =>
    createHash('sha256')
      // JSON of an array is unambiguous: no two requests share it.
      .update(JSON.stringify([projectId, method, target, holder, signed, bodyDigest]))
      .digest('hex');
}
