import type pg from 'pg';
import { getAddress } from 'viem';
import { newId } from '../src/ids.ts';

const SELLER = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const TOKEN_ADDRESS = '0x036cbd53842c5426634e7929541ec2318f3dcf7e';
const DAYS = 30;
const DAY_MILLISECONDS = 86_400_000;
const ENDPOINTS = [
  { path: '/weather/:city', priceUsd: '0.01', atomic: 10_000, upTo: 0.5 },
  { path: '/forecast/*', priceUsd: '0.05', atomic: 50_000, upTo: 0.8 },
  { path: '/radar', priceUsd: '0.25', atomic: 250_000, upTo: 0.95 },
  { path: '/history/:year', priceUsd: '1.5', atomic: 1_500_000, upTo: 1 },
];
const CUSTOMER_COUNT = 23;

/** Creates a project with a month of data, a webhook that works, and one that fails. Returns its ID. */
export async function plantBusiness(options: {
  sql: pg.Client;
  url: string;
  token: string;
  receiverUrl: string;
}): Promise<string> {
  const { sql, url, token, receiverUrl } = options;
  const random = pseudoRandom(7);
  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path} failed: ${await answer.text()}`);
    return (await answer.json()) as T;
  }
  const make = (path: string, body: unknown) => call<{ id: string }>('POST', path, body);

  await make('/api/projects', { name: 'Staging', walletAddress: SELLER });
  const { id: projectId } = await make('/api/projects', { name: 'Weather API', walletAddress: SELLER });
  const base = `/api/projects/${projectId}`;
  const endpoints: ((typeof ENDPOINTS)[number] & { id: string })[] = [];
  for (const endpoint of ENDPOINTS) {
    const { path, priceUsd } = endpoint;
    const upstreamUrl = `https://api.weather.example${path.replace(':city', '{city}').replace(/[:*{}]/g, '')}`;
    endpoints.push({ ...endpoint, ...(await make(`${base}/endpoints`, { path, priceUsd, upstreamUrl })) });
  }
  const customers = Array.from({ length: CUSTOMER_COUNT }, () => newId('Customer'));
  const wallets = customers.map(
    () => `0x${Array.from({ length: 40 }, () => Math.floor(random() * 16).toString(16)).join('')}`,
  );
  const sums = new Map(customers.map((id) => [id, { total: 0, count: 0, last: new Date(0) }]));

  for (let index = 0; index < customers.length; index += 1) {
    await sql.query('INSERT INTO "Customer" (id, "projectId", "walletAddress") VALUES ($1, $2, $3)', [
      customers[index],
      projectId,
      getAddress(wallets[index]!),
    ]);
  }
  for (let day = DAYS - 1; day >= 0; day -= 1) {
    const growth = 1 - day / DAYS / 1.6;
    const count = Math.round((14 + 10 * random()) * growth);
    for (let index = 0; index < count; index += 1) {
      const time = new Date(Date.now() - day * DAY_MILLISECONDS - random() * DAY_MILLISECONDS * 0.4);
      const customer = Math.floor(random() ** 2 * CUSTOMER_COUNT);
      await plantPayment(time, customer, random() < 0.04);
    }
  }
  for (const [id, { total, count, last }] of sums) {
    await sql.query(
      'UPDATE "Customer" SET "totalAtomic" = $2, "paymentCount" = $3, "firstPaymentAt" = $4, "lastPaymentAt" = $4 WHERE id = $1',
      [id, total, count, last],
    );
  }
  await plantDeliveries();
  await plantConnectors();
  await make(`${base}/keys`, { name: 'CI' });
  await make(`${base}/keys`, { name: 'Backend' });
  return projectId;

  async function plantPayment(time: Date, customer: number, hasFailed: boolean): Promise<void> {
    const pick = random();
    const endpoint = endpoints.find(({ upTo }) => pick < upTo)!;
    const wallet = wallets[customer]!;
    const id = newId('Payment', time.getTime());
    await sql.query(
      `INSERT INTO "Payment" (id, "projectId", "endpointId", "endpointPath", method, "customerId", status, "failureStage",
         "failureReason", "failureMessage", "x402Version", network, asset, "assetAddress", payer, "payTo", nonce, "amountAtomic",
         "validAfter", "validBefore", "requestFingerprint", "transactionHash", "createdAt", "verifiedAt", "settledAt", "updatedAt",
         "upstreamStatusCode", "upstreamDurationMs")
       VALUES ($1, $2, $3, $4, 'GET', $5, $6, $7, $8, $9, 2, 'eip155:84532', 'USDC', $10, $11, $12, $1, $13, $14, $14, $1, $15, $14,
         $14, $16, $14, 200, 84)`,
      [
        ...[id, projectId, endpoint.id, endpoint.path, customers[customer], hasFailed ? 'FAILED' : 'SETTLED'],
        ...(hasFailed
          ? ['SETTLE', 'insufficient_funds', 'The wallet does not hold enough of the asset.']
          : [null, null, null]),
        ...[TOKEN_ADDRESS, wallet, SELLER.toLowerCase(), endpoint.atomic, time],
        ...[hasFailed ? null : `0x${id.slice(4).padEnd(64, '0')}`, hasFailed ? null : time],
      ],
    );
    await sql.query(
      `INSERT INTO "RevenueDay" ("projectId", day, "endpointId", "totalAtomic", "paymentCount", "failedCount")
       VALUES ($1, ($2::timestamptz AT TIME ZONE 'UTC')::date, $3, $4, $5, $6)
       ON CONFLICT ("projectId", day, "endpointId") DO UPDATE SET "totalAtomic" = "RevenueDay"."totalAtomic" + $4,
         "paymentCount" = "RevenueDay"."paymentCount" + $5, "failedCount" = "RevenueDay"."failedCount" + $6`,
      [projectId, time, endpoint.id, hasFailed ? 0 : endpoint.atomic, hasFailed ? 0 : 1, hasFailed ? 1 : 0],
    );
    const sum = sums.get(customers[customer]!)!;
    if (!hasFailed)
      sums.set(customers[customer]!, { total: sum.total + endpoint.atomic, count: sum.count + 1, last: time });
  }

  /** Two connectors that receive none of these events: one that is active, and one that is paused. */
  async function plantConnectors(): Promise<void> {
    const eventTypes = ['revenue.daily_summary'];
    const slack = { webhookUrl: 'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx' };
    await make(`${base}/connectors`, { type: 'slack', config: slack, eventTypes });
    const discord = { webhookUrl: `https://discord.com/api/webhooks/123456789012345678/${'a'.repeat(68)}` };
    const { id } = await make(`${base}/connectors`, { type: 'discord', config: discord, eventTypes });
    await sql.query('UPDATE "Connector" SET "pausedAt" = now(), "pausedReason" = $2 WHERE id = $1', [
      id,
      'Discord rejected the webhook URL: the webhook was deleted there.',
    ]);
  }

  /** Inserts past deliveries, and sends current ones. */
  async function plantDeliveries(): Promise<void> {
    const eventTypes = ['*'];
    const shop = await make(`${base}/webhooks`, { url: `${receiverUrl}/tollgate/events`, eventTypes });
    const warehouse = await make(`${base}/webhooks`, {
      url: `${receiverUrl}/warehouse`,
      eventTypes: ['payment.settled'],
    });
    for (let day = DAYS - 1; day >= 1; day -= 1) {
      for (let index = 0; index < 12; index += 1) {
        const time = new Date(Date.now() - day * DAY_MILLISECONDS);
        const hasFailed = random() < 0.03;
        const eventId = newId('Event', time.getTime());
        await sql.query(
          `INSERT INTO "Event" (id, "projectId", type, data, timestamp) VALUES ($1, $2, 'payment.settled', '{}', $3)`,
          [eventId, projectId, time],
        );
        await sql.query(
          `INSERT INTO "Delivery" (id, "projectId", "eventId", "eventType", "webhookId", status, "attemptCount", "statusCode",
             "responseTimeMs", "nextAttemptAt", "createdAt", "updatedAt", "completedAt")
           VALUES ($1, $2, $3, 'payment.settled', $4, $5, 1, $6, $7, NULL, $8, $8, $8)`,
          [
            ...[newId('Delivery', time.getTime()), projectId, eventId, shop.id, hasFailed ? 'FAILED' : 'SUCCEEDED'],
            ...[hasFailed ? 500 : 200, Math.round(40 + random() ** 4 * 400), time],
          ],
        );
      }
    }
    for (const eventType of ['customer.first_payment', 'payment.failed', 'payment.verified', 'payment.settled']) {
      for (let index = 0; index < 3; index += 1) await call('POST', `${base}/webhooks/${shop.id}/test`, { eventType });
    }
    await call('POST', `${base}/webhooks/${warehouse.id}/test`, { eventType: 'payment.settled' });
    for (let status = ''; status !== '503'; ) {
      const { rows } = await sql.query('SELECT "statusCode" FROM "Delivery" WHERE "webhookId" = $1', [warehouse.id]);
      status = String(rows[0]?.statusCode);
    }
  }
}

/** Returns the same numbers each time (mulberry32), so that screenshots change only if the console does. */
function pseudoRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
