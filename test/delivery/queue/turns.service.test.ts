import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FROM_THE_BEGINNING } from '../../../src/delivery/queue/claim.ts';
import type { ClaimRequest } from '../../../src/delivery/queue/claim-result.ts';
import { claimInTurn } from '../../../src/delivery/queue/turns.ts';
import { openStage, type Row, type Stage } from '../support.ts';
import { addProjectAccount, REQUEST } from './support.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook", "Connector" CASCADE'));
afterAll(() => stage.close());

/** Adds an account with a webhook. `add` adds deliveries that became due one after another, up to that long ago. */
async function addAccount() {
  const { projectId, account } = await addProjectAccount(stage);
  const { id: webhookId } = await stage.addWebhook('https://a.example', { projectId });
  return {
    id: account,
    webhookId,
    add: async (count: number, values: Row = {}, secondsAgo = 60) => {
      const ids: string[] = [];
      for (let index = 0; index < count; index++) {
        const nextAttemptAt = new Date(Date.now() - secondsAgo * 1_000 + index);
        ids.push(await stage.addDelivery(webhookId, { projectId, nextAttemptAt, ...values }));
      }
      return ids;
    },
  };
}

async function claim(amounts: Record<string, number>, request: Partial<ClaimRequest> = {}, passOver: string[] = []) {
  const [[heaviest]] = Object.entries(amounts).sort(([, a], [, b]) => b - a) as [[string, number]];
  const usage = { amounts: new Map(Object.entries(amounts)), heaviest };
  const options = { passOver, marks: FROM_THE_BEGINNING };
  const { deliveries, leftOut } = await claimInTurn(stage.pool, { ...REQUEST, ...request }, usage, options);
  return { taken: new Set(deliveries.map(({ id }) => id)), leftOut };
}

const running = (ids: readonly string[], taken: ReadonlySet<string>) => ids.filter((id) => taken.has(id)).length;

describe('a claim in turn', () => {
  test('takes nothing from the account that received the most', async () => {
    const [busy, other] = [await addAccount(), await addAccount()];
    await busy.add(20);
    const others = await other.add(3, {}, 1);
    const { taken } = await claim({ [busy.id]: 100 });
    expect(taken).toEqual(new Set(others));
    expect((await claim({ [busy.id]: 100 })).taken).toEqual(new Set());
  });

  test('takes the most from the accounts that received the least', async () => {
    const [busiest, busy, calm] = [await addAccount(), await addAccount(), await addAccount()];
    await busiest.add(5);
    const [ofBusy, ofCalm] = [await busy.add(20), await calm.add(20)];
    const { taken } = await claim({ [busiest.id]: 50, [busy.id]: 10, [calm.id]: 2 }, { limit: 16 });
    // Calm has numbers 3 to 14, and busy 11 to 14.
    expect([running(ofCalm, taken), running(ofBusy, taken)]).toEqual([12, 4]);
  });

  test('levels accounts, but lets none exceed the busiest', async () => {
    const [busiest, other] = [await addAccount(), await addAccount()];
    const others = await other.add(20);
    const { taken } = await claim({ [busiest.id]: 10.5, [other.id]: 4 });
    expect(taken).toEqual(new Set(others.slice(0, 6)));
  });

  test('takes what someone is waiting for first, and also from the account that received the most', async () => {
    const [busiest, other] = [await addAccount(), await addAccount()];
    await busiest.add(20);
    const urgent = await busiest.add(2, { trigger: 'MANUAL' }, 1);
    await busiest.add(2, { trigger: 'MANUAL', isReplay: true }, 1);
    await other.add(5);
    const waiting = await other.add(1, { trigger: 'MANUAL' }, 1);
    expect((await claim({ [busiest.id]: 50 }, { limit: 1 })).taken).toEqual(new Set(waiting));
    const { taken } = await claim({ [busiest.id]: 50 });
    expect(taken.size).toBe(7);
    expect(running(urgent, taken)).toBe(2);
  });

  test('takes no more retries than allowed', async () => {
    const [busiest, other] = [await addAccount(), await addAccount()];
    const [retries, firsts] = [await other.add(5, { attemptCount: 2 }), await other.add(5)];
    const { taken } = await claim({ [busiest.id]: 50 }, { retryLimit: 2 });
    expect([running(retries, taken), running(firsts, taken)]).toEqual([2, 5]);
  });

  test('passes over parked destinations, and reports destinations without capacity', async () => {
    const [busiest, full, parked] = [await addAccount(), await addAccount(), await addAccount()];
    for (const { add } of [full, parked]) await add(2);
    const capacity = new Map([[full.webhookId, 0]]);
    const { taken, leftOut } = await claim({ [busiest.id]: 50 }, { capacity }, [parked.webhookId]);
    expect(taken).toEqual(new Set());
    expect(leftOut).toEqual([{ destination: full.webhookId, account: full.id }]);
  });

  test('does not give turns to accounts without capacity', async () => {
    const [busiest, full, other] = [await addAccount(), await addAccount(), await addAccount()];
    const [, some] = [await full.add(10), await other.add(6)];
    const capacity = { known: new Map(Object.entries({ [full.id]: 0, [other.id]: 4 })), others: 10 };
    const amounts = { [busiest.id]: 100, [full.id]: 1, [other.id]: 20 };
    const { taken } = await claim(amounts, { limit: 5, accountCapacity: capacity });
    expect(taken).toEqual(new Set(some.slice(0, 4)));
  });

  test('leaves deliveries to the process that has locked them', async () => {
    const [busiest, other] = [await addAccount(), await addAccount()];
    const [locked, free] = await other.add(2);
    const client = await stage.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT FROM "Delivery" WHERE "id" = $1 FOR UPDATE', [locked]);
      expect((await claim({ [busiest.id]: 50 })).taken).toEqual(new Set([free]));
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
});
