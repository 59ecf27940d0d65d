import { createClient, type Sink } from 'graphql-sse';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createKey, createProject, type Resource } from '../../support/resources.ts';
import { answer, claimed, hex, newPayment, openTestLedger, settled, type TestLedger } from './support.ts';

let app: TestApp;
let books: TestLedger;
let alice: TestUser;
let shop: Resource & { base: string };

beforeAll(async () => {
  app = await startTestApp();
  books = await openTestLedger({ url: app.databaseUrl });
  alice = await app.user('alice');
});
afterAll(async () => {
  await books?.close();
  await app?.stop();
});

type Item = { cursor: string; payment: { id: string; status: string; updatedAt: string } };
type Arguments = { projectId: string; after?: string; filter?: object };

const SUBSCRIPTION = `subscription ($projectId: ID!, $after: String, $filter: PaymentFilter) {
  paymentUpdated(projectId: $projectId, after: $after, filter: $filter) { cursor payment { id status updatedAt } } }`;

/** Subscribes to a project's payments. `items` grows as they arrive. */
function follow({ token }: { token: string }, variables: Arguments) {
  const client = createClient({
    url: `${app.url}/graphql`,
    headers: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
  });
  const items: Item[] = [];
  const errors: unknown[] = [];
  const ended = Promise.withResolvers<void>();
  const sink: Sink<{ data?: { paymentUpdated: Item } | null; errors?: readonly unknown[] }> = {
    next({ data, errors: found }) {
      if (data?.paymentUpdated) items.push(data.paymentUpdated);
      if (found) errors.push(...found);
    },
    error(error) {
      errors.push(error);
      ended.resolve();
    },
    complete: () => ended.resolve(),
  };
  const stop = client.subscribe({ query: SUBSCRIPTION, variables }, sink as never);
  return {
    items,
    errors,
    ended: ended.promise,
    seen: () => items.map(({ payment }) => `${payment.id} ${payment.status}`),
    stop() {
      stop();
      client.dispose();
    },
  };
}

/** Waits until the subscription is active. From then on, it gets all changes. */
async function isLive(follower: ReturnType<typeof follow>, projectId: string): Promise<void> {
  await expect
    .poll(async () => {
      await claimed(books.ledger, newPayment(projectId));
      return follower.items.length;
    })
    .toBeGreaterThan(0);
}

test('paymentUpdated sends every status of a payment as it changes, and nothing else', async () => {
  shop = await createProject(alice);
  const other = await createProject(alice);
  const follower = follow(alice, { projectId: shop.id });
  await isLive(follower, shop.id);
  await settled(books.ledger, newPayment(other.id));
  const payment = await claimed(books.ledger, newPayment(shop.id));
  const lease = leaseOf(payment);
  const steps = [
    ['CLAIMED', async () => {}],
    ['VERIFIED', () => books.ledger.verified(lease)],
    ['SETTLING', () => books.ledger.served(lease, answer())],
    ['UNKNOWN', () => books.ledger.unknown(lease, { reason: 'timeout' })],
    ['SETTLED', () => books.ledger.settled(lease, { transactionHash: hex(32), settledAt: new Date() })],
  ] as const;
  for (const [status, step] of steps) {
    await step();
    await expect.poll(() => follower.seen().at(-1)).toBe(`${payment.id} ${status}`);
  }
  expect(follower.errors).toEqual([]);
  const ids = new Set(follower.items.map(({ payment: { id } }) => id));
  expect(await books.db.prisma.payment.count({ where: { id: { in: [...ids] }, projectId: { not: shop.id } } })).toBe(0);
  follower.stop();
});

test('paymentUpdated resumes from its cursor after a disconnect', async () => {
  shop = await createProject(alice);
  const first = follow(alice, { projectId: shop.id });
  await isLive(first, shop.id);
  const { id } = await settled(books.ledger, newPayment(shop.id));
  await expect.poll(() => first.seen()).toContain(`${id} SETTLED`);
  const { cursor } = first.items.at(-1)!;
  first.stop();

  const missed = await settled(books.ledger, newPayment(shop.id));
  const second = follow(alice, { projectId: shop.id, after: cursor });
  await expect.poll(() => second.seen()).toEqual([`${missed.id} SETTLED`]);
  const next = await claimed(books.ledger, newPayment(shop.id));
  await expect.poll(() => second.seen()).toEqual([`${missed.id} SETTLED`, `${next.id} CLAIMED`]);
  second.stop();
});

test('paymentUpdated accepts the same filters as the list of payments', async () => {
  shop = await createProject(alice);
  const payer = hex(20);
  const all = follow(alice, { projectId: shop.id });
  const filter = { status: ['SETTLED'], payer: payer.toUpperCase().replace('0X', '0x') };
  const some = follow(alice, { projectId: shop.id, filter });
  await isLive(all, shop.id);
  await expect
    .poll(async () => {
      await settled(books.ledger, newPayment(shop.id, { payer }));
      return some.items.length;
    })
    .toBeGreaterThan(0);
  const last = await settled(books.ledger, newPayment(shop.id, { payer }));
  await settled(books.ledger, newPayment(shop.id));
  await expect.poll(() => some.seen().at(-1)).toBe(`${last.id} SETTLED`);
  expect(some.seen().every((text) => text.endsWith('SETTLED'))).toBe(true);
  const shown = await books.db.prisma.payment.findMany({
    where: { id: { in: some.items.map(({ payment: { id } }) => id) } },
  });
  expect(new Set(shown.map((payment) => payment.payer))).toEqual(new Set([payer]));
  all.stop();
  some.stop();
});

test('paymentUpdated rejects other accounts and their API keys, invalid cursors, and invalid filters', async () => {
  shop = await createProject(alice);
  const mallory = await app.user('mallory');
  const own = await createProject(mallory);
  const key = app.caller((await createKey(mallory, own.base)).key);
  const refusals: [{ token: string }, Arguments, string][] = [
    [mallory, { projectId: shop.id }, 'NOT_FOUND'],
    [key, { projectId: shop.id }, 'NOT_FOUND'],
    [alice, { projectId: shop.id, after: 'nonsense' }, 'VALIDATION_FAILED'],
    [alice, { projectId: shop.id, filter: { payer: '0x12' } }, 'VALIDATION_FAILED'],
  ];
  for (const [caller, variables, code] of refusals) {
    const follower = follow(caller, variables);
    await follower.ended;
    expect(JSON.stringify(follower.errors)).toContain(code);
    expect(follower.items).toEqual([]);
    follower.stop();
  }
});
