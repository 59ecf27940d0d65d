import type pg from 'pg';
import { getAddress } from 'viem';
import { firstIdAt, type IdType, newId } from '../src/ids.ts';

const SELLER = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
const TOKEN_ADDRESS = '0x036cbd53842c5426634e7929541ec2318f3dcf7e';
const DAYS = 30;
const DAY_MILLISECONDS = 86_400_000;
const ENDPOINTS = [
  { path: '/weather/:city', priceUsd: '0.01', atomic: 10_000, upTo: 0.5 },
  { path: '/forecast/*', priceUsd: '0.05', atomic: 50_000, upTo: 0.8 },
  { path: '/radar', priceUsd: '0.25', atomic: 250_000, upTo: 0.95 },
  { path: '/history/:year', priceUsd: '0.75', atomic: 750_000, upTo: 1 },
];
const CUSTOMER_COUNT = 23;
const NEVER = new Date(0);

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
    const upstreamUrl = `https://api.weather.example${path}`;
    endpoints.push({ ...endpoint, ...(await make(`${base}/endpoints`, { path, priceUsd, upstreamUrl })) });
  }
  const customers = Array.from({ length: CUSTOMER_COUNT }, () => newId('Customer'));
  const wallets = customers.map(() => randomHex(40));
  const sums = new Map(customers.map((id) => [id, { total: 0, count: 0, first: NEVER, last: NEVER }]));

  for (let index = 0; index < customers.length; index += 1) {
    await sql.query('INSERT INTO "Customer" (id, "projectId", "walletAddress") VALUES ($1, $2, $3)', [
      customers[index],
      projectId,
      getAddress(wallets[index]!),
    ]);
  }
  const shop = await make(`${base}/webhooks`, { url: `${receiverUrl}/tollgate/events`, eventTypes: ['*'] });
  for (const time of paymentTimes()) {
    const customer = Math.floor(random() ** 2 * CUSTOMER_COUNT);
    const isFirst = sums.get(customers[customer]!)!.count === 0;
    const hasFailed = !isFirst && random() < 0.04;
    await plantPayment(time, customer, hasFailed);
    await plantDelivery(time, hasFailed ? 'payment.failed' : 'payment.settled');
    if (isFirst) await plantDelivery(time, 'customer.first_payment');
  }
  for (const [id, { total, count, first, last }] of sums) {
    await sql.query(
      'UPDATE "Customer" SET "totalAtomic" = $2, "paymentCount" = $3, "firstPaymentAt" = $4, "lastPaymentAt" = $5 WHERE id = $1',
      [id, total, count, first, last],
    );
  }
  await sendDeliveries();
  await plantConnectors();
  await make(`${base}/keys`, { name: 'CI' });
  await make(`${base}/keys`, { name: 'Backend' });
  await backdate();
  return projectId;

  /**
   * A month of payment times, oldest first: more each week, and most of them during the day. All of today's payments
   * are in the past, no matter how early it is, so their number doesn't depend on the time of day.
   */
  function paymentTimes(): Date[] {
    const now = Date.now();
    const midnight = Math.floor(now / DAY_MILLISECONDS) * DAY_MILLISECONDS;
    const times = Array.from({ length: DAYS }, (_, day) => {
      const start = midnight - (DAYS - 1 - day) * DAY_MILLISECONDS;
      const milliseconds = Math.min(DAY_MILLISECONDS, now - start);
      const growth = 0.4 + (0.6 * day) / DAYS;
      const count = Math.round((10 + 14 * random()) * growth);
      return Array.from({ length: count }, () => start + ((random() + random() + random()) / 3) * milliseconds);
    });
    return times
      .flat()
      .sort((a, b) => a - b)
      .map((time) => new Date(Math.floor(time)));
  }

  /** The ID that would have been created at this time. Lists are sorted by IDs. */
  function idAt(type: IdType, time: Date): string {
    const characters = Array.from({ length: 16 }, () => Math.floor(random() * 32).toString(32));
    // Replaces the letters that IDs don't use.
    const end = characters.join('').replace(/[ilou]/g, 'z');
    return firstIdAt(type, time.getTime()).slice(0, -16) + end;
  }

  function randomHex(digits: number): string {
    return `0x${Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('')}`;
  }

  async function plantPayment(time: Date, customer: number, hasFailed: boolean): Promise<void> {
    const pick = random();
    const endpoint = endpoints.find(({ upTo }) => pick < upTo)!;
    const wallet = wallets[customer]!;
    const id = idAt('Payment', time);
    const later = (milliseconds: number) => new Date(time.getTime() + milliseconds);
    const upstreamMilliseconds = Math.round(40 + random() * 160);
    const settledAt = later(400 + upstreamMilliseconds + Math.round(random() * 1_500));
    await sql.query(
      `INSERT INTO "Payment" (id, "projectId", "endpointId", "endpointPath", method, "customerId", status, "failureStage",
         "failureReason", "failureMessage", "x402Version", network, asset, "assetAddress", payer, "payTo", nonce, "amountAtomic",
         "validAfter", "validBefore", "requestFingerprint", "transactionHash", "createdAt", "verifiedAt", "servedAt", "settledAt",
         "updatedAt", "upstreamStatusCode", "upstreamDurationMs")
       VALUES ($1, $2, $3, $4, 'GET', $5, $6, $7, $8, $9, 2, 'eip155:84532', 'USDC', $10, $11, $12, $13, $14, $15, $16, $1, $17,
         $15, $18, $19, $20, $21, 200, $22)`,
      [
        ...[id, projectId, endpoint.id, endpoint.path, customers[customer], hasFailed ? 'FAILED' : 'SETTLED'],
        ...(hasFailed
          ? ['SETTLE', 'insufficient_funds', 'The wallet does not hold enough of the asset.']
          : [null, null, null]),
        ...[TOKEN_ADDRESS, wallet, SELLER.toLowerCase(), randomHex(64), endpoint.atomic, time, later(60_000)],
        ...[hasFailed ? null : randomHex(64), later(180), later(200 + upstreamMilliseconds)],
        ...[hasFailed ? null : settledAt, settledAt, upstreamMilliseconds],
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
      sums.set(customers[customer]!, {
        total: sum.total + endpoint.atomic,
        count: sum.count + 1,
        first: sum.count === 0 ? time : sum.first,
        last: time,
      });
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

  /** A past event, and its delivery to the shop. */
  async function plantDelivery(time: Date, eventType: string): Promise<void> {
    const hasFailed = random() < 0.03;
    const eventId = idAt('Event', time);
    const milliseconds = Math.round(40 + random() ** 4 * 400);
    await sql.query(`INSERT INTO "Event" (id, "projectId", type, data, timestamp) VALUES ($1, $2, $3, '{}', $4)`, [
      ...[eventId, projectId, eventType, time],
    ]);
    await sql.query(
      `INSERT INTO "Delivery" (id, "projectId", "eventId", "eventType", "webhookId", status, "attemptCount", "statusCode",
         "responseTimeMs", "nextAttemptAt", "createdAt", "updatedAt", "completedAt")
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, NULL, $10, $11, $11)`,
      [
        ...[idAt('Delivery', time), projectId, eventId, eventType, shop.id, hasFailed ? 'FAILED' : 'SUCCEEDED'],
        ...[hasFailed ? 6 : 1, hasFailed ? 500 : 200, milliseconds, time, new Date(time.getTime() + milliseconds)],
      ],
    );
  }

  /** Sends test events to the shop, which responds, and to a warehouse, which doesn't. */
  async function sendDeliveries(): Promise<void> {
    const warehouse = await make(`${base}/webhooks`, {
      url: `${receiverUrl}/warehouse`,
      eventTypes: ['payment.settled'],
    });
    for (const eventType of ['customer.first_payment', 'payment.failed', 'payment.verified', 'payment.settled']) {
      for (let index = 0; index < 3; index += 1) await call('POST', `${base}/webhooks/${shop.id}/test`, { eventType });
    }
    await call('POST', `${base}/webhooks/${warehouse.id}/test`, { eventType: 'payment.settled' });
    for (let status = ''; status !== '503'; ) {
      const { rows } = await sql.query('SELECT "statusCode" FROM "Delivery" WHERE "webhookId" = $1', [warehouse.id]);
      status = String(rows[0]?.statusCode);
    }
  }

  /** Makes the project look as if it had been set up weeks ago, not seconds ago. */
  async function backdate(): Promise<void> {
    for (const [table, age] of Object.entries({ Project: 41, Endpoint: 38, Webhook: 36, Connector: 20, ApiKey: 33 }))
      await sql.query(`UPDATE "${table}" SET "createdAt" = "createdAt" - $1 * interval '1 day'`, [age]);
    await sql.query(`UPDATE "ApiKey" SET "lastUsedAt" = now() - interval '3 minutes' WHERE name = 'Backend'`);
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
