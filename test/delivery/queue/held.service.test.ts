import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openQueuePool } from '../../../src/database/client.ts';
import { claimDue } from '../../../src/delivery/queue/claim.ts';
import { changeWaiting, releaseHeld, releaseStranded } from '../../../src/delivery/queue/held.ts';
import { recheckWaiting, releaseFollowers, releaseWaiting } from '../../../src/delivery/queue/ordering.ts';
import { requeue } from '../../../src/delivery/queue/queue.ts';
import { openStage, type Row, type Stage } from '../support.ts';
import { REQUEST } from './support.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook", "Connector" CASCADE'));
afterAll(() => stage.close());

const HELD = { nextAttemptAt: null, reason: 'paused' };
const DESTINATIONS = [
  ['webhook', async (values: Row = {}) => (await stage.addWebhook('https://a.example', values)).id],
  ['connector', (values: Row = {}) => stage.addConnector('slack', {}, values)],
] as const;

async function claimedIds(): Promise<string[]> {
  return (await claimDue(stage.pool, REQUEST)).deliveries.map(({ id }) => id).sort();
}

describe.each(DESTINATIONS)('deliveries that are held for a %s', (kind, add) => {
  test('are due when it is resumed', async () => {
    const destination = await add();
    const id = await stage.addDelivery(destination, HELD);
    await stage.addDelivery(await add({ pausedAt: new Date() }), HELD);
    expect(await claimedIds()).toEqual([]);
    expect(await releaseHeld(stage.pool, destination)).toBe(1);
    expect(await stage.delivery(id)).toMatchObject({ reason: null });
    expect(await claimedIds()).toEqual([id]);
  });

  test('are not forgotten if the pause ends while they are being held', async () => {
    const paused = await add({ pausedAt: new Date() });
    const released = await add();
    const disabled = await add({ pausedAt: new Date(), isActive: false });
    await stage.addDelivery(paused, HELD);
    const expected = [await stage.addDelivery(released, HELD), await stage.addDelivery(disabled, HELD)];
    expect(await releaseStranded(stage.pool)).toBe(2);
    expect(await claimedIds()).toEqual(expected.sort());
  });

  test.each([
    ['the worker', releaseStranded],
    ['the seller', releaseHeld],
  ])('are released by %s even while others are being deleted', async (_who, release) => {
    const destination = await add();
    const deleted = await stage.addDelivery(destination, HELD);
    const id = await stage.addDelivery(destination, HELD);
    const client = await stage.pool.connect();
    const queue = openQueuePool(stage);
    try {
      await client.query('BEGIN');
      await client.query('DELETE FROM "Delivery" WHERE "id" = $1', [deleted]);
      expect(await release(queue, destination)).toBe(1);
      expect(await claimedIds()).toEqual([id]);
    } finally {
      await client.query('ROLLBACK');
      client.release();
      await queue.end();
    }
  });

  test('include all deliveries that were waiting when it was paused, but none that are being sent or have finished', async () => {
    const destination = await add({ pausedAt: new Date() });
    const other = await stage.addDelivery(await add({ pausedAt: new Date() }));
    const running = { status: 'RUNNING', leasedUntil: new Date(Date.now() + 60_000) };
    const unchanged = [
      await stage.addDelivery(destination, running),
      await stage.addDelivery(destination, { status: 'SUCCEEDED', completedAt: new Date(), nextAttemptAt: null }),
    ];
    const waiting = [
      await stage.addDelivery(destination),
      await stage.addDelivery(destination, { nextAttemptAt: new Date(Date.now() + 3_600_000), attemptCount: 1 }),
      await stage.addDelivery(destination, { isParked: true }),
      await stage.addDelivery(destination, { nextAttemptAt: null, reason: 'ordering' }),
    ];
    expect(await changeWaiting(stage.pool, kind, destination, 'hold')).toBe(false);
    for (const id of waiting) {
      expect(await stage.delivery(id)).toMatchObject({ ...HELD, status: 'PENDING', isParked: false });
    }
    for (const id of [...unchanged, other]) expect((await stage.delivery(id)).reason).toBeNull();
  });

  test('stay in the queue if it is no longer paused', async () => {
    const destination = await add();
    const id = await stage.addDelivery(destination);
    await changeWaiting(stage.pool, kind, destination, 'hold');
    expect(await claimedIds()).toEqual([id]);
  });
});

