import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { topics } from '../../../src/bus/bus.ts';
import { type ConnectorDefinition, defineConnector } from '../../../src/connectors/definition.ts';
import { textField } from '../../../src/connectors/fields.ts';
import { type ReceiverHandler, startReceiver } from '../../support/receiver.ts';
import { openStage, type Stage, until } from '../support.ts';

let stage: Stage;
let cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  stage = await openStage();
});
beforeEach(() => stage.pool.query('TRUNCATE "Delivery", "Attempt", "Webhook", "Connector", "RateLimit" CASCADE'));
afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  cleanups = [];
});
afterAll(() => stage.close());

async function receive(handler?: ReceiverHandler) {
  const receiver = await startReceiver(handler);
  cleanups.push(() => receiver.close());
  return receiver;
}

/** A receiver that holds its responses until they are released. */
async function receiveAndDelay() {
  const held: (() => void)[] = [];
  let isOpen = false;
  let underWay = 0;
  let most = 0;
  const receiver = await receive(async () => {
    most = Math.max(most, ++underWay);
    if (!isOpen) await new Promise<void>((resolve) => held.push(resolve));
    underWay--;
    return {};
  });
  return {
    ...receiver,
    /** Responds to the first `count` requests, or, without `count`, to all requests from now on. */
    release(count?: number): void {
      isOpen = count === undefined;
      for (const answer of held.splice(0, count ?? held.length)) answer();
    },
    mostAtOnce: () => most,
  };
}

const start: Stage['startWorker'] = (...options) => {
  const worker = stage.startWorker(...options);
  cleanups.push(() => worker.stop());
  return worker;
};

/** Adds a new account with webhooks at separate paths, and the same number of deliveries for each. */
async function addAccount(url: string, webhooks: number, deliveries: number): Promise<string> {
  const projectId = await stage.addProject();
  for (let index = 0; index < webhooks; index++) {
    const { id } = await stage.addWebhook(`${url}/${projectId}/${index}`, { projectId });
    await stage.addDeliveries(id, deliveries, { projectId });
  }
  stage.bus.publish(topics.deliveriesDue);
  return projectId;
}

const succeeded = (count: number) =>
  until(
    async () => (await stage.countBy('SUCCEEDED')) === count,
    () => `${count} deliveries to succeed`,
  );

const STUCK = { timeoutMilliseconds: 60_000, drainMilliseconds: 0, pollMilliseconds: 100 };

describe("an account's share", () => {
  test('is three-quarters of the slots while no other account is busy, and the rest is left for others', async () => {
    const slow = await receiveAndDelay();
    const receiver = await receive();
    await addAccount(slow.url, 30, 10);
    start({ maxInFlight: 64, ...STUCK });
    await slow.waitFor(48);
    await addAccount(receiver.url, 3, 50);
    await succeeded(150);
    expect(slow.requests).toHaveLength(48);
    slow.release();
    await succeeded(450);
    expect(slow.mostAtOnce()).toBe(48);
  });

  test('leaves room for the next account, no matter how many other accounts have requests that hang', async () => {
    const slow = await receiveAndDelay();
    const receiver = await receive();
    start({ maxInFlight: 64, ...STUCK });
    // Each account takes three quarters of the slots that are left: 48 of 64, 12 of 16, 3 of 4.
    for (const total of [48, 60, 63]) {
      await addAccount(slow.url, 10, 10);
      await slow.waitFor(total);
    }
    await addAccount(receiver.url, 2, 20);
    await succeeded(40);
    expect(slow.requests).toHaveLength(63);
  });

  test('leaves the last slots to accounts with hardly any deliveries, even if many accounts have requests that hang', async () => {
    const slow = await receiveAndDelay();
    const receiver = await receive();
    start({ maxInFlight: 256, maxPerOrigin: 1_000, ...STUCK });
    const running = (count: number) => until(async () => (await stage.countBy('RUNNING')) === count);
    // Four slots are reserved. Four accounts fill the rest, and the fifth gets two of the four.
    for (const total of [189, 189 + 48, 189 + 48 + 12, 252, 254]) {
      await addAccount(slow.url, 10, 20);
      await running(total);
    }
    await addAccount(receiver.url, 5, 10);
    await succeeded(50);
    await running(254);
  });

  test('leaves slots free when many requests end at the same time and several accounts have more to send', async () => {
    const slow = await receiveAndDelay();
    const receiver = await receive();
    start({ maxInFlight: 64, ...STUCK });
    for (const total of [48, 60]) {
      await addAccount(slow.url, 10, 20);
      await slow.waitFor(total);
    }
    slow.release(40);
    // Both accounts take most of the freed slots again.
    await slow.waitFor(60 + 30);
    await addAccount(receiver.url, 2, 20);
    await succeeded(40 + 40);
    expect(slow.mostAtOnce()).toBeLessThan(64);
  });

  test('includes deliveries whose results are waiting for the database', async () => {
    const receiver = await receive();
    const client = await stage.pool.connect();
    cleanups.push(() => client.release());
    await client.query('BEGIN; LOCK TABLE "Attempt" IN EXCLUSIVE MODE');
    await addAccount(`${receiver.url}/busy`, 30, 10);
    start({ maxInFlight: 64, ...STUCK });
    await receiver.waitFor(48);
    for (let count = 1; count <= 4; count++) {
      await addAccount(`${receiver.url}/other`, 1, 1);
      await receiver.waitFor(() => receiver.requests.filter(({ path }) => path.startsWith('/other')).length === count);
    }
    expect(receiver.requests.filter(({ path }) => path.startsWith('/busy'))).toHaveLength(48);
    await client.query('ROLLBACK');
    await succeeded(304);
  });

  test('shrinks as soon as another account has deliveries to send', async () => {
    const slow = await receiveAndDelay();
    start({ maxInFlight: 64, ...STUCK });
    await addAccount(slow.url, 10, 20);
    await slow.waitFor(48);
    await addAccount(slow.url, 10, 20);
    await slow.waitFor(60);
    // The first account then has 40 slots but is allowed only 36, three times the 12 free ones. The second takes up to
    // 18.
    slow.release(8);
    await slow.waitFor(66);
    const counts = [...Map.groupBy(slow.requests, ({ path }) => path.split('/')[1]).values()];
    expect(counts.map(({ length }) => length)).toEqual([48, 18]);
  });

  test('also limits manual deliveries to destinations with open circuits', async () => {
    const slow = await receiveAndDelay();
    const projectId = await stage.addProject();
    const circuitOpenUntil = new Date(Date.now() + 600_000);
    for (let index = 0; index < 20; index++) {
      const { id } = await stage.addWebhook(`${slow.url}/${index}`, { projectId, circuitOpenUntil });
      await stage.addDeliveries(id, 4, { projectId, trigger: 'MANUAL' });
    }
    start({ maxInFlight: 16, ...STUCK });
    await slow.waitFor(12);
    const receiver = await receive();
    await addAccount(receiver.url, 1, 20);
    await succeeded(20);
    expect(slow.requests).toHaveLength(12);
  });
});

