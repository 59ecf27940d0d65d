import { createHash, randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { sourceOf } from '../../limits/failed-credentials.ts';
import type { PresentedPayment } from './payment-header.ts';

const MAX_KEY_CHARACTERS = 255;

export type FingerprintParts = {
  projectId: string;
  method: string;
  /** The canonical path, and the query as it arrived. */
  target: string;
  /** Identifies the client that may retry the request: its Idempotency-Key, or else its address. */
  holder: string;
  payment: PresentedPayment;
};

/**
 * What the client signed, or its own identifier for the payment, which stays the same even if the client signs again.
 */
function identityOf({ identifier, signature, authorization }: PresentedPayment, holder: string) {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  if (identifier !== undefined) return [`identifier ${identifier}`, [from]];
  return [holder, [signature, from, to, value.toString(), validAfter, validBefore, nonce]];
}

/**
 * Identifies a request so that retries with the same payment are recognized. Returns a function of the body's digest,
 * which is null if there is no body or its digest isn't known yet.
 *
 * After settlement, everything that was signed is public on the chain. For that reason, only the original buyer gets
 * the response again: the same client address, or the same Idempotency-Key, which is never public. A payment identifier
 * isn't public either, and takes the place of both.
 */
export function fingerprintOf(parts: FingerprintParts): (bodyDigest: string | null) => string {
  const { projectId, method, target, holder, payment } = parts;
  const identity = identityOf(payment, holder);
  return (bodyDigest) =>
    createHash('sha256')
      // A JSON array is unambiguous: no two different requests produce the same one.
      .update(JSON.stringify([projectId, method, target, ...identity, bodyDigest]))
      .digest('hex');
}

/** Identifies the client that may receive the response again; see `fingerprintOf`. */
export function holderOf(request: FastifyRequest): string {
  const key = request.raw.headers['idempotency-key'];
  if (typeof key !== 'string' || key === '') {
    // Without an address of its own, nothing tells the client from others, so nobody gets the response again.
    const hasOwnAddress = isIP(request.ip) !== 0 && !request.isAddressShared;
    return hasOwnAddress ? `address ${sourceOf(request.ip)}` : `nobody ${randomUUID()}`;
  }
  if (key.length > MAX_KEY_CHARACTERS) {
    throw new AppError('BAD_REQUEST', { detail: `Idempotency-Key must be at most ${MAX_KEY_CHARACTERS} characters.` });
  }
  return `key ${key}`;
}
