import { getAddress } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import type { NewPayment } from '../../../src/features/payments/payment-record.ts';
import { newId } from '../../../src/ids.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';
import { claimed, hex, newPayment, openTestLedger, settled, type TestLedger } from '../payments/support.ts';

let app: TestApp;
let rest: Rest;
let books: TestLedger;
let alice: TestUser;
let shop: Resource & { base: string };
let now = new Date();

const [weather, maps] = [newId('Endpoint'), newId('Endpoint')];
const [ada, bob] = [hex(20), hex(20)];

/** Settles a payment at the given time. */
async function payAt(time: string, changes: Partial<NewPayment>) {
  now = new Date(time);
  return settled(books.ledger, newPayment(shop.id, changes), now);
}

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  books = await openTestLedger({ url: app.databaseUrl, now: () => now });
  alice = await app.user('alice');
  shop = await createProject(alice);
  await payAt('2026-01-31T23:59:59.999Z', { endpointId: weather, payer: ada, amountAtomic: 1_000_000n });
  await payAt('2026-02-01T00:00:00.000Z', { endpointId: weather, payer: ada, amountAtomic: 20_000n });
  await payAt('2026-02-03T10:15:00Z', { endpointId: maps, payer: bob, amountAtomic: 500_000n, endpointPath: '/maps' });
  await payAt('2026-02-03T10:45:00Z', { endpointId: weather, payer: bob, amountAtomic: 3n });
  await payAt('2026-02-03T12:00:00Z', { endpointId: weather, payer: ada, amountAtomic: 100_000n });
  now = new Date('2026-02-03T12:30:00Z');
  const failing = leaseOf(
    await claimed(books.ledger, newPayment(shop.id, { endpointId: maps, endpointPath: '/maps' })),
  );
  await books.ledger.verified(failing);
  await books.ledger.failed(failing, { stage: 'UPSTREAM', reason: 'expired', message: 'Too late.' });
  // This payment's payer is unverified, so it doesn't count.
  const forged = leaseOf(await claimed(books.ledger, newPayment(shop.id, { endpointId: maps, endpointPath: '/maps' })));
  await books.ledger.failed(forged, { stage: 'VERIFY', reason: 'invalid_signature', message: 'Forged.' });
});

afterAll(async () => {
  await books?.close();
  await app?.stop();
});

type Bucket = { start: string; totalUsd: string; totalAtomic: string; paymentCount: number; failedCount: number };
type Revenue = {
  from: string;
  to: string;
  interval: string;
  totals: object;
  buckets: Bucket[];
  topEndpoints: object[];
  topCustomers: object[];
};