describe('a burst to many destinations that all respond immediately', () => {
  /** Queues that many deliveries for each of 20 webhooks of a new account, all due a minute ago. */
  async function addBurst(url: string, count: number): Promise<string> {
    const projectId = await stage.addProject();
    const webhooks = Array.from({ length: 20 }, (_, index) => stage.addWebhook(`${url}/${index}`, { projectId }));
    const ids = (await Promise.all(webhooks)).map(({ id }) => id);
    const eventId = await stage.addEvent({ projectId });
    await stage.pool.query(
      `INSERT INTO "Delivery" ("id", "projectId", "eventId", "eventType", "webhookId", "nextAttemptAt", "updatedAt")
       SELECT $2 || '-' || webhook || n, $1, $2, 'endpoint.created', webhook, now() - interval '1 minute', now()
       FROM unnest($3::text[]) AS webhook, generate_series(1, $4::int) AS n`,
      [projectId, eventId, ids, count],
    );
    return projectId;
  }

  const LIMITS = { maxInFlight: 64, maxPerOrigin: 1_000 };
  const isOfBurst = ({ path }: { path: string }) => path.startsWith('/burst');

  test.each([
    ['an account', 1, 2_000],
    ['several accounts', 10, 200],
  ])('of %s delays no other account until it has been sent', async (_, accounts, total) => {
    const receiver = await receive();
    for (let index = 0; index < accounts; index++) await addBurst(`${receiver.url}/burst${index}`, total / 20);
    start(LIMITS);
    await receiver.waitFor(100);
    await addAccount(`${receiver.url}/other`, 3, 2);
    await until(() => receiver.requests.filter((request) => !isOfBurst(request)).length === 6);
    expect(receiver.requests.filter(isOfBurst).length).toBeLessThan((accounts * total) / 2);
    await succeeded(accounts * total + 6);
  });

  test("delays none of the account's own deliveries that someone is waiting for", async () => {
    const receiver = await receive();
    const projectId = await addBurst(`${receiver.url}/burst`, 100);
    start(LIMITS);
    await receiver.waitFor(100);
    const { id } = await stage.addWebhook(`${receiver.url}/test`, { projectId });
    await stage.addDelivery(id, { projectId, trigger: 'MANUAL' });
    stage.bus.publish(topics.deliveriesDue);
    await receiver.waitFor(({ path }) => path === '/test');
    expect(receiver.requests.filter(isOfBurst).length).toBeLessThan(1_000);
    await succeeded(2_001);
  });
});

