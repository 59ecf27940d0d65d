import { expect, test } from 'vitest';
import { createBalances } from '../../../src/gateway/payment/balances.ts';
import type { Payment } from '../../../src/generated/prisma/client.ts';

type Funds = { balanceAtomic: bigint; usedNonces: ReadonlySet<string> };

const usedNonces = new Set<string>();
const paymentOf = (payer: string, second = 0) =>
  ({ assetAddress: '0xa', payer, updatedAt: new Date(second * 1000) }) as Payment;

function open() {
  const lookups: { payer: string; result: PromiseWithResolvers<Funds> }[] = [];
  const clock = { milliseconds: 1 };
  const walletOf = createBalances(
    {
      fundsOf({ payer }) {
        const result = Promise.withResolvers<Funds>();
        lookups.push({ payer, result });
        return result.promise;
      },
    },
    () => clock.milliseconds,
  );
  return { lookups, clock, walletOf };
}

test('payments that are claimed before a lookup of their wallet starts share that lookup', async () => {
  const { lookups, clock, walletOf } = open();
  const first = walletOf(paymentOf('0x1'));
  const second = walletOf(paymentOf('0x1'));
  const other = walletOf(paymentOf('0x2'));
  clock.milliseconds = 2;
  const balances = [first.balance(), second.balance(), other.balance()];
  expect(lookups.map(({ payer }) => payer)).toEqual(['0x1', '0x2']);
  lookups.forEach(({ result }, index) => {
    result.resolve({ balanceAtomic: BigInt(index), usedNonces });
  });
  expect(await Promise.all(balances)).toEqual([0n, 0n, 1n]);
});

test('a payment that was claimed after a lookup started gets its own lookup, and that result is kept even if the earlier lookup ends last', async () => {
  const { lookups, clock, walletOf } = open();
  const earlier = walletOf(paymentOf('0x1', 1)).balance();
  clock.milliseconds = 2;
  const later = walletOf(paymentOf('0x1', 2));
  const balance = later.balance();
  expect(lookups).toHaveLength(2);
  lookups[1]!.result.resolve({ balanceAtomic: 5n, usedNonces });
  expect(await balance).toBe(5n);
  lookups[0]!.result.resolve({ balanceAtomic: 9n, usedNonces });
  expect(await earlier).toBe(9n);
  expect(later.lastSeen()).toEqual({ balanceAtomic: 5n, since: new Date(2000) });
});

test('a balance is cached for a second from the start of the lookup, and only for its wallet', async () => {
  const { lookups, clock, walletOf } = open();
  const balance = walletOf(paymentOf('0x1', 1)).balance();
  clock.milliseconds = 600;
  lookups[0]!.result.resolve({ balanceAtomic: 5n, usedNonces });
  await balance;
  clock.milliseconds = 1000;
  expect(walletOf(paymentOf('0x1')).lastSeen()).toEqual({ balanceAtomic: 5n, since: new Date(1000) });
  expect(walletOf(paymentOf('0x2')).lastSeen()).toBeUndefined();
  clock.milliseconds = 1001;
  expect(walletOf(paymentOf('0x1')).lastSeen()).toBeUndefined();
});

test('if a lookup of a wallet fails, only the payment that started it fails, and the payments that shared it start their own', async () => {
  const { lookups, walletOf } = open();
  const [first, second, third] = [1, 2, 3].map(() => walletOf(paymentOf('0x1')).balance());
  lookups[0]!.result.reject(new Error('No node responds.'));
  await expect(first).rejects.toThrow('No node responds.');
  await expect.poll(() => lookups).toHaveLength(3);
  lookups[1]!.result.reject(new Error('No node responds.'));
  lookups[2]!.result.resolve({ balanceAtomic: 1n, usedNonces });
  await expect(second).rejects.toThrow('No node responds.');
  expect(await third).toBe(1n);
  const later = walletOf(paymentOf('0x1'));
  expect(later.lastSeen()).toEqual({ balanceAtomic: 1n, since: new Date(0) });
});
