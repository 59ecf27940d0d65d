import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { TestResponse } from '../../support/receiver.ts';
import { json, text } from '../support/vendors/vendor.ts';
import { type Delivery, openStage, type Stage } from './stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage({ retryScheduleSeconds: undefined });
});
beforeEach(async () => {
  stage.vendors.interfere('discord', undefined);
  await stage.db.pool.query(`DELETE FROM "RateLimit" WHERE "key" LIKE 'delivery-block:%'`);
});
afterAll(() => stage.close());

const BANNED = json(429, {
  message:
    'You are being blocked from accessing our API temporarily due to exceeding our rate limits frequently. Please read our docs at https://discord.com/developers/docs/topics/rate-limits to prevent this moving forward.',
  code: 0,
});
const PAGE = {
  statusCode: 429,
  headers: { 'content-type': 'text/html', 'retry-after': '30' },
  body: '<html><head><title>Access denied | discord.com used Cloudflare to restrict access</title></head><body><h1><span>Error</span> <span>1015</span></h1></body></html>',
};

const BLOCKS: [string, TestResponse][] = [
  ['the ban without a time', BANNED],
  ['plain text', text(429, 'error code: 1015')],
  ['an HTML page', PAGE],
  ['a 403 with the error of a ban', { ...PAGE, statusCode: 403 }],
];

const connect = () => stage.connect('discord', { eventTypes: ['payment.settled'] });
const callCount = () => stage.vendors.callsTo('discord').length;
const isWaiting = ({ status, nextAttemptAt }: Delivery) =>
  status === 'PENDING' && Date.parse(nextAttemptAt!) > Date.now();

/** All deliveries of the connectors, once none of them is due or in flight. */
async function settled(ids: readonly string[]): Promise<Delivery[]> {
  let found: Delivery[] = [];
  const read = async () => {
    found = (await Promise.all(ids.map((id) => stage.deliveries(id)))).flat();
    return found.every(isWaiting);
  };
  await expect.poll(read).toBe(true);
  return found;
}

/** Lets the times of the block and of the deliveries pass. */
async function passTime(): Promise<void> {
  await stage.db.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = now() WHERE "key" = 'delivery-block:discord'`);
  await stage.db.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "status" = 'PENDING'`);
}

test.each(BLOCKS)(
  'Discord blocks the address (%s): one request in minutes for all connectors, and nothing is lost',
  async (_what, response) => {
    const connectors = [await connect(), await connect(), await connect()];
    const ids = connectors.map(({ id }) => id);
    const before = callCount();
    stage.vendors.interfere('discord', () => response);
    await stage.record('payment.settled', {}, { isHeldBack: true });
    // One delivery finds out about the block.
    await stage.db.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "connectorId" = $1`, [ids[0]]);
    await expect.poll(callCount).toBe(before + 1);
    await settled(ids.slice(0, 1));
    for (let count = 0; count < 7; count++) await stage.record('payment.settled');
    await stage.makeDue();

    const deliveries = await settled(ids);
    expect(callCount()).toBe(before + 1);
    expect(deliveries).toHaveLength(24);
    const tried = deliveries.filter(({ attemptCount }) => attemptCount > 0);
    expect(tried).toHaveLength(1);
    expect(tried[0]).toMatchObject({
      errorClass: 'blocked',
      reason: expect.stringMatching(/^Discord is blocking requests from this service's IP address/),
    });
    expect(Date.parse(tried[0]!.nextAttemptAt!) - Date.now()).toBeGreaterThan(120_000);
    for (const each of deliveries) if (each !== tried[0]) expect(each.reason).toBe('address_blocked');

    await passTime();
    await expect.poll(callCount).toBe(before + 2);
    await settled(ids);
    expect(callCount()).toBe(before + 2);
    for (const id of ids) {
      expect(await stage.connector(id)).toMatchObject({
        isActive: true,
        failingSince: null,
        pausedReason: null,
        disabledReason: null,
      });
    }

    stage.vendors.interfere('discord', undefined);
    await passTime();
    const succeeded = async () => {
      await stage.db.pool.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() WHERE "status" = 'PENDING'`);
      const all = (await Promise.all(ids.map((id) => stage.deliveries(id)))).flat();
      return all.filter(({ status }) => status === 'SUCCEEDED').length;
    };
    await expect.poll(succeeded, { timeout: 90_000, interval: 500 }).toBe(24);
    for (const id of ids) await stage.patch(id, { isActive: false });
  },
);

test('the explanation and the connection test say that the address is blocked', async () => {
  const connector = await connect();
  stage.vendors.interfere('discord', () => BANNED);
  await stage.record('payment.settled');
  const [tried] = await settled([connector.id]);
  await stage.record('payment.settled');
  const all = await settled([connector.id]);
  const waiting = all.find(({ attemptCount }) => attemptCount === 0)!;

  const explain = async (id: string) =>
    (await stage.user.rest<{ summary: string; advice: string | null }>('GET', `${stage.base}/deliveries/${id}/explain`))
      .body;
  expect(await explain(tried!.id)).toMatchObject({
    summary: expect.stringContaining("blocking requests from this service's IP address"),
    advice: expect.stringContaining('You do not need to do anything.'),
  });
  expect(await explain(waiting.id)).toMatchObject({
    summary: "The event has not been sent yet, because its service is blocking requests from Tollgate's IP address.",
    advice: null,
  });

  const path = `${stage.base}/connectors/${connector.id}/test`;
  const { body } = await stage.user.rest<{ probe: object }>('POST', path, {});
  expect(body.probe).toEqual({ ok: false, message: expect.stringContaining("blocking requests from this service's") });
});

test('a connection test that finds out about a block holds back all connectors, and no further tests are sent', async () => {
  const [first, second] = [await connect(), await connect()];
  const before = callCount();
  const check = async ({ id }: { id: string }) =>
    (await stage.user.rest<{ probe: { ok: boolean; message: string } }>('POST', `${stage.base}/connectors/${id}/test`))
      .body;
  const refused = { ok: false, message: expect.stringMatching(/^Discord is blocking requests from this service's IP/) };
  stage.vendors.interfere('discord', () => BANNED);
  for (const connector of [first, second, first]) expect((await check(connector)).probe).toEqual(refused);
  expect(callCount()).toBe(before + 1);
  await stage.record('payment.settled');
  expect((await settled([first.id, second.id])).map(({ reason }) => reason)).toEqual(Array(2).fill('address_blocked'));
  expect(callCount()).toBe(before + 1);

  // Once the block's time has passed, a delivery is tried, and no test takes its place.
  await stage.db.pool.query(`UPDATE "RateLimit" SET "arrivesAt" = now() WHERE "key" = 'delivery-block:discord'`);
  for (const connector of [first, second]) expect((await check(connector)).probe).toEqual(refused);
  expect(callCount()).toBe(before + 1);
  for (const { id } of [first, second]) await stage.patch(id, { isActive: false });
});
