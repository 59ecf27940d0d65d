import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sweepRefusedPayments } from '../../../src/features/payments/refused-sweep.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { type GatewayProcess, startGatewayProcess } from '../gateway-processes.ts';
import { sign, v2Headers } from '../sign.ts';
import { createShop, type Rails, startRails } from '../support.ts';

let rails: Rails;
let app: TestApp;
let alice: TestUser;
let gateways: GatewayProcess[];
let upstream: Receiver;
let shop: Awaited<ReturnType<typeof createShop>>;
let database: pg.Pool;

beforeAll(async () => {
  rails = await startRails();
  upstream = await startReceiver(() => ({ body: 'served' }));
  app = await startTestApp({ env: { ...rails.env, ROLES: 'api,worker' } });
  gateways = await Promise.all([1, 2].map(() => startGatewayProcess(app, rails)));
  database = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
  alice = await app.user('alice');
  shop = await createShop(app, alice, { '/weather': { upstreamUrl: `${upstream.url}/now` } });
  const hook = { url: `${upstream.url}/hook`, eventTypes: ['payment.failed', 'payment.settled'] };
  const made = await alice.rest('POST', `${shop.base}/webhooks`, hook);
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
});

afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.end('SIGKILL')));
  await database?.end();
  await app?.stop();
  await upstream?.close();
  await rails?.close();
});

async function countOf(table: string, where = 'true'): Promise<number> {
  return (await database.query(`SELECT count(*)::int AS count FROM "${table}" WHERE ${where}`)).rows[0].count;
}

test('of 600 forged payments sent at once through two processes, 60 are verified, and the seller gets no events for them', {
  timeout: 120_000,
}, async () => {
  const buyer = await rails.wallet(10_000n);
  const paid = v2Headers(await sign(buyer));
  const ask = (index: number, headers: Record<string, string>) =>
    fetch(`${gateways[index % 2]!.url}/gateway/${shop.projectId}/weather`, { headers });
  expect((await ask(0, paid)).status).toBe(200);
  rails.facilitator.calls.length = 0;
  const told = async () => ({
    events: await countOf('Event'),
    deliveries: await countOf('Delivery'),
    customers: await countOf('Customer'),
    revenueDays: await countOf('RevenueDay'),
  });
  const before = await told();
  const { signature } = await sign(buyer);
  const victim = await rails.wallet();
  const forged = await Promise.all(
    Array.from({ length: 600 }, async () => v2Headers({ ...(await sign(victim)), signature })),
  );
  const startedAt = performance.now();

  const answers = await Promise.all(forged.map((headers, index) => ask(index, headers)));

  // The limit for one minute, plus what refills during the test.
  const comesBack = Math.ceil((performance.now() - startedAt) / 1000);
  expect(rails.facilitator.countOf('verify')).toBeGreaterThanOrEqual(60);
  expect(rails.facilitator.countOf('verify')).toBeLessThanOrEqual(60 + comesBack);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([402, 429]));
  expect(answers.filter(({ status }) => status === 402).length).toBe(rails.facilitator.countOf('verify'));
  expect(await told()).toEqual(before);
  expect(await rails.chain.balanceOf(victim.address)).toBe(1_000_000n);
  expect(await countOf('RevenueDay', '"failedCount" > 0')).toBe(0);
  const totals = await alice.graphql(
    'query ($id: ID!) { project(id: $id) { paymentTotals { paymentCount settledCount failedCount } } }',
    { id: shop.projectId },
  );
  expect(totals.data).toEqual({ project: { paymentTotals: { paymentCount: 1, settledCount: 1, failedCount: 0 } } });
  // A buyer who paid still gets the response, even behind the same address.
  expect((await ask(1, paid)).status).toBe(200);
});

test('rejected payments are deleted after an hour, and all others are kept', async () => {
  const refused = `"failureStage" = 'VERIFY'`;
  const others = await countOf('Payment', `"failureStage" IS NULL`);
  expect(await countOf('Payment', refused)).toBeGreaterThan(0);
  await sweepRefusedPayments(database);
  expect(await countOf('Payment', refused)).toBeGreaterThan(0);
  await database.query(`UPDATE "Payment" SET "createdAt" = "createdAt" - interval '61 minutes'`);
  await sweepRefusedPayments(database);
  expect(await countOf('Payment', refused)).toBe(0);
  expect(await countOf('Payment', `"failureStage" IS NULL`)).toBe(others);
});
