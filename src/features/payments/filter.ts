import { z } from 'zod';
import { requireId } from '../../auth/access.ts';
import { distinct } from '../../database/distinct.ts';
import type { PaymentStatus } from '../../generated/prisma/client.ts';
import { firstIdAt } from '../../ids.ts';
import { parseUsd, USD_PATTERN } from '../../money.ts';
import { parseInput, storableText } from '../../validation.ts';

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
  /** Only payments that settled or failed at or after this time. */
  finishedFrom?: Date | null;
  /** Only payments that settled or failed before this time. */
  finishedTo?: Date | null;
};

const amountUsd = z.string().regex(USD_PATTERN, 'Must be an amount in USD, such as "0.01".').nullish();

/** Checks the text in a filter. An empty address or hash counts as unset. */
export const paymentFilterInput = z.object({
  payer: z
    .string()
    .regex(/^(?:0x[0-9a-fA-F]{40})?$/, 'Must be an EVM address: 0x followed by 40 hex digits.')
    .nullish(),
  transactionHash: z
    .string()
    .regex(/^(?:0x[0-9a-fA-F]{64})?$/, 'Must be a transaction hash: 0x followed by 64 hex digits.')
    .nullish(),
  minAmountUsd: amountUsd,
  maxAmountUsd: amountUsd,
});

/**
 * Translates a filter into table columns: null for unset fields, values in stored form, and times as bounds on the ID,
 * which contains the time when a payment was presented.
 *
 * @throws AppError `NOT_FOUND` for malformed IDs, or `VALIDATION_FAILED` for malformed addresses, hashes, and amounts.
 */
export function toColumns(filter: PaymentFilter) {
  const { status, endpointId, customerId, identifier, from, to, finishedFrom, finishedTo } = filter;
  const { payer, transactionHash, minAmountUsd, maxAmountUsd } = parseInput(paymentFilterInput, filter);
  return {
    status: status ? distinct(status) : null,
    endpointId: endpointId ? requireId('Endpoint', endpointId) : null,
    customerId: customerId ? requireId('Customer', customerId) : null,
    payer: payer?.toLowerCase() || null,
    transactionHash: transactionHash?.toLowerCase() || null,
    identifier: identifier ? storableText('/identifier', identifier) : null,
    minAtomic: atomicOf(minAmountUsd),
    maxAtomic: atomicOf(maxAmountUsd),
    firstId: from ? firstIdSince(from) : null,
    endId: to ? firstIdSince(to) : null,
    finishedSince: finishedFrom ?? null,
    finishedBefore: finishedTo ?? null,
  };
}

export type PaymentColumns = ReturnType<typeof toColumns>;

function firstIdSince(time: Date): string {
  return firstIdAt('Payment', time.getTime());
}

/** Converts USD to millionths of a dollar, as text for the database's numeric type. */
function atomicOf(amountUsd: string | null | undefined): string | null {
  return amountUsd == null ? null : parseUsd(amountUsd)!.toString();
}
