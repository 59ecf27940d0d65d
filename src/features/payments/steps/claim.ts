import type { BatchStep } from '../../../database/lane.ts';
import type { Payment } from '../../../generated/prisma/client.ts';
import { millisecondsOfId } from '../../../ids.ts';
import type { AuthorizationKey, NewPayment } from '../payment-record.ts';
import { columns, type PaymentRow, toPayment, touched } from './rows.ts';

/** The token of a new payment's lease. Every takeover increments it. */
export const FIRST_LEASE = 1;

/** A claim with the ID that the payment gets if it is new. `authorization` is JSON. */
export type ClaimItem = NewPayment & { id: string; authorization: string };

/**
 * Inserts payments, unless another payment holds their authorization. Takes over claims that were abandoned before
 * verification. Returns undefined for payments that another payment blocks.
 */
export const claimStep: BatchStep<ClaimItem, Payment | undefined> = {
  isStatement: true,
  // PostgreSQL can't insert and update a row in one statement.
  keyOf: (item) => textOf(keyOf(item)),
  bytesOf: ({ authorization }) => authorization.length,
  async run(batch, items) {
    const sorted = items.map((item) => ({ ...item, ...keyOf(item) })).sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
    const rows = await batch.query<PaymentRow>({
      name: 'payment-claim',
      text: CLAIM,
      values: columns(sorted, VALUES),
    });
    const claimed = new Map(rows.map((row) => [textOf(row), toPayment(row)]));
    return items.map((item) => claimed.get(textOf(keyOf(item))));
  },
};

/** Normalizes the key so that each authorization has only one spelling. */
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

const VALUES: ((item: ClaimItem) => unknown)[] = [
  ({ id }) => id,
  ({ projectId }) => projectId,
  ({ endpointId }) => endpointId,
  ({ endpointPath }) => endpointPath,
  ({ method }) => method,
  ({ x402Version }) => x402Version,
  ({ network }) => network,
  ({ asset }) => asset,
  ({ assetAddress }) => assetAddress,
  ({ payer }) => payer,
  ({ payTo }) => payTo.toLowerCase(),
  ({ nonce }) => nonce,
  ({ amountAtomic }) => amountAtomic.toString(),
  ({ validAfter }) => validAfter.toISOString(),
  ({ validBefore }) => validBefore.toISOString(),
  ({ authorization }) => authorization,
  ({ requestFingerprint }) => requestFingerprint,
  ({ leaseSeconds }) => leaseSeconds,
  ({ id }) => new Date(millisecondsOfId(id)).toISOString(),
];

const CLAIM = `
  INSERT INTO "Payment" AS held (
    "id", "projectId", "endpointId", "endpointPath", "method", "x402Version", "network", "asset", "assetAddress",
    "payer", "payTo", "nonce", "amountAtomic", "validAfter", "validBefore", "authorization", "requestFingerprint",
    "leasedUntil", "leaseToken", "createdAt"
  )
  SELECT id, project, endpoint, path, method, version, network, asset, contract, payer, recipient, nonce, amount,
    valid_after, valid_before, signed::json, fingerprint, now() + make_interval(secs => lease), ${FIRST_LEASE}, created
  FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::numeric[], $14::timestamptz[], $15::timestamptz[], $16::text[],
    $17::text[], $18::float8[], $19::timestamptz[]
  ) AS new(id, project, endpoint, path, method, version, network, asset, contract, payer, recipient, nonce, amount,
    valid_after, valid_before, signed, fingerprint, lease, created)
  ON CONFLICT ("network", "assetAddress", "payer", "nonce") WHERE "failureStage" IS DISTINCT FROM 'VERIFY' DO UPDATE SET
    "projectId" = excluded."projectId", "endpointId" = excluded."endpointId",
    "endpointPath" = excluded."endpointPath", "method" = excluded."method", "x402Version" = excluded."x402Version",
    "asset" = excluded."asset", "payTo" = excluded."payTo", "amountAtomic" = excluded."amountAtomic",
    "validAfter" = excluded."validAfter", "validBefore" = excluded."validBefore",
    "authorization" = excluded."authorization", "requestFingerprint" = excluded."requestFingerprint",
    "leasedUntil" = excluded."leasedUntil", "leaseToken" = held."leaseToken" + 1, "verifiedAt" = NULL,
    ${touched('held')}
  WHERE held."status" = 'CLAIMED' AND held."leasedUntil" <= now()
  RETURNING *`;