describe("an origin's share", () => {
  test('is three-quarters for one account, shrinks as others send, and never delays other origins', async () => {
    const slow = await receiveAndDelay();
    const receiver = await receive();
    start({ maxInFlight: 200, maxPerOrigin: 16, ...STUCK });
    // Each account takes three quarters of what the others leave.
    for (const total of [12, 15, 16]) {
      await addAccount(slow.url, 10, 10);
      await slow.waitFor(total);
    }
    await addAccount(receiver.url, 3, 50);
    await succeeded(150);
    expect(slow.requests).toHaveLength(16);
    slow.release();
    await succeeded(450);
    expect(slow.mostAtOnce()).toBe(16);
  });

  test('goes first to other accounts while one account has many slow webhooks at the origin', async () => {
    const slow = await receiveAndDelay();
    start({ maxInFlight: 200, maxPerOrigin: 16, ...STUCK });
    await addAccount(slow.url, 20, 20);
    await slow.waitFor(12);
    const victim = await addAccount(slow.url, 1, 20);
    await slow.waitFor(15);
    // The first account has more than three times the free slots until it is down to 8 of 16.
    for (const total of [16, 17, 18]) {
      slow.release(1);
      await slow.waitFor(total);
    }
    const isVictims = slow.requests.map(({ path }) => path.startsWith(`/${victim}/`));
    expect(isVictims).toEqual([...Array(12).fill(false), ...Array(6).fill(true)]);
  });

  test('does not delay the same account anywhere else', async () => {
    const slow = await receiveAndDelay();
    const receiver = await receive();
    const projectId = await stage.addProject();
    const [stuck, free] = [
      await stage.addWebhook(slow.url, { projectId }),
      await stage.addWebhook(receiver.url, { projectId }),
    ];
    await stage.addDeliveries(stuck.id, 50, { projectId });
    start({ maxInFlight: 64, maxPerOrigin: 8, ...STUCK });
    await slow.waitFor(6);
    await stage.addDeliveries(free.id, 100, { projectId });
    stage.bus.publish(topics.deliveriesDue);
    await succeeded(100);
    expect(slow.requests).toHaveLength(6);
  });
});

describe('connections to an origin', () => {
  /** How many connections the egress opens. */
  const ALL = 128;

  /** A receiver that holds its responses to requests for this path. */
  const receiveAndHold = (path: string) =>
    receive((request) => (request.path === path ? undefined : { body: '{"access_token":"t","token_type":"Bearer"}' }));

  test('are not used up by one account’s connectors if sellers control how long responses take', async () => {
    const receiver = await receiveAndHold('/slow');
    const type = defineConnector<{ url: string }>({
      type: 'make',
      title: 'Slow',
      category: 'Automation',
      description: 'For tests.',
      documentationUrl: 'https://example.com',
      config: z.strictObject({ url: textField({ title: 'URL', description: 'Where it goes.' }) }),
      supportsEvent: () => true,
      sellersRespond: true,
      build: (_events, { url }) => ({ method: 'POST', url, headers: {} }),
      classify: () => ({ kind: 'delivered' }),
    }) as unknown as ConnectorDefinition;
    const projectId = await stage.addProject();
    for (let index = 0; index < 2; index++) {
      const id = await stage.addConnector('make', { url: `${receiver.url}/slow` }, { projectId });
      await stage.addDeliveries(id, ALL / 2 + 1, { projectId });
    }
    start(STUCK, { connectors: [type] });
    await receiver.waitFor(ALL);
    await stage.addDelivery(await stage.addConnector('make', { url: receiver.url }));
    stage.bus.publish(topics.deliveriesDue);
    await succeeded(1);
    expect(await stage.countBy('RUNNING')).toBe(ALL + 2);
  });

  test('are not used up by the token requests of one account’s webhooks', async () => {
    const receiver = await receiveAndHold('/token');
    const other = await receive();
    const projectId = await stage.addProject();
    const authentication = { type: 'OAUTH2_CLIENT_CREDENTIALS', clientId: 'client', clientSecret: 'secret' };
    for (let index = 0; index < ALL + 2; index++) {
      const { id } = await stage.addWebhook(other.url, { projectId });
      const credentials = { headers: [], authentication: { ...authentication, tokenUrl: `${receiver.url}/token` } };
      const cell = { table: 'Webhook', column: 'secretCredentials', rowId: id, projectId };
      const values = [id, stage.secretBox.seal(JSON.stringify(credentials), cell)];
      await stage.pool.query('UPDATE "Webhook" SET "secretCredentials" = $2 WHERE "id" = $1', values);
      await stage.addDelivery(id, { projectId });
    }
    start(STUCK);
    await receiver.waitFor(ALL);
    await stage.addDelivery((await stage.addWebhook(receiver.url)).id);
    stage.bus.publish(topics.deliveriesDue);
    await succeeded(1);
    expect(await stage.countBy('RUNNING')).toBe(ALL + 2);
  });
});
