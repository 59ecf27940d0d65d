import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FROM_THE_BEGINNING } from '../../../src/delivery/queue/claim.ts';
import { claimParked, createParking } from '../../../src/delivery/queue/parking.ts';
import { openStage, type Stage } from '../support.ts';
import { addProjectAccount, REQUEST } from './support.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook", "Connector" CASCADE'));
afterAll(() => stage.close());

const addAccount = () => addProjectAccount(stage);

/** Adds `count` parked destinations, each with one delivery, in the order in which claims go through them. */
async function addParked(owners: { projectId: string; account: string }[]) {
  const added = owners.map(async () => (await stage.addWebhook('https://a.example')).id);
  const ids = (await Promise.all(added)).sort();
  return Promise.all(
    ids.map(async (destination, index) => {
      const { projectId, account } = owners[index]!;
      await stage.pool.query('UPDATE "Webhook" SET "projectId" = $1 WHERE "id" = $2', [projectId, destination]);
      await stage.addDelivery(destination, { projectId, isParked: true });
      return { destination, account };
    }),
  );
}

const destinationsOf = ({ deliveries }: { deliveries: { destination: string }[] }) =>
  deliveries.map(({ destination }) => destination).sort();

describe('a claim of parked deliveries', () => {
  test("doesn't have to go through another account's destinations first", async () => {
    const [slow, other] = [await addAccount(), await addAccount()];
    const parked = await addParked([...Array(300).fill(slow), other]);
    const parking = createParking(stage.pool);
    parking.add(parked);
    const accountCapacity = { known: new Map([[slow.account, 0]]), others: 10 };
    const claim = () => parking.claim({ ...REQUEST, accountCapacity });
    expect(destinationsOf(await claim())).toEqual([parked.at(-1)!.destination]);
    // The round continues where it was.
    await stage.addDelivery(parked[299]!.destination, { projectId: slow.projectId, isParked: true });
    expect(destinationsOf(await parking.claim({ ...REQUEST, limit: 400 }))).toContain(parked[299]!.destination);
  });

  test('visits destinations in turn first, and then continues the round in the same place', async () => {
    const own = await addAccount();
    const parked = (await addParked(Array(6).fill(own))).map(({ destination }) => destination);
    const [, second, third, , fifth, sixth] = parked;
    const claim = (limit: number, turns: string[] = []) =>
      claimParked(stage.pool, { ...REQUEST, limit }, parked[0]!, turns);
    const full = await claim(1, [fifth!, second!]);
    expect([destinationsOf(full), full.isFull, full.after, full.hasMore]).toEqual([[fifth], true, parked[0], true]);
    const both = await claim(2, [sixth!]);
    expect([destinationsOf(both), both.after]).toEqual([[second, sixth], second]);
    const rest = await claim(10, [third!]);
    expect([destinationsOf(rest), rest.isFull, rest.after]).toEqual([[third, parked[3]].sort(), false, '']);
  });

  test('continues the round even if the destinations in turn always have enough for the whole claim', async () => {
    const [busy, quiet] = [await addAccount(), await addAccount()];
    const parked = await addParked([busy, quiet]);
    const [first, last] = parked.map(({ destination }) => destination);
    await stage.addDeliveries(first!, 9, { projectId: busy.projectId, isParked: true });
    const parking = createParking(stage.pool);
    // Another process parked the other delivery.
    parking.add(parked.slice(0, 1));
    const capacity = new Map([[first!, 2]]);
    const taken = [];
    for (let count = 0; count < 4; count++)
      taken.push(...destinationsOf(await parking.claim({ ...REQUEST, limit: 2, capacity })));
    expect(taken).toContain(last);
  });

  test('parks the destinations that a claim has left out, and finds them in turn', async () => {
    const own = await addAccount();
    const [one] = await addParked([own]);
    const parking = createParking(stage.pool);
    const none = await parking.claim({ ...REQUEST, defaultCapacity: 0 });
    expect([none.deliveries, none.waiting]).toEqual([[], [{ destination: one!.destination, account: null }]]);
    await parking.park(FROM_THE_BEGINNING);
    expect(destinationsOf(await parking.claim(REQUEST))).toEqual([one!.destination]);
  });

  test("can take a newcomer's deliveries before another account's backlog is parked", async () => {
    const [slow, other] = [await addAccount(), await addAccount()];
    const parked = await addParked([slow, other]);
    const [crowded, open] = parked.map(({ destination }) => destination);
    const newest = await stage.addDelivery(open!, { projectId: other.projectId });
    await stage.pool.query(
      `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "nextAttemptAt")
       SELECT 'dlv_' || n, "projectId", "eventId", "eventType", $1, now() - interval '1 hour'
       FROM "Delivery", generate_series(1, 3000) n WHERE "webhookId" = $1`,
      [crowded],
    );
    const parking = createParking(stage.pool);
    parking.add(parked);
    for (let count = 0; count < 2; count++) await parking.park(FROM_THE_BEGINNING);
    expect(parking.isDone()).toBe(false);
    const { deliveries } = await parking.claim({ ...REQUEST, capacity: new Map([[crowded!, 0]]) });
    expect(deliveries.map(({ id }) => id)).toContain(newest);
    while (!parking.isDone()) await parking.park(FROM_THE_BEGINNING);
    const { rows } = await stage.pool.query('SELECT count(*)::int FROM "Delivery" WHERE "isParked"');
    expect(rows[0].count).toBe(3_003);
  });
});
