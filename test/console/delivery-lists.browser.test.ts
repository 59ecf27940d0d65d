import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook, type Resource } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { layoutFaults } from './layout.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('the list of deliveries in the console', () => {
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
    receiver.requests.length = 0;
    shop = await createProject(alice);
    webhook = await createWebhook(alice, shop.base, { url: `${receiver.url}/hook` });
  });

  /** Records events, and waits until they are delivered. */
  async function deliver(count: number): Promise<Resource[]> {
    for (let index = 0; index < count; index += 1) await createEndpoint(alice, shop.base);
    const list = async () =>
      (await alice.rest<{ data: Resource[] }>('GET', `${shop.base}/deliveries?limit=100`)).body.data;
    await expect.poll(async () => (await list()).map(({ status }) => status)).toEqual(Array(count).fill('SUCCEEDED'));
    return list();
  }
  const openList = async (path = ''): Promise<Page & { complaints: string[] }> => {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${shop.id}/deliveries${path}`);
    await page.getByText('Live', { exact: true }).waitFor();
    return page;
  };
  const drawerOf = (page: Page) => page.getByRole('dialog', { name: 'Delivery' });
  const isDisabled = (page: Page, name: string) =>
    page
      .getByRole('button', { name })
      .getAttribute('aria-disabled')
      .then((value) => value === 'true');

  test('J, K, and buttons open the next and the previous delivery, even across pages, and the URL has the delivery and the page', async () => {
    // One more delivery than fits on a page.
    const deliveries = await deliver(51);
    const ids = deliveries.map(({ id }) => id);
    const page = await openList(`/${ids[48]}`);
    const shows = async (id: string | undefined) => {
      await page.waitForURL(({ pathname }) => pathname.endsWith(`/deliveries/${id}`));
      await drawerOf(page).getByText(id!, { exact: true }).waitFor();
    };
    await shows(ids[48]);
    await page.keyboard.press('j');
    await shows(ids[49]);
    await page.getByRole('button', { name: 'Next delivery' }).click();
    await shows(ids[50]);
    expect(await isDisabled(page, 'Next delivery')).toBe(true);
    expect(await isDisabled(page, 'Previous delivery')).toBe(false);
    await expectAccessible(page);
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await shows(ids[49]);
    await page.keyboard.press('Escape');
    await drawerOf(page).waitFor({ state: 'hidden' });

    // The page of the list is in the URL: it is still there after an item was opened, on reload, and on going back.
    const cursors = () => [...new URL(page.url()).searchParams.keys()];
    const row = (id: string | undefined) => page.getByRole('checkbox', { name: id! });
    const turn = (name: 'Next' | 'Previous') =>
      page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name }).click();
    await page.goto(`${app.url}/console/projects/${shop.id}/deliveries`);
    await row(ids[0]).waitFor();
    await turn('Next');
    await row(ids[50]).waitFor();
    expect(cursors()).toEqual(['after']);
    await page.getByRole('button', { name: 'Open endpoint.created' }).click();
    await shows(ids[50]);
    await page.keyboard.press('Escape');
    await drawerOf(page).waitFor({ state: 'hidden' });
    await page.reload();
    await row(ids[50]).waitFor();
    expect(await row(ids[49]).count()).toBe(0);
    await turn('Previous');
    await row(ids[49]).waitFor();
    await page.reload();
    await row(ids[49]).waitFor();
    expect(cursors()).toEqual(['before']);
    await page.goBack();
    await row(ids[50]).waitFor();
    await page.getByRole('combobox', { name: 'Event types' }).click();
    await page.getByRole('option', { name: 'endpoint.created', exact: true }).click();
    await row(ids[0]).waitFor();
    expect(cursors()).toEqual(['eventType']);
    await page.goto(`${page.url()}&after=${ids[50]}`);
    await page.getByText('No deliveries on this page').waitFor();
    await turn('Previous');
    await row(ids[50]).waitFor();

    await page.goto(`${app.url}/console/projects/${shop.id}/deliveries/${ids[0]}`);
    await shows(ids[0]);
    await expect.poll(() => isDisabled(page, 'Next delivery')).toBe(false);
    expect(await isDisabled(page, 'Previous delivery')).toBe(true);

    await drawerOf(page).getByRole('link', { name: /^evt_/ }).click();
    const event = page.getByRole('dialog', { name: 'Event' });
    await event.getByText(String(deliveries[0]!.eventId)).waitFor();
    await expect.poll(() => isDisabled(page, 'Next event')).toBe(false);
    await page.keyboard.press('j');
    await page.waitForURL(`**/events/${deliveries[1]!.eventId}`);
    await event.getByText(String(deliveries[1]!.eventId)).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('a delivery’s drawer shows the body exactly as it was sent', async () => {
    await createEndpoint(alice, shop.base, { description: 'Ünïcode "quotes" \\ and  two spaces' });
    const [request] = await receiver.waitFor(1);
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${shop.base}/deliveries`);
    const page = await openList(`/${body.data[0]!.id}`);
    const shown = page.getByRole('region', { name: 'Request body, as sent' });
    expect(await shown.textContent()).toBe(request!.body.toString());
    await expectAccessible(page);
    // The page behind the drawer is covered.
    const tooSmall = (await layoutFaults(page)).filter((fault) => / × /.test(fault));
    expect(tooSmall).toEqual([]);

    const reached = new Set<string>();
    for (let presses = 0; presses < 25; presses += 1) {
      await page.keyboard.press('Tab');
      reached.add(
        await page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent ?? ''),
      );
    }
    const parts = ['Next delivery', 'Resend', 'Copy event ID', 'Copy request body', 'Request body, as sent'];
    expect([...reached]).toEqual(expect.arrayContaining(parts));
  });

  test('the drawer of a skipped delivery says why there is no attempt, and what a resend would do', async () => {
    await alice.rest('PATCH', `${shop.base}/webhooks/${webhook.id}`, { isActive: false });
    await createEndpoint(alice, shop.base);
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${shop.base}/deliveries`);
    const page = await openList(`/${body.data[0]!.id}`);
    await drawerOf(page).getByText('No request was sent, because the delivery was skipped.').waitFor();
    await drawerOf(page).getByText('the destination was disabled').waitFor();
    await drawerOf(page).getByRole('button', { name: 'Resend' }).click();
    await page.getByText('The webhook is disabled. Enable it, then resend the delivery.').waitFor();
    await alice.rest('PATCH', `${shop.base}/webhooks/${webhook.id}`, { isActive: true, isPaused: true });
    await drawerOf(page).getByRole('button', { name: 'Resend' }).click();
    await page.getByText('The delivery will be sent when you resume the webhook.').waitFor();
    expect(await page.getByText('Delivery queued').count()).toBe(0);
    expect(receiver.requests).toHaveLength(0);
  });

  test('only the selected deliveries are counted and resent', async () => {
    const deliveries = await deliver(4);
    const page = await openList();
    const [first, , third] = deliveries.map(({ id }) => page.getByRole('checkbox', { name: new RegExp(id) }));
    await page.getByRole('checkbox', { name: 'Select all deliveries on this page' }).check();
    await page.getByText('4 selected').waitFor();
    await page.getByRole('button', { name: 'Clear selection' }).click();
    await first!.check();
    await third!.focus();
    await page.keyboard.press('Space');
    await page.getByText('2 selected').waitFor();
    await expectAccessible(page);
    expect(await drawerOf(page).count()).toBe(0);

    await page.getByRole('button', { name: 'Resend selected' }).click();
    const dialog = page.getByRole('dialog', { name: 'Resend selected deliveries' });
    await dialog.getByText('2 deliveries match').waitFor();
    await expectAccessible(page);
    expect(receiver.requests).toHaveLength(4);
    await dialog.getByRole('button', { name: 'Resend 2 deliveries' }).click();
    await page.getByText('2 of 2').waitFor();
    await page.getByText('2 selected ·').waitFor();
    const again = (await receiver.waitFor(6)).slice(4).map(({ headers }) => headers['webhook-id']);
    expect(again.toSorted()).toEqual([deliveries[0]!.eventId, deliveries[2]!.eventId].toSorted());
    expect(await page.getByRole('button', { name: 'Resend selected' }).count()).toBe(0);
    expect(page.complaints).toEqual([]);
  });
});
