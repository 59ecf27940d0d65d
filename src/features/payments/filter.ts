import { isAddress, isHash } from 'viem';
import { requireId } from '../../auth/access.ts';
import { invalidField } from '../../errors.ts';
import type { PaymentStatus } from '../../generated/prisma/client.ts';
import { firstIdAt } from '../../ids.ts';
import { parseUsd } from '../../money.ts';
import { storableText } from '../../validation.ts';

export type PaymentFilter = {
  status?: PaymentStatus[] | null;
  endpointId?: string | null;
  customerId?: string | null;
  /** The wallet's address. Its letters can be uppercase or lowercase. */
  payer?: string | null;
  transactionHash?: string | null;
  /** The buyer's identifier for the payment. */
  identifier?: string | null;
  /** The smallest amount, such as `0.01`. */
  minAmountUsd?: string | null;
  /** The largest amount. */
  maxAmountUsd?: string | null;
  /** Only payments presented at or after this time. */
  from?: Date | null;
  /** Only payments presented before this time. */
  to?: Date | null;
};

const MAX_ID_MILLISECONDS = 2 ** 48 - 1;

/**
 * Translates a filter into table columns: null for unset fields, values in stored form, and times as bounds on the ID,
 * which contains the time when a payment was presented.
 *
 * @throws AppError `NOT_FOUND` for malformed IDs, or `VALIDATION_FAILED` for malformed addresses, hashes, and amounts.
 */
export function toColumns(filter: PaymentFilter) {
  const { status, endpointId, customerId, payer, transactionHash, identifier, from, to } = filter;
  if (payer && !isAddress(payer, { strict: false })) {
    throw invalidField('/payer', 'Must be an EVM address: 0x followed by 40 hex digits.');
  }
  if (transactionHash && !isHash(transactionHash)) {
    throw invalidField('/transactionHash', 'Must be a transaction hash: 0x followed by 64 hex digits.');
  }
  return {
    status: status ?? null,
    endpointId: endpointId ? requireId('Endpoint', endpointId) : null,
    customerId: customerId ? requireId('Customer', customerId) : null,
    payer: payer?.toLowerCase() || null,
    transactionHash: transactionHash?.toLowerCase() || null,
    identifier: identifier ? storableText('/identifier', identifier) : null,
    minAtomic: atomicOf('/minAmountUsd', filter.minAmountUsd),
    maxAtomic: atomicOf('/maxAmountUsd', filter.maxAmountUsd),
    firstId: from ? firstIdSince(from) : null,
    endId: to ? firstIdSince(to) : null,
  };
}

export type PaymentColumns = ReturnType<typeof toColumns>;

function firstIdSince(time: Date): string {
  return firstIdAt('Payment', Math.min(Math.max(time.getTime(), 0), MAX_ID_MILLISECONDS));
}

/** Converts USD to millionths of a dollar, as text for the database's numeric type. */
function atomicOf(pointer: string, amountUsd: string | null | undefined): string | null {
  if (amountUsd == null) return null;
  const atomic = parseUsd(amountUsd);
  if (atomic === undefined) throw invalidField(pointer, 'Must be an amount in USD, such as "0.01".');
  return atomic.toString();
}
