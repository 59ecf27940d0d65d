import type { Page, WebSocketRoute } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab, untilComplete } from './browser.ts';
import { type SharedApp, useService } from './shared.ts';

/** The console waits up to 7.5 s before it reconnects, and Chromium up to another 5 s. */
const RECONNECT_MILLISECONDS = 120_000;

/** Lets `pass` decide when the page's messages reach the service. What the service sends always reaches the page. */
const betweenSockets = (page: Page, pass: (message: string, server: WebSocketRoute) => unknown) =>
  page.routeWebSocket('**/graphql', (client) => {
    const server = client.connectToServer();
    client.onMessage((message) => void pass(String(message), server));
  });

describe.skipIf(!executablePath)('the deliveries page of the console', () => {
  const app = useService('service');
  let receiver: Receiver;
  let alice: TestUser;
  let shop: Resource & { base: string };
  let webhook: Resource;

  beforeAll(async () => {
    receiver = await startReceiver();
    alice = await app.user('alice', 'ENTERPRISE');
  });
  afterAll(async () => {
    await receiver?.close();
  });
  beforeEach(async () => {
    shop = await createProject(alice);
    webhook = await createWebhook(alice, shop.base, { url: `${receiver.url}/hook` });
    receiver.handle(() => ({}));
  });

  const send = async (eventType: string): Promise<Resource> => {
    const { status, body } = await alice.rest<Resource>('POST', `${shop.base}/webhooks/${webhook.id}/test`, {
      eventType,
    });
    expect(status).toBeLessThan(300);
    return body;
  };
  const rowOf = (page: Page, eventType: string) => page.getByRole('row').filter({ hasText: eventType });
  const statuses = async () =>
    (await alice.rest<{ data: Resource[] }>('GET', `${shop.base}/deliveries`)).body.data.map(({ status }) => status);
  const goLive = async (page: Page, at: Pick<SharedApp, 'url'>) => {
    await openSignedIn(page, at, alice.token, `/console/projects/${shop.id}/deliveries`);
    await page.getByText('Live', { exact: true }).waitFor();
  };

  test("a destination's list shows how many events its filter excluded, and each event shows which destinations filtered it out", async () => {
    const filtering = await createWebhook(alice, shop.base, {
      url: `${receiver.url}/few`,
      filter: { type: 'payment.failed' },
    });
    await createEndpoint(alice, shop.base);
    await createEndpoint(alice, shop.base);
    const page = await openTab();
    const base = `/console/projects/${shop.id}`;
    await openSignedIn(page, app, alice.token, `${base}/deliveries?destination=${filtering.id}`);
    await page.getByText('Filtered out in the last 30 days: 2 events.').waitFor();
    await expectAccessible(page);
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${shop.base}/events`);
    await page.goto(`${app.url}${base}/events/${body.data[0]!.id}`);
    await page.getByRole('row', { name: 'Filtered out by' }).getByText('/few').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Show this event’s deliveries' }).click();
    await page.waitForURL(`**${base}/deliveries?eventId=${body.data[0]!.id}`);
    await expect.poll(() => page.getByLabel('Event ID').inputValue()).toBe(body.data[0]!.id);
  });

  test('a delivery appears and updates without a reload, and can be resent from its drawer', async () => {
    const page = await openTab();
    await goLive(page, app);
    await page.getByText('No deliveries yet').waitFor();
    await expectAccessible(page);

    receiver.handle(() => ({ statusCode: 500, body: 'The cellar is flooded.' }));
    await send('payment.settled');
    await rowOf(page, 'payment.settled').getByText('500').waitFor();
    await expectAccessible(page);

    receiver.handle(() => ({ body: 'Understood.' }));
    await send('payment.verified');
    const row = rowOf(page, 'payment.verified');
    await row.getByText('Succeeded').waitFor();
    await row.getByRole('button', { name: 'Open payment.verified' }).click();
    const drawer = page.getByRole('dialog', { name: 'Delivery' });
    await drawer.getByText('Understood.').waitFor();
    await expectAccessible(page);
    receiver.handle(() => ({ statusCode: 202, body: 'Understood again.' }));
    await drawer.getByRole('button', { name: 'Resend' }).click();
    await drawer.getByLabel('Response to attempt 2').getByText('Understood again.').waitFor({ state: 'attached' });
    await drawer.getByRole('button', { name: /#2 .*Manual/ }).waitFor();
    await page.keyboard.press('Escape');
    await drawer.waitFor({ state: 'hidden' });
    await row.getByText('202').waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('after a lost connection, the page catches up on everything it missed, without duplicates', {
    timeout: 2 * RECONNECT_MILLISECONDS,
  }, async () => {
    const proxy: CuttableProxy = await startCuttableProxy(app.url);
    try {
      const page = await openTab();
      await goLive(page, proxy);
      await send('endpoint.created');
      await rowOf(page, 'endpoint.created').getByText('Succeeded').waitFor();

      proxy.cut();
      await page.getByText('Reconnecting').waitFor();
      const missed = ['payment.settled', 'payment.failed', 'customer.milestone'];
      for (const eventType of missed) await send(eventType);
      await receiver.waitFor(({ body }) => body.includes('customer.milestone'));
      for (const eventType of missed) expect(await rowOf(page, eventType).count()).toBe(0);

      proxy.mend();
      await page.getByText('Live', { exact: true }).waitFor({ timeout: RECONNECT_MILLISECONDS });
      for (const eventType of missed) await rowOf(page, eventType).getByText('Succeeded').waitFor();
      await send('payment.verified');
      await rowOf(page, 'payment.verified').getByText('Succeeded').waitFor();
      expect(await page.getByRole('row').count()).toBe(1 + 5);
    } finally {
      await proxy.close();
    }
  });

  test('a delivery that succeeds before the live feed has started still appears', async () => {
    const page = await openTab();
    const start = Promise.withResolvers<void>();
    await betweenSockets(page, async (message, server) => {
      if (message.includes('deliveryUpdated')) await start.promise;
      server.send(message);
    });
    await goLive(page, app);
    await untilComplete(page);
    // From now on, only the subscription can show anything.
    await page.route('**/graphql', () => {});
    await send('payment.settled');
    await expect.poll(statuses).toEqual(['SUCCEEDED']);
    start.resolve();
    await rowOf(page, 'payment.settled').getByText('Succeeded').waitFor();
  });

  test('a replay that starts before the live feed has started still appears in the list of replays', async () => {
    const page = await openTab();
    const start = Promise.withResolvers<void>();
    await betweenSockets(page, async (message, server) => {
      if (message.includes('replayUpdated')) await start.promise;
      server.send(message);
    });
    let loads = 0;
    page.on('requestfinished', (request) => {
      if (request.postData()?.includes('query Replays(')) loads += 1;
    });
    await openSignedIn(page, app, alice.token, `/console/projects/${shop.id}/replays`);
    // The page loads its list, and once more when it believes that the live feed has started.
    await expect.poll(() => loads).toBe(2);
    expect((await alice.rest('POST', `${shop.base}/replays`, { filter: { status: ['FAILED'] } })).status).toBe(200);
    start.resolve();
    await page.getByRole('table', { name: 'Replays' }).getByText('Completed').waitFor();
  });

  test('after a temporary error, the page tries again, but less and less often', async () => {
    const page = await openTab();
    // A socket can run at most 20 operations at the same time. After an error in each of its own, the page closes it.
    const query = `subscription { noticeUpdated(projectId: "${shop.id}") { cursor } }`;
    const fillers = Array.from({ length: 20 }, (_, index) => ({
      id: `${index}`,
      type: 'subscribe',
      payload: { query },
    }));
    const full = new Map<WebSocketRoute, number>();
    let isCrowded = true;
    await betweenSockets(page, (message, server) => {
      if (isCrowded && !full.has(server) && JSON.parse(message).type === 'subscribe') {
        for (const filler of fillers) server.send(JSON.stringify(filler));
        full.set(server, performance.now());
      }
      server.send(message);
    });
    await openSignedIn(page, app, alice.token, `/console/projects/${shop.id}/deliveries`);
    await page.getByText('Reconnecting').waitFor();
    await expect.poll(() => full.size).toBeGreaterThan(4);
    const [, , third, , fifth] = [...full.values()];
    expect(fifth! - third!).toBeGreaterThan(1_700);
    isCrowded = false;
    await page.getByText('Live', { exact: true }).waitFor();
    await send('payment.settled');
    await rowOf(page, 'payment.settled').getByText('Succeeded').waitFor();
  });

  test('a paused page adds no rows until it is resumed', async () => {
    const page = await openTab();
    await goLive(page, app);
    await page.getByRole('button', { name: 'Pause' }).click();
    await send('payment.settled');
    await page.getByRole('button', { name: 'Resume (1 new)' }).waitFor();
    await expect.poll(statuses).toEqual(['SUCCEEDED']);
    expect(await rowOf(page, 'payment.settled').count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await rowOf(page, 'payment.settled').getByText('Succeeded').waitFor();
  });

  test('filters also apply to live deliveries', async () => {
    const page = await openTab();
    await send('payment.failed');
    await goLive(page, app);
    await rowOf(page, 'payment.failed').waitFor();
    await page.getByRole('combobox', { name: 'Event type' }).click();
    await page.getByRole('option', { name: 'payment.settled' }).click();
    await page.keyboard.press('Escape');
    await page.getByText('No matching deliveries').waitFor();
    await send('payment.verified');
    await send('payment.settled');
    await rowOf(page, 'payment.settled').waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
  });
});
