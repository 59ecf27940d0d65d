import fc from 'fast-check';
import { getAddress } from 'viem';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject, type Resource } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';
import { claimed, hex, newPayment, openTestLedger, settled, type TestLedger } from '../payments/support.ts';

let app: TestApp;
let rest: Rest;
let books: TestLedger;
let alice: TestUser;
let shop: Resource & { base: string };
/** Wallets with the total they paid, in millionths of a US dollar, ordered by their last payment. */
const paid: { wallet: string; total: number; count: number }[] = [];

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  books = await openTestLedger({ url: app.databaseUrl });
  alice = await app.user('alice');
  shop = await createProject(alice);
  for (const amounts of [[500], [100, 100], [900], [500], [7, 3], [500]]) {
    const payer = hex(20);
    for (const amount of amounts)
      await settled(books.ledger, newPayment(shop.id, { payer, amountAtomic: BigInt(amount) }));
    const total = amounts.reduce((sum, amount) => sum + amount, 0);
    paid.push({ wallet: getAddress(payer), total, count: amounts.length });
  }
  // A wallet with only a verified payment is not a customer yet.
  await books.ledger.verified(leaseOf(await claimed(books.ledger, newPayment(shop.id))));
});

afterAll(async () => {
  await books?.close();
  await app?.stop();
});

type Customer = Resource & { walletAddress: string; totalAtomic: string; paymentCount: number };
type Page = { data: Customer[]; nextCursor: string | null };