async function read(query: string): Promise<Revenue> {
  const { status, body } = await rest.send<Revenue>(alice, 'GET', `${shop.base}/revenue?${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

describe('revenue', () => {
  test('includes every day, even days without payments, and the totals', async () => {
    const revenue = await read('from=2026-01-31T12:00:00Z&to=2026-02-04T00:00:00Z');
    expect(revenue).toMatchObject({
      from: '2026-01-31T00:00:00.000Z',
      to: '2026-02-04T00:00:00.000Z',
      interval: 'DAY',
    });
    expect(revenue.buckets).toEqual([
      { start: '2026-01-31T00:00:00.000Z', totalUsd: '1', totalAtomic: '1000000', paymentCount: 1, failedCount: 0 },
      { start: '2026-02-01T00:00:00.000Z', totalUsd: '0.02', totalAtomic: '20000', paymentCount: 1, failedCount: 0 },
      { start: '2026-02-02T00:00:00.000Z', totalUsd: '0', totalAtomic: '0', paymentCount: 0, failedCount: 0 },
      {
        start: '2026-02-03T00:00:00.000Z',
        totalUsd: '0.600003',
        totalAtomic: '600003',
        paymentCount: 3,
        failedCount: 1,
      },
    ]);
    expect(revenue.totals).toEqual({
      totalUsd: '1.620003',
      totalAtomic: '1620003',
      paymentCount: 5,
      failedCount: 1,
      customerCount: 2,
    });
  });

  test('has the same totals by month and by hour', async () => {
    const months = await read('interval=MONTH&from=2025-12-01T00:00:00Z&to=2026-03-01T00:00:00Z');
    expect(months.buckets.map(({ start, totalUsd }) => [start.slice(0, 7), totalUsd])).toEqual([
      ['2025-12', '0'],
      ['2026-01', '1'],
      ['2026-02', '0.620003'],
    ]);
    const hours = await read('interval=HOUR&from=2026-02-03T09:00:00Z&to=2026-02-03T13:00:00Z');
    expect(
      hours.buckets.map(({ start, totalAtomic, paymentCount }) => [start.slice(11, 13), totalAtomic, paymentCount]),
    ).toEqual([
      ['09', '0', 0],
      ['10', '500003', 2],
      ['11', '0', 0],
      ['12', '100000', 1],
    ]);
  });

  test('counts a failure in the hour in which it happened', async () => {
    const { buckets } = await read('interval=HOUR');
    expect(buckets).toHaveLength(24);
    expect(buckets.reduce((sum, { failedCount }) => sum + failedCount, 0)).toBe(1);
  });

  test('has the top endpoints and customers of exactly that period', async () => {
    const top = { totalUsd: '1.120003', totalAtomic: '1120003', paymentCount: 4 };
    for (const interval of ['DAY', 'HOUR']) {
      const revenue = await read(`interval=${interval}&from=2026-01-31T00:00:00Z&to=2026-02-04T00:00:00Z`);
      expect(revenue.topEndpoints).toEqual([
        { endpointId: weather, path: '/weather', ...top },
        { endpointId: maps, path: '/maps', totalUsd: '0.5', totalAtomic: '500000', paymentCount: 1 },
      ]);
      expect(revenue.topCustomers).toMatchObject([
        { walletAddress: getAddress(ada), totalUsd: '1.12', paymentCount: 3 },
        { walletAddress: getAddress(bob), totalUsd: '0.500003', paymentCount: 2 },
      ]);
    }
    const day = await read('from=2026-02-03T00:00:00Z&to=2026-02-04T00:00:00Z');
    expect(day.topEndpoints).toMatchObject([{ endpointId: maps }, { endpointId: weather, totalAtomic: '100003' }]);
    expect(day.topCustomers).toMatchObject([{ walletAddress: getAddress(bob) }, { walletAddress: getAddress(ada) }]);
  });

  test("shows an endpoint's current path", async () => {
    const endpoint = await alice.rest<Resource>('POST', `${shop.base}/endpoints`, {
      path: '/old',
      upstreamUrl: 'https://api.example.com/',
      priceUsd: '1',
    });
    await payAt('2027-01-01T10:00:00Z', { endpointId: endpoint.body.id, endpointPath: '/old' });
    const path = async () => {
      const { topEndpoints } = await read('from=2027-01-01T00:00:00Z&to=2027-01-02T00:00:00Z');
      return (topEndpoints[0] as { path: string }).path;
    };
    expect(await path()).toBe('/old');
    await alice.rest('PATCH', `${shop.base}/endpoints/${endpoint.body.id}`, { path: '/new' });
    expect(await path()).toBe('/new');
    await alice.rest('DELETE', `${shop.base}/endpoints/${endpoint.body.id}`);
    expect(await path()).toBe('/old');
  });

  test('is all zeros for a project without payments', async () => {
    const empty = await createProject(alice);
    const { body } = await rest.send<Revenue>(alice, 'GET', `${empty.base}/revenue`);
    expect(body.buckets).toHaveLength(30);
    expect(body).toMatchObject({ totals: { totalUsd: '0', paymentCount: 0 }, topEndpoints: [], topCustomers: [] });
  });

  test.each([
    ['interval=WEEK', '/interval'],
    ['from=2026-02-01', '/from'],
    ['from=2026-02-01T00:00:00Z&to=2026-02-01T00:00:00Z', '/to'],
    ['interval=HOUR&from=2025-02-01T00:00:00Z', '/from'],
  ])("can't be requested with %s", async (query, pointer) => {
    const { status, body } = await rest.send(alice, 'GET', `${shop.base}/revenue?${query}`);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer }]);
  });

  test('over GraphQL has the requested number of top endpoints and customers', async () => {
    const query = `query ($id: ID!, $first: Int!) { project(id: $id) {
      revenue(interval: MONTH, from: "2026-01-01T00:00:00Z", to: "2026-03-01T00:00:00Z") {
        totals { totalUsd customerCount } topEndpoints(first: $first) { path } topCustomers(first: $first) { totalUsd } } } }`;
    const one = await alice.graphql<{ project: { revenue: object } }>(query, { id: shop.id, first: 1 });
    expect(one.data!.project.revenue).toEqual({
      totals: { totalUsd: '1.620003', customerCount: 2 },
      topEndpoints: [{ path: '/weather' }],
      topCustomers: [{ totalUsd: '1.12' }],
    });
    for (const first of [0, 101, -1]) {
      const { errors } = await alice.graphql(query, { id: shop.id, first });
      expect(errors![0]!.extensions).toMatchObject({ code: 'VALIDATION_FAILED', field: '/first' });
    }
  });
});

describe("a project's time zone", () => {
  let local: Resource & { base: string };
  const setZone = (timeZone: unknown) => rest.send(alice, 'PATCH', local.base, { body: { timeZone } });
  const startsOf = async (query: string) => {
    const { body } = await rest.send<Revenue & { timeZone: string }>(alice, 'GET', `${local.base}/revenue?${query}`);
    return { timeZone: body.timeZone, buckets: body.buckets.map(({ start, totalAtomic }) => [start, totalAtomic]) };
  };

  beforeAll(async () => {
    local = await createProject(alice);
    for (const [time, amountAtomic] of [
      ['2026-03-08T03:29:59.999Z', 1n],
      ['2026-03-08T03:30:00.000Z', 20n],
      ['2026-03-09T02:29:59.999Z', 300n],
      ['2026-03-09T02:30:00.000Z', 4_000n],
    ] as const) {
      now = new Date(time);
      await settled(books.ledger, newPayment(local.id, { amountAtomic }), now);
    }
  });

  test('is UTC by default, and decides where the days and months of revenue begin', async () => {
    expect(local).toMatchObject({ timeZone: 'UTC' });
    expect(await startsOf('from=2026-03-08T00:00:00Z&to=2026-03-10T00:00:00Z')).toEqual({
      timeZone: 'UTC',
      buckets: [
        ['2026-03-08T00:00:00.000Z', '21'],
        ['2026-03-09T00:00:00.000Z', '4300'],
      ],
    });
    // Names are stored as PostgreSQL spells them.
    expect(await setZone('america/st_johns')).toMatchObject({ status: 200, body: { timeZone: 'America/St_Johns' } });
    // The clocks are set ahead on March 8.
    expect(await startsOf('from=2026-03-08T03:00:00Z&to=2026-03-09T03:00:00Z')).toEqual({
      timeZone: 'America/St_Johns',
      buckets: [
        ['2026-03-07T03:30:00.000Z', '1'],
        ['2026-03-08T03:30:00.000Z', '320'],
        ['2026-03-09T02:30:00.000Z', '4000'],
      ],
    });
    expect(await startsOf('interval=MONTH&from=2026-02-28T12:00:00Z&to=2026-03-31T12:00:00Z')).toEqual({
      timeZone: 'America/St_Johns',
      buckets: [
        ['2026-02-01T03:30:00.000Z', '0'],
        ['2026-03-01T03:30:00.000Z', '4321'],
      ],
    });
    const hours = await startsOf('interval=HOUR&from=2026-03-08T03:10:00Z&to=2026-03-08T04:00:00Z');
    expect(hours.buckets).toEqual([['2026-03-08T03:00:00.000Z', '21']]);
  });

  test('is in the audit log when it changes, and the current day then ends at its midnight', async () => {
    await setZone('UTC');
    await setZone('Asia/Kathmandu');
    const { body } = await rest.send<{ data: { changes: unknown; previous: unknown }[] }>(
      alice,
      'GET',
      `${local.base}/audit-log?limit=1`,
    );
    expect(body.data[0]).toMatchObject({ changes: { timeZone: 'Asia/Kathmandu' }, previous: { timeZone: 'UTC' } });
    const { rows } = await books.db.pool.query(
      `SELECT ("to" AT TIME ZONE 'Asia/Kathmandu')::time::text AS "end" FROM "SummaryPeriod" WHERE "projectId" = $1`,
      [local.id],
    );
    expect(rows).toEqual([{ end: '00:00:00' }]);
  });

  test.each(['Mars/Olympus', '+01:00', '', null, 'posix/Europe/Vienna'])('cannot be %j', async (timeZone) => {
    const { status, body } = await setZone(timeZone);
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([{ pointer: '/timeZone' }]);
  });
});
