import { preparedStatement } from '../../../database/statement.ts';
import type { BatchStep } from '../../../database/write-batcher.ts';
import type { PaymentLease } from '../lease.ts';
import type { PaymentProgress, ServedResponse } from '../payment-record.ts';
import { columns, touched } from './rows.ts';

export type ServeItem = PaymentLease & ServedResponse;

/**
 * VERIFIED → SETTLING, with the upstream's response. Returns undefined for payments that aren't VERIFIED under this
 * lease.
 */
export const serveStep: BatchStep<ServeItem, PaymentProgress | undefined> = {
  isStatement: true,
  keyOf: ({ paymentId }) => paymentId,
  bytesOf: ({ body }) => body.length,
  async run(batch, items) {
    let offset = 1;
    const placed = items.map((item) => {
      const place = { ...item, offset };
      offset += item.body.length;
      return place;
    });
    // The bodies are sent as one binary value, because in an array they would be encoded in hex.
    const bodies = Buffer.concat(items.map(({ body }) => body));
    const rows = await batch.query<PaymentProgress & { id: string }>(SERVE(...columns(placed, VALUES), bodies));
    const moved = new Map(rows.map(({ id, ...progress }) => [id, progress]));
    return items.map(({ paymentId }) => moved.get(paymentId));
  },
};

const VALUES = [
  ({ paymentId }) => paymentId,
  ({ leaseToken }) => leaseToken,
  ({ statusCode }) => statusCode,
  ({ durationMs }) => Math.round(durationMs),
  ({ headers }) => JSON.stringify(headers),
  ({ offset }) => offset,
  ({ body }) => body.length,
  ({ keepUntil }) => keepUntil.toISOString(),
  ({ requestFingerprint }) => requestFingerprint ?? null,
] as const satisfies readonly ((item: ServeItem & { offset: number }) => unknown)[];

const SERVE = preparedStatement(
  'payment-serve',
  `
  WITH due AS MATERIALIZED (
    SELECT i.*
    FROM unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::text[], $6::int[], $7::int[], $8::timestamptz[], $9::text[])
      AS i("id", "leaseToken", "statusCode", "durationMs", "headers", "start", "length", "expiresAt", "fingerprint")
    JOIN "Payment" p ON p."id" = i."id"
    WHERE p."leaseToken" = i."leaseToken" AND p."status" = 'VERIFIED'
    ORDER BY p."id" FOR NO KEY UPDATE OF p
  ), moved AS (
    UPDATE "Payment" p SET "status" = 'SETTLING', "servedAt" = clock_timestamp(), "upstreamStatusCode" = d."statusCode",
      "upstreamDurationMs" = d."durationMs", "requestFingerprint" = coalesce(d."fingerprint", p."requestFingerprint"),
      ${touched('p')}
    FROM due d WHERE p."id" = d."id"
    RETURNING p."id", p."projectId", p."status", p."failureStage", p."createdAt", p."updatedAt"
  ), kept AS (
    INSERT INTO "PaymentAnswer" ("paymentId", "statusCode", "headers", "body", "expiresAt")
    SELECT d."id", d."statusCode", d."headers"::json, substring($10::bytea FROM d."start" FOR d."length"), d."expiresAt"
    FROM due d JOIN moved m ON m."id" = d."id"
  )
  SELECT "id", "projectId", "status", "failureStage", "createdAt", "updatedAt" FROM moved`,
);
