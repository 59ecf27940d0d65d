import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBatch } from '../../../src/database/batch-client.ts';
import { type Query, queryOf, type Statement } from '../../../src/database/statement.ts';
import { leaseOf } from '../../../src/features/payments/lease.ts';
import { createFanOut } from '../../../src/features/payments/steps/fan-out.ts';
import { createVerifyStep, MAX_IN_FLIGHT, type VerifyResult } from '../../../src/features/payments/steps/verify.ts';
import type { Payment } from '../../../src/generated/prisma/client.ts';
import { claimed, hex, newPayment, openTestLedger, settled, type TestLedger } from './support.ts';

const AMOUNT = 10_000n;

let one: TestLedger;
/** Acts as a second process on the same database. */
let two: TestLedger;
let projectId: string;

beforeAll(async () => {
  one = await openTestLedger();
  two = await openTestLedger({ url: one.url });
  projectId = (await one.project()).id;
});
afterAll(async () => {
  await two?.close();
  await one?.close();
});

const claims = (payer: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => claimed(one.ledger, newPayment(projectId, { payer }))));

/** Adds copies of a payment to its payer's payments in flight. */
async function addInFlight({ id }: Payment, count: number): Promise<void> {
  await one.db.pool.query(
    `INSERT INTO "Payment" SELECT copy.* FROM "Payment" p, generate_series(1, $2) AS n, jsonb_populate_record(p, jsonb_build_object(
      'id', p."id" || n, 'nonce', '0x' || encode(sha256((p."id" || n)::bytea), 'hex'), 'verifiedAt', now(),
      'status', 'VERIFIED', 'leasedUntil', now() + interval '1 hour', 'paymentIdentifier', NULL)) AS copy WHERE p."id" = $1`,
    [id, count],
  );
}

type Plan = { 'Actual Rows': number; 'Actual Loops': number; Plans?: Plan[] } & { [key: string]: unknown };

/** How many rows a plan read, including those that a filter or a join removed. */
function rowsRead(plan: Plan): number {
  const removed = Object.entries(plan).filter(([name]) => name.startsWith('Rows Removed by'));
  const rows = removed.reduce((sum, [, count]) => sum + Number(count), plan['Actual Rows']) * plan['Actual Loops'];
  return (plan.Plans ?? []).map(rowsRead).reduce((sum, count) => sum + count, rows);
}

/** Explains the statement that verifies a batch, and returns its results. Nothing is committed. */
async function explained(payments: readonly Payment[]): Promise<{ rows: number; bytes: number; results: unknown[] }> {
  const client = await one.db.pool.connect();
  const seen = { rows: 0, bytes: 0 };
  try {
    await client.query('BEGIN');
    const results = await runBatch(client, { isStatement: true }, (batch) => {
      const query = async (bound: Statement): Promise<never[]> => {
        const statement = queryOf(bound);
        const run = <Row>(query: Query) => batch.query(query as unknown as Statement<Row>);
        if (statement.name !== 'payment-verify') return run<never>(statement);
        const text = `EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`;
        await run({ text: 'SAVEPOINT before', values: [] });
        const [plan] = await run<{ 'QUERY PLAN': { Plan: Plan }[] }>({ text, values: statement.values });
        await run({ text: 'ROLLBACK TO before', values: [] });
        seen.rows = rowsRead(plan!['QUERY PLAN'][0]!.Plan);
        const rows = await run<never>(statement);
        seen.bytes = JSON.stringify(rows).length;
        return rows;
      };
      const items = payments.map((payment) => ({
        ...leaseOf(payment),
        isCovered: false,
        funds: undefined,
        traceContext: null,
      }));
      return createVerifyStep(one.events, createFanOut()).run({ query, queryLast: () => {} }, items);
    });
    return { ...seen, results: [...results] };
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

test('verifying a batch of payments from a wallet reads its payments in flight once, not once for each payment', async () => {
  const [first, ...batch] = await claims(hex(20), 64);
  await addInFlight(first!, 180);
  const { rows, bytes, results } = await explained(batch);
  expect(results.every((result) => (result as VerifyResult).kind === 'reserved')).toBe(true);
  expect(rows).toBeLessThan(20_000);
  expect(bytes).toBeLessThan(200_000);
});

test('a wallet has at most 256 payments in flight through two processes, even if its balance covers more', async () => {
  const payer = hex(20);
  const payments = await claims(payer, 40);
  const [first, ...others] = payments;
  await addInFlight(first!, MAX_IN_FLIGHT - 10);
  const funds = { balanceAtomic: 1_000n * AMOUNT, since: first!.updatedAt };
  const reserve = (payment: Payment, index: number) =>
    (index % 2 ? one : two).ledger.reserveFunds(leaseOf(payment), funds);
  const results = await Promise.all(others.map(reserve));
  expect(results.filter(({ kind }) => kind === 'verified')).toHaveLength(10);
  expect(results.filter(({ kind }) => kind === 'full')).toHaveLength(29);
  const verified = results.find((result) => result.kind === 'verified')!;
  const failure = { stage: 'UPSTREAM', reason: 'status_500', message: 'It failed.' } as const;
  await one.ledger.failed(leaseOf(verified.payment), failure);
  expect((await reserve(first!, 0)).kind).toBe('verified');
});

test('a payment that is held counts the payments of its batch and those settled since its claim', async () => {
  const payer = hex(20);
  const [first, second] = await claims(payer, 2);
  const done = await settled(one.ledger, newPayment(projectId, { payer }));
  const [third, other] = await claims(payer, 2);
  const batch = [first!, second!, third!];
  const { results } = await explained([...batch, other!]);
  const others = results.map((result) => (result as { others: { nonce: string }[] }).others.map(({ nonce }) => nonce));
  expect(results).toMatchObject([1n, 2n, 2n, 3n].map((count) => ({ kind: 'reserved', totalAtomic: count * AMOUNT })));
  const [a, b, c] = batch.map(({ nonce }) => nonce);
  expect(others.map((nonces) => nonces.toSorted())).toEqual(
    [[done.nonce], [done.nonce, a], [a, b], [a, b, c]].map((nonces) => nonces.toSorted()),
  );
});