const list = async (query: string) => {
  const { status, body } = await rest.send<Page>(alice, 'GET', `${shop.base}/customers?${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};

test('customers are the wallets that have paid, most recent payment first', async () => {
  const { data } = await list('');
  expect(data.map(({ walletAddress }) => walletAddress)).toEqual(paid.map(({ wallet }) => wallet).toReversed());
  expect(data.at(-2)).toEqual({
    id: expect.stringMatching(/^cus_/),
    projectId: shop.id,
    walletAddress: paid[1]!.wallet,
    paymentCount: 2,
    totalUsd: '0.0002',
    totalAtomic: '200',
    firstPaymentAt: expect.any(String),
    lastPaymentAt: expect.any(String),
    createdAt: expect.any(String),
  });
});

test('customers have totals, both overall and for a filter, excluding wallets that haven’t paid', async () => {
  const { data } = await alice.graphql(
    `query ($id: ID!, $filter: CustomerFilter) { project(id: $id) {
      all: customerTotals { customerCount paymentCount totalUsd totalAtomic }
      some: customerTotals(filter: $filter) { customerCount paymentCount totalUsd }
      none: customerTotals(filter: { from: "2099-01-01T00:00:00Z" }) { customerCount paymentCount totalUsd totalAtomic }
    } }`,
    { id: shop.id, filter: { minTotalUsd: '0.0005' } },
  );
  expect(data).toEqual({
    project: {
      all: { customerCount: 6, paymentCount: 8, totalUsd: '0.00261', totalAtomic: '2610' },
      some: { customerCount: 4, paymentCount: 4, totalUsd: '0.0024' },
      none: { customerCount: 0, paymentCount: 0, totalUsd: '0', totalAtomic: '0' },
    },
  });
});

test('customers can be sorted by total, and customers with the same total keep their order', async () => {
  const { data } = await list('orderBy=TOTAL');
  expect(data.map(({ totalAtomic }) => totalAtomic)).toEqual(['900', '500', '500', '500', '200', '10']);
  expect((await list('orderBy=TOTAL')).data).toEqual(data);
});

test('customers can be sorted by their first payment, most recent first, and cursors do not work in another order', async () => {
  const own = await createProject(alice);
  const payers = [hex(20), hex(20), hex(20)];
  for (const payer of [...payers, payers[0]!]) await settled(books.ledger, newPayment(own.id, { payer }));
  const path = `${own.base}/customers?orderBy=FIRST_PAYMENT`;
  const { body } = await rest.send<Page>(alice, 'GET', path);
  expect(body.data.map(({ walletAddress }) => walletAddress)).toEqual(
    payers.map((payer) => getAddress(payer)).toReversed(),
  );
  const { nextCursor } = (await rest.send<Page>(alice, 'GET', `${path}&limit=1`)).body;
  for (const [orderBy, status] of [
    ['FIRST_PAYMENT', 200],
    ['LAST_PAYMENT', 422],
    ['TOTAL', 422],
  ] as const) {
    const other = `${own.base}/customers?orderBy=${orderBy}&after=${nextCursor}`;
    expect((await rest.send(alice, 'GET', other)).status, orderBy).toBe(status);
  }
});

test('paging through customers neither skips nor repeats any, in either sort order and either direction', async () => {
  for (const orderBy of ['TOTAL', 'LAST_PAYMENT', 'FIRST_PAYMENT']) {
    const all = (await list(`orderBy=${orderBy}`)).data.map(({ id }) => id);
    for (const limit of [1, 2, 3, 5, 6]) {
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const page: Page = await list(`orderBy=${orderBy}&limit=${limit}${after ? `&after=${after}` : ''}`);
        seen.push(...page.data.map(({ id }) => id));
        after = page.nextCursor;
      } while (after);
      expect(seen, `${orderBy} by ${limit}`).toEqual(all);
    }
    const { data } = await alice.graphql<{
      project: { customers: { nodes: { id: string }[]; pageInfo: { startCursor: string } } };
    }>(
      `query ($id: ID!, $orderBy: CustomerOrder!) { project(id: $id) { customers(last: 2, orderBy: $orderBy) {
        nodes { id } pageInfo { startCursor hasPreviousPage } } } }`,
      { id: shop.id, orderBy },
    );
    const tail = data!.project.customers;
    expect(tail.nodes.map(({ id }) => id)).toEqual(all.slice(-2));
    const before = await alice.graphql(
      `query ($id: ID!, $orderBy: CustomerOrder!, $before: String!) { project(id: $id) {
        customers(last: 3, before: $before, orderBy: $orderBy) { nodes { id } } } }`,
      { id: shop.id, orderBy, before: tail.pageInfo.startCursor },
    );
    expect(before.data).toEqual({ project: { customers: { nodes: all.slice(-5, -2).map((id) => ({ id })) } } });
  }
});

test('a page of customers continues after the previous one, even if its last customer has paid again', async () => {
  const own = await createProject(alice);
  const payers = [hex(20), hex(20), hex(20), hex(20)];
  for (const payer of payers) await settled(books.ledger, newPayment(own.id, { payer }));
  const path = `${own.base}/customers?limit=2`;
  const first = await rest.send<Page>(alice, 'GET', path);
  await settled(books.ledger, newPayment(own.id, { payer: payers[2]! }));
  const second = await rest.send<Page>(alice, 'GET', `${path}&after=${first.body.nextCursor}`);
  expect(second.body.data.map(({ walletAddress }) => walletAddress)).toEqual([
    getAddress(payers[1]!),
    getAddress(payers[0]!),
  ]);
});

test('customers can be found by wallet address, regardless of its capitalization', async () => {
  const { wallet } = paid[2]!;
  for (const spelled of [wallet, wallet.toLowerCase(), `0x${wallet.slice(2).toUpperCase()}`])
    expect((await list(`walletAddress=${spelled}`)).data.map(({ walletAddress }) => walletAddress)).toEqual([wallet]);
  expect((await list(`walletAddress=${hex(20)}`)).data).toEqual([]);
});

test('a customer can be read by ID, and so can their payments', async () => {
  const [customer] = (await list(`walletAddress=${paid[1]!.wallet}`)).data;
  const path = `${shop.base}/customers/${customer!.id}`;
  expect((await rest.send(alice, 'GET', path)).body).toEqual(customer);
  const { body } = await rest.send<Page>(alice, 'GET', `${path}/payments`);
  expect(body.data).toMatchObject([{ customerId: customer!.id }, { customerId: customer!.id }]);
});

test.each([
  ['orderBy=NAME', '/orderBy'],
  ['walletAddress=0x12', '/walletAddress'],
  ['after=nonsense', '/after'],
  ['limit=0', '/limit'],
])('listing customers with %s returns 422', async (query, pointer) => {
  const { status, body } = await rest.send(alice, 'GET', `${shop.base}/customers?${query}`);
  expect(status).toBe(422);
  expect(body.errors).toMatchObject([{ pointer }]);
});

test('a cursor for a different sort order returns 422, and no cursor breaks the customer list', async () => {
  const { nextCursor } = await list('limit=1');
  const refused = await rest.send(alice, 'GET', `${shop.base}/customers?orderBy=TOTAL&after=${nextCursor}`);
  expect(refused.status).toBe(422);
  const id = nextCursor!.split('.').at(-1)!;
  const cursors = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.bigInt().map((value) => `last.${value}.${id}`),
    fc.bigInt().map((value) => `total.${value}.${id}`),
  );
  await fc.assert(
    fc.asyncProperty(cursors, fc.constantFrom('TOTAL', 'LAST_PAYMENT'), async (cursor, orderBy) => {
      const path = `${shop.base}/customers?orderBy=${orderBy}&after=${encodeURIComponent(cursor.toWellFormed())}`;
      expect([200, 422]).toContain((await rest.send(alice, 'GET', path)).status);
    }),
    { numRuns: 60 },
  );
});
