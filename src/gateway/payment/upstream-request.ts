import { getAddress } from 'viem';
import type { Payment } from '../../generated/prisma/client.ts';
import { traceHeaders } from '../../tracing/tracer.ts';
import type { UpstreamRequest } from '../upstream/call.ts';
import type { UpstreamSigner } from '../upstream/signature.ts';
import type { PaidRequest } from './paid-request.ts';

/**
 * The parts of a call to the upstream that don't depend on when the payment is settled. `headersFor` throws AppError
 * `UNAVAILABLE` if the seller's headers can't be decrypted.
 */
export function upstreamRequestFor(
  payment: Payment,
  request: PaidRequest,
  { signer, now }: { signer: UpstreamSigner; now(): Date },
): Omit<UpstreamRequest, 'timeoutMilliseconds' | 'lost' | 'memory'> {
  const { method, target, route, body, gone } = request;
  const proofFor = (path: string) =>
    signer.headersOf({
      project: route.signing,
      paymentId: payment.id,
      payer: getAddress(payment.payer),
      method,
      origin: target.origin,
      target: path,
      timestampSeconds: Math.floor(now().getTime() / 1000),
    });
  const headersFor = (path: string) => ({ ...request.headers(), ...proofFor(path), ...traceHeaders() });
  return { ...target, method, headersFor, body, gone };
}
