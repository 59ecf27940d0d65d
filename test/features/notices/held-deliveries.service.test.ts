import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { requeue } from '../../../src/delivery/queue/queue.ts';
import { sweepNotices } from '../../../src/features/notices/sweep.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { messageIn, type NoticeStage, openNoticeStage, sentTypes } from './support.ts';

const REASON = "Reopen the books for 2026-01-02, then resend this delivery: 12.34 USD for 2026-01-02 isn't booked.";

let stage: NoticeStage;
let contact: Receiver;
let projectId: string;
let connectorId: string;

beforeAll(async () => {
  stage = await openNoticeStage();
});
beforeEach(async () => {
  contact = await startReceiver();
  projectId = await stage.addProject();
  connectorId = await stage.addConnector('quickbooks', {}, { projectId });
  await stage.setContacts(projectId, { webhookUrl: `${contact.url}/notices` });
});
afterEach(() => contact.close());
afterAll(() => stage?.close());

const add = (values: object = {}) => stage.addDelivery(connectorId, { projectId, ...values });
const set = (id: string, changes: string, values: unknown[] = []) =>
  stage.pool.query(`UPDATE "Delivery" SET ${changes} WHERE "id" = $1`, [id, ...values]);
const hold = (id: string) => set(id, `"status" = 'PENDING', "nextAttemptAt" = NULL, "reason" = $2`, [REASON]);
const notices = () => stage.noticesOf(projectId);

async function addHeld(): Promise<string> {
  const id = await add();
  await hold(id);
  return id;
}

describe('a notice about a held delivery', () => {
  test('says what to do, for which day and amount, and links to the delivery', async () => {
    const id = await addHeld();
    await stage.run();
    expect(messageIn(contact.requests[0]!).data.notices).toMatchObject([
      {
        type: 'delivery.held',
        subjectId: id,
        count: 1,
        title: 'A delivery to QuickBooks Online is held',
        cause: REASON,
        advice: expect.stringContaining('until you resend it'),
        url: `https://tollgate.example/console/projects/${projectId}/deliveries/${id}`,
      },
    ]);
  });

  test('calls the connector by its name, if it has one', async () => {
    await stage.pool.query(`UPDATE "Connector" SET "name" = 'Books' WHERE "id" = $1`, [connectorId]);
    await addHeld();
    await stage.run();
    expect(messageIn(contact.requests[0]!).data.notices[0]?.title).toBe('A delivery to Books is held');
  });

  test('is separate for each delivery, but in one message', async () => {
    for (let day = 0; day < 3; day++) await addHeld();
    await stage.run();
    expect(sentTypes(contact.requests)).toEqual([['delivery.held', 'delivery.held', 'delivery.held']]);
  });

  test('is written in the same transaction as the hold', async () => {
    const id = await add();
    const client = await stage.pool.connect();
    await client.query('BEGIN');
    await client.query(`UPDATE "Delivery" SET "nextAttemptAt" = NULL, "reason" = $2 WHERE "id" = $1`, [id, REASON]);
    await client.query('ROLLBACK');
    client.release();
    expect(await notices()).toEqual([]);
  });

  test('ends when the delivery is resent, and opens again if it is held again', async () => {
    const id = await addHeld();
    await requeue(stage.pool, id);
    expect(await notices()).toMatchObject([{ closedAt: expect.any(Date), dueAt: null }]);
    await hold(id);
    expect(await notices()).toMatchObject([{ closedAt: null, count: 2, detail: REASON }]);
  });

  test.each([
    ['skipped', (id: string) => set(id, `"status" = 'SKIPPED', "reason" = 'disabled', "completedAt" = now()`)],
    ['deleted', (id: string) => stage.pool.query('DELETE FROM "Delivery" WHERE "id" = $1', [id])],
    // As a process of the last release does when someone pauses the connector.
    ['held for a pause instead', (id: string) => set(id, `"reason" = 'paused'`)],
  ])('ends when the delivery is %s', async (_what, end) => {
    const [id, other] = [await addHeld(), await addHeld()];
    await end(id);
    const open = (await notices()).filter(({ closedAt }) => closedAt === null);
    expect(open.map(({ subjectId }) => subjectId)).toEqual([other]);
  });

  test('ends when a whole week of deliveries is dropped', async () => {
    const [id, other] = [await addHeld(), await addHeld()];
    const client = await stage.pool.connect();
    // No trigger runs when a partition is dropped.
    await client.query('BEGIN');
    await client.query('SET LOCAL session_replication_role = replica');
    await client.query('DELETE FROM "Delivery" WHERE "id" = $1', [id]);
    await client.query('COMMIT');
    client.release();
    await sweepNotices(stage.pool);
    const open = (await notices()).filter(({ closedAt }) => closedAt === null);
    expect(open.map(({ subjectId }) => subjectId)).toEqual([other]);
  });
});

test.each([
  ['is due later', `"nextAttemptAt" = now() + interval '1 hour', "reason" = 'Some reason'`],
  ['is held for a pause', `"nextAttemptAt" = NULL, "reason" = 'paused'`],
  ['waits for its turn', `"nextAttemptAt" = NULL, "reason" = 'ordering'`],
  ['failed', `"status" = 'FAILED', "nextAttemptAt" = NULL, "reason" = 'Some reason', "completedAt" = now()`],
])('there is no notice about a delivery that %s', async (_what, changes) => {
  await set(await add(), changes);
  expect(await notices()).toEqual([]);
});

test('a held delivery that is about to be deleted is part of the notice about that', async () => {
  await addHeld();
  await stage.check({ now: () => Date.now() + 95 * 86_400_000 });
  expect((await notices()).map(({ type }) => type).sort()).toEqual(['deliveries.expiring', 'delivery.held']);
});
