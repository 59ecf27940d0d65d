import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openWriteBatcher } from '../../../src/database/write-batcher.ts';
import { createLedger } from '../../../src/features/payments/ledger.ts';
import { hex, newPayment, openTestLedger, type TestLedger } from './support.ts';

let books: TestLedger;
let projectId: string;

beforeAll(async () => {
  books = await openTestLedger();
  projectId = (await books.project()).id;
});
afterAll(() => books?.close());

/** Ledgers that count the batches that fail. Each acts as a separate process. */
function openCounted(count: number) {
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(line) });
  const { db, events, bus } = books;
  const batchers = Array.from({ length: count }, () => openWriteBatcher({ url: db.directUrl, pool: db.pool, log }));
  const ledgers = batchers.map((batcher) => createLedger({ db, batcher, events, bus }));
  return { ledgers, warnings, close: () => Promise.all(batchers.map((batcher) => batcher.close())) };
}

test.each([1, 2])(
  "payments with the same identifier don't fail the claims of other payments that arrive at the same time through %i processes",
  async (processes) => {
    const { ledgers, warnings, close } = openCounted(processes);
    const same = { payer: hex(20), paymentIdentifier: `order_${hex(16)}` };
    const claims = await Promise.all(
      Array.from({ length: 120 }, async (_, index) => {
        const isSame = index % 3 > 0;
        const { kind, payment } = await ledgers[index % processes]!.claim(newPayment(projectId, isSame ? same : {}));
        return { isSame, kind, id: payment.id };
      }),
    );
    await close();
    const sameClaims = claims.filter(({ isSame }) => isSame);
    expect(sameClaims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    expect(new Set(sameClaims.map(({ id }) => id)).size).toBe(1);
    expect(claims.filter(({ isSame, kind }) => !isSame && kind === 'existing')).toEqual([]);
    expect(warnings).toEqual([]);
  },
);
