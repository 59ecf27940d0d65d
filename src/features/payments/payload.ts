import { getAddress } from 'viem';
import type { EventPayload } from '../../events/types.ts';
import type { Payment } from '../../generated/prisma/client.ts';
import { formatUsd } from '../../money.ts';

/** Converts a database amount to atomic units. */
export function atomicOf(amount: { toFixed(decimals: 0): string }): bigint {
  return BigInt(amount.toFixed(0));
}

/** The payment fields that every `payment.*` event has. */
export function paymentPayload(payment: Payment): EventPayload<'payment.verified'> {
  const amountAtomic = atomicOf(payment.amountAtomic);
  return {
    paymentId: payment.id,
    endpointId: payment.endpointId,
    endpointPath: payment.endpointPath,
    method: payment.method,
    customerId: payment.customerId,
    payer: getAddress(payment.payer),
    payTo: getAddress(payment.payTo),
    amountUsd: formatUsd(amountAtomic),
    amountAtomic: amountAtomic.toString(),
    asset: payment.asset,
    assetAddress: getAddress(payment.assetAddress),
    network: payment.network,
  };
}
