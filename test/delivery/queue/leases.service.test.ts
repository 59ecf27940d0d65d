import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Queryable } from '../../../src/database/client.ts';
import { claimDue } from '../../../src/delivery/queue/claim.ts';
import { createLeases } from '../../../src/delivery/queue/leases.ts';
import { openStage, type Stage } from '../support.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => stage?.close());

test('a lease that could not be extended while the database was down is extended by the next call, before any claim', async () => {
  const { id: webhookId } = await stage.addWebhook('https://a.example');
  const id = await stage.addDelivery(webhookId);
  const { deliveries } = await claimDue(stage.pool, {
    limit: 1,
    retryLimit: 1,
    leaseSeconds: 30,
    capacity: new Map(),
    defaultCapacity: 1,
  });
  await stage.pool.query(`UPDATE "Delivery" SET "leasedUntil" = now() - interval '1 minute'`);
  const expired = (await stage.delivery(id)).leasedUntil;

  let isAway = true;
  const query = (...args: Parameters<Queryable['query']>) =>
    isAway ? Promise.reject(new Error('away')) : stage.pool.query(...args);
  const leases = createLeases({ db: { query } as Queryable, leaseSeconds: 0.3 });
  // The process has just started.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
  leases.add(deliveries);
  clock.mockReturnValue(101);
  await expect(leases.prolong()).rejects.toThrow('away');
  isAway = false;
  await leases.prolong();
  expect((await stage.delivery(id)).leasedUntil).not.toEqual(expired);
});
