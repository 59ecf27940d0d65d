import type pg from 'pg';

export type BusinessOptions = { payments: number; from: number; until: number; projectId: string };

const CUSTOMERS_A_PAYMENT = 1 / 20;
const AUDIT_ENTRIES_A_PAYMENT = 1 / 10;
const ENDPOINTS = 4;

/** Fills a project's payments, customers, revenue, and audit log. Needs the function `bench_id`. */
export async function fillBusiness(pool: pg.Pool, options: BusinessOptions): Promise<void> {
  const { payments, from, until, projectId } = options;
  const customers = Math.ceil(payments * CUSTOMERS_A_PAYMENT);
  const values = [payments, from, (until - from) / payments, projectId];
  await pool.query(
    `INSERT INTO "Endpoint" ("id", "projectId", "path", "upstreamUrl", "priceAtomic")
     SELECT bench_id('ep', $1::bigint, number), $2, '/' || number, 'https://api.example/', 10000
     FROM generate_series(0, ${ENDPOINTS - 1}) AS number`,
    [from, projectId],
  );
  await pool.query(
    `INSERT INTO "Customer" ("id", "projectId", "walletAddress")
     SELECT bench_id('cus', $2::bigint, number), $3, '0x' || lpad(to_hex(number), 40, '0') FROM generate_series(0, $1::int - 1) AS number`,
    [customers, from, projectId],
  );
  await pool.query({ text: paymentsOf(from, customers), values });
  await pool.query(`
    UPDATE "Customer" c SET "paymentCount" = paid.count, "totalAtomic" = paid.total, "firstPaymentAt" = paid.first, "lastPaymentAt" = paid.last
    FROM (
      SELECT "customerId", count(*) AS count, sum("amountAtomic") AS total, min("settledAt") AS first, max("settledAt") AS last
      FROM "Payment" WHERE "settledAt" IS NOT NULL GROUP BY 1
    ) AS paid WHERE c."id" = paid."customerId";
    INSERT INTO "RevenueDay" SELECT "projectId", ("updatedAt" AT TIME ZONE 'UTC')::date, "endpointId",
      coalesce(sum("amountAtomic") FILTER (WHERE "status" = 'SETTLED'), 0), count("settledAt"), count(*) FILTER (WHERE "status" = 'FAILED')
    FROM "Payment" GROUP BY 1, 2, 3`);
  await pool.query(
    `INSERT INTO "AuditEntry" ("id", "userId", "projectId", "actorKind", "actorId", "actorName", "action", "targetId", "changes", "createdAt")
     SELECT bench_id('aud', ($2::float8 + number * $3::float8)::bigint, number), p."userId", p."id", 'USER', p."userId", 'bench',
       CASE WHEN number % 1000 = 1 THEN 'webhook.secret_rotated' ELSE 'endpoint.updated' END,
       bench_id('ep', $2::bigint, number % ${ENDPOINTS}), '{"priceUsd":"0.02"}', to_timestamp(($2::float8 + number * $3::float8) / 1000)
     FROM generate_series(0, ($1 * ${AUDIT_ENTRIES_A_PAYMENT})::int - 1) AS number, "Project" p WHERE p."id" = $4`,
    [payments, from, (until - from) / (payments * AUDIT_ENTRIES_A_PAYMENT), projectId],
  );
}

/** One in 5,000 payments failed. The others are settled. */
const paymentsOf = (from: number, customers: number) => `
  INSERT INTO "Payment" ("id", "projectId", "endpointId", "endpointPath", "method", "customerId", "status", "failureStage", "x402Version",
    "network", "asset", "assetAddress", "payer", "payTo", "nonce", "amountAtomic", "validAfter", "validBefore", "requestFingerprint",
    "transactionHash", "createdAt", "settledAt", "updatedAt")
  SELECT bench_id('pay', ms, number), $4, bench_id('ep', ${from}, number % ${ENDPOINTS}), '/' || number % ${ENDPOINTS}, 'GET',
    bench_id('cus', ${from}, number % ${customers}), CASE WHEN failed THEN 'FAILED' ELSE 'SETTLED' END::"PaymentStatus",
    CASE WHEN failed THEN 'SETTLE' END::"PaymentStage", 2, 'eip155:8453', 'USDC', '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    '0x' || lpad(to_hex(number % ${customers}), 40, '0'), '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', '0x' || lpad(to_hex(number), 64, '0'),
    10000, time, time, md5(number::text), CASE WHEN NOT failed THEN '0x' || lpad(to_hex(number), 64, '0') END, time,
    CASE WHEN NOT failed THEN time END, time
  FROM (
    SELECT number, number % 5000 = 7 AS failed, ($2::float8 + number * $3::float8)::bigint AS ms,
      to_timestamp(($2::float8 + number * $3::float8) / 1000) AS time
    FROM generate_series(0, $1::int - 1) AS number
  ) AS payment`;
