import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/cuttable-proxy.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { type SharedApp, useService } from './shared.ts';

/** The console waits up to 7.5 s before it reconnects, and Chromium up to another 5 s. */
const RECONNECT_MILLISECONDS = 120_000;

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

  test('a paused page adds no rows until it is resumed', async () => {
    const page = await openTab();
    await goLive(page, app);
    await page.getByRole('button', { name: 'Pause' }).click();
    await send('payment.settled');
    await page.getByRole('button', { name: 'Resume (1 new)' }).waitFor();
    const statuses = async () =>
      (await alice.rest<{ data: Resource[] }>('GET', `${shop.base}/deliveries`)).body.data.map(({ status }) => status);
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
