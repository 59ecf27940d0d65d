import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { getAddress } from 'viem';
import { newId } from '../../src/ids.ts';

/** Inserts a settled payment of one cent by a new customer, as the gateway would. Its endpoint path is `/<mark>`. */
export async function insertPayment(
  sql: Pick<pg.Pool, 'query'>,
  { projectId, endpointId, mark }: { projectId: string; endpointId: string; mark: string },
): Promise<{ paymentId: string; customerId: string }> {
  const [customerId, paymentId] = [newId('Customer'), newId('Payment')];
  const wallet = `0x${randomBytes(20).toString('hex')}`;
  await sql.query(
    `INSERT INTO "Customer" (id, "projectId", "walletAddress", "paymentCount", "totalAtomic", "firstPaymentAt", "lastPaymentAt")
     VALUES ($1, $2, $3, 1, 10000, now(), now())`,
    [customerId, projectId, getAddress(wallet)],
  );
  await sql.query(
    `INSERT INTO "Payment" (id, "projectId", "endpointId", "endpointPath", method, "customerId", status, "x402Version",
       network, asset, "assetAddress", payer, "payTo", nonce, "amountAtomic", "validAfter", "validBefore",
       "requestFingerprint", "transactionHash", "settledAt")
     VALUES ($1, $2, $3, $4, 'GET', $5, 'SETTLED', 2, 'eip155:84532', 'USDC', $6, $6, $6, $1, 10000, now(), now(), $1, $1, now())`,
    [paymentId, projectId, endpointId, `/${mark}`, customerId, wallet],
  );
  await sql.query(
    `INSERT INTO "RevenueDay" ("projectId", day, "endpointId", "totalAtomic", "paymentCount")
     VALUES ($1, (now() AT TIME ZONE 'UTC')::date, $2, 10000, 1)`,
    [projectId, endpointId],
  );
  return { paymentId, customerId };
}

/** Inserts a payment directly into the database of a running service. */
export async function createPayment(
  { databaseUrl }: { databaseUrl: string },
  payment: Parameters<typeof insertPayment>[1],
): ReturnType<typeof insertPayment> {
  const sql = new pg.Client({ connectionString: databaseUrl });
  await sql.connect();
  try {
    return await insertPayment(sql, payment);
  } finally {
    await sql.end();
  }
}