describe('a delivery that is held until someone resends it', () => {
  const reason = 'Reopen the books for 2026-01-02, then resend this delivery.';
  const hold = (connectorId: string) => stage.addDelivery(connectorId, { nextAttemptAt: null, reason });

  test('keeps its reason and is never claimed, no matter whether its connector is paused or resumed', async () => {
    const connectorId = await stage.addConnector('xero', {}, { pausedAt: new Date() });
    const id = await hold(connectorId);
    const other = await stage.addDelivery(connectorId);
    await changeWaiting(stage.pool, 'connector', connectorId, 'hold');
    expect(await stage.delivery(other)).toMatchObject(HELD);
    await stage.pool.query('UPDATE "Connector" SET "pausedAt" = NULL');
    expect(await releaseHeld(stage.pool, connectorId)).toBe(1);
    expect(await releaseStranded(stage.pool)).toBe(0);
    expect(await recheckWaiting(stage.pool)).toBe(0);
    expect(await claimedIds()).toEqual([other]);
    expect(await stage.delivery(id)).toMatchObject({ status: 'PENDING', reason, nextAttemptAt: null });
  });

  test('is due once someone resends it', async () => {
    const id = await hold(await stage.addConnector('xero', {}));
    expect(await requeue(stage.pool, id)).toBe('queued');
    expect(await claimedIds()).toEqual([id]);
  });

  test('is skipped if its connector is disabled, even if it was held just after that', async () => {
    const connectorId = await stage.addConnector('xero', {}, { isActive: false });
    const id = await hold(connectorId);
    expect(await changeWaiting(stage.pool, 'connector', connectorId, 'skip')).toBe(false);
    expect(await stage.delivery(id)).toMatchObject({ status: 'SKIPPED', reason: 'disabled' });
    const later = await hold(connectorId);
    await hold(await stage.addConnector('xero', {}));
    expect(await releaseStranded(stage.pool)).toBe(1);
    expect(await claimedIds()).toEqual([later]);
  });
});

describe('deliveries that are held for an ordered webhook', () => {
  test('stay held when earlier ones finish, when they are rechecked, and when the order changes', async () => {
    const { id: webhookId } = await stage.addWebhook('https://a.example', {
      ordering: 'PAYMENT',
      pausedAt: new Date(),
    });
    const long = new Date(Date.now() - 3_600_000);
    const id = await stage.addDelivery(webhookId, { ...HELD, orderingKey: 'pay_1', updatedAt: long });
    await releaseFollowers(stage.pool, [{ webhookId, key: 'pay_1' }]);
    expect(await recheckWaiting(stage.pool)).toBe(0);
    await releaseWaiting(stage.pool, webhookId, true);
    expect(await stage.delivery(id)).toMatchObject({ ...HELD, orderingKey: 'pay_1' });
    await releaseWaiting(stage.pool, webhookId, false);
    expect(await stage.delivery(id)).toMatchObject({ ...HELD, orderingKey: null });
  });
});

test('one change of the order releases a limited number of deliveries', async () => {
  const { id: webhookId } = await stage.addWebhook('https://a.example', { ordering: 'PAYMENT' });
  await stage.pool.query(
    `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "nextAttemptAt", "reason", "orderingKey")
     SELECT 'dlv_' || lpad(n::text, 26, '0'), $1, $2, 'payment.settled', $3, NULL, 'ordering', 'pay_1'
     FROM generate_series(1, 10005) n`,
    [stage.projectId, await stage.addEvent(), webhookId],
  );
  const waiting = async () =>
    (await stage.pool.query(`SELECT FROM "Delivery" WHERE "webhookId" = $1 AND "reason" = 'ordering'`, [webhookId]))
      .rowCount;
  await releaseWaiting(stage.pool, webhookId, true);
  expect(await waiting()).toBe(5);
});
