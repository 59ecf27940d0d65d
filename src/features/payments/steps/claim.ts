import type { Queryable } from '../../../database/client.ts';
import { preparedStatement, runStatement } from '../../../database/statement.ts';
import type { BatchStep } from '../../../database/write-batcher.ts';
import type { Payment } from '../../../generated/prisma/client.ts';
import { millisecondsOfId } from '../../../ids.ts';
import type { AuthorizationKey, NewPayment } from '../payment-record.ts';
import { uncounted } from './count.ts';
import { columns, type PaymentRow, toPayment, touched } from './rows.ts';

/** The token of a new payment's lease. Every takeover increments it. */
export const FIRST_LEASE = 1;

/** A claim with the ID that the payment gets if it is new. `authorization` is JSON. */
export type ClaimItem = NewPayment & { id: string; authorization: string };

/**
 * Inserts payments. Returns undefined for payments whose authorization or identifier another payment holds. Such a
 * payment is skipped instead of violating an index, because a violation would fail the whole batch.
 */
export const claimStep: BatchStep<ClaimItem, Payment | undefined> = {
  isStatement: true,
  bytesOf: ({ authorization }) => authorization.length,
  async run(batch, items) {
    // Processes that insert the same authorizations wait for each other in the same order.
    const sorted = items.map((item) => ({ item, key: textOf(keyOf(item)) })).sort((a, b) => (a.key < b.key ? -1 : 1));
    const values = columns(
      sorted.map(({ item }) => item),
      VALUES,
    );
    const rows = await batch.query<PaymentRow>(CLAIM(...values));
    const claimed = new Map(rows.map((row) => [row.id, toPayment(row)]));
    return items.map(({ id }) => claimed.get(id));
  },
};

/**
 * Takes over a claim on the same authorization that was abandoned before verification. Returns undefined if no such
 * claim exists.
 *
 * @throws a unique violation if another payment holds the identifier.
 */
export async function takeOver(pool: Queryable, item: ClaimItem): Promise<Payment | undefined> {
  const values = columns([item], VALUES);
  const { rows } = await runStatement<PaymentRow>(pool, TAKE_OVER(...values));
  return rows[0] && toPayment(rows[0]);
}

/** Normalizes the key, so that the same authorization always has the same key. */
export function keyOf({ network, assetAddress, payer, nonce }: AuthorizationKey): AuthorizationKey {
  return {
    network,
    assetAddress: assetAddress.toLowerCase(),
    payer: payer.toLowerCase(),
    nonce: nonce.toLowerCase(),
  };
}

const textOf = ({ network, assetAddress, payer, nonce }: AuthorizationKey) =>
  `${network} ${assetAddress} ${payer} ${nonce}`;

const VALUES = [
  ({ id }) => id,
  ({ projectId }) => projectId,
  ({ endpointId }) => endpointId,
  ({ endpointPath }) => endpointPath,
  ({ method }) => method,
  ({ x402Version }) => x402Version,
  (item) => keyOf(item).network,
  ({ asset }) => asset,
  (item) => keyOf(item).assetAddress,
  (item) => keyOf(item).payer,
  ({ payTo }) => payTo.toLowerCase(),
  (item) => keyOf(item).nonce,
  ({ amountAtomic }) => amountAtomic.toString(),
  ({ validAfter }) => validAfter.toISOString(),
  ({ validBefore }) => validBefore.toISOString(),
  ({ authorization }) => authorization,
  ({ requestFingerprint }) => requestFingerprint,
  ({ leaseSeconds }) => leaseSeconds,
  ({ id }) => new Date(millisecondsOfId(id)).toISOString(),
  ({ settlement }) => settlement ?? 'AFTER_RESPONSE',
  ({ paymentIdentifier }) => paymentIdentifier ?? null,
] as const satisfies readonly ((item: ClaimItem) => unknown)[];

const NEW = `
  FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::numeric[], $14::timestamptz[], $15::timestamptz[], $16::text[],
    $17::text[], $18::float8[], $19::timestamptz[], $20::text[], $21::text[]
  ) AS new(id, project, endpoint, path, method, version, network, asset, contract, payer, recipient, nonce, amount,
    valid_after, valid_before, signed, fingerprint, lease, created, settlement, identifier)`;

const CLAIM = preparedStatement(
  'payment-claim',
  `
  INSERT INTO "Payment" (
    "id", "projectId", "endpointId", "endpointPath", "method", "x402Version", "network", "asset", "assetAddress",
    "payer", "payTo", "nonce", "amountAtomic", "validAfter", "validBefore", "authorization", "requestFingerprint",
    "leasedUntil", "leaseToken", "createdAt", "settlement", "paymentIdentifier"
  )
  SELECT id, project, endpoint, path, method, version, network, asset, contract, payer, recipient, nonce, amount,
    valid_after, valid_before, signed::json, fingerprint, now() + make_interval(secs => lease), ${FIRST_LEASE}, created,
    settlement::"SettlementOrder", identifier
  ${NEW}
  ON CONFLICT DO NOTHING
  RETURNING *`,
);

// If the payment was already counted toward a limit of its buyer, it is counted again by the new request.
const TAKE_OVER = preparedStatement(
  'payment-take-over',
  `
  WITH abandoned AS MATERIALIZED (
    SELECT held."id", held."buyerUsageId", held."amountAtomic" ${NEW} JOIN "Payment" held
    ON held."network" = new.network AND held."assetAddress" = contract AND held."payer" = new.payer
      AND held."nonce" = new.nonce AND held."failureStage" IS DISTINCT FROM 'VERIFY'
    WHERE held."status" = 'CLAIMED' AND held."leasedUntil" <= now()
    FOR NO KEY UPDATE OF held
  ), ${uncounted('abandoned')}
  UPDATE "Payment" AS held SET
    "projectId" = project, "endpointId" = endpoint, "endpointPath" = path, "method" = new.method,
    "x402Version" = version, "asset" = new.asset, "payTo" = recipient, "amountAtomic" = amount,
    "validAfter" = valid_after, "validBefore" = valid_before, "authorization" = signed::json,
    "requestFingerprint" = fingerprint, "settlement" = new.settlement::"SettlementOrder",
    "paymentIdentifier" = identifier, "leasedUntil" = now() + make_interval(secs => lease),
    "leaseToken" = held."leaseToken" + 1, "verifiedAt" = NULL, "buyerUsageId" = NULL, ${touched('held')}
  ${NEW}, abandoned
  WHERE held."id" = abandoned."id"
  RETURNING held.*`,
);
