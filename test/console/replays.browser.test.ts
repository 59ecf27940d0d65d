import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createProject, createWebhook } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

const COUNT = 15;
/** At one per second, resending these takes much longer than the test. */
const MANY = 90;

describe.skipIf(!executablePath)('replays in the console', () => {
  const app = useService('service');
  let receiver: Receiver;
  let alice: TestUser;

  beforeAll(async () => {
    receiver = await startReceiver();
    alice = await app.user('alice', 'ENTERPRISE');
  });
  afterAll(async () => {
    await receiver?.close();
  });

  /** Creates a project with deliveries of two event types, all of them delivered to `path`. */
  async function deliver(path: string, count = COUNT) {
    const { id: projectId, base } = await createProject(alice);
    const webhook = await createWebhook(alice, base, { url: `${receiver.url}${path}` });
    const arrived = () => receiver.requests.filter((request) => request.path === path);
    for (let index = 0; index < count; index += 1) {
      await alice.rest('POST', `${base}/webhooks/${webhook.id}/test`, { eventType: 'payment.settled' });
    }
    await alice.rest('POST', `${base}/webhooks/${webhook.id}/test`, { eventType: 'payment.failed' });
    const statuses = async () =>
      (await alice.rest<{ data: { status: string }[] }>('GET', `${base}/deliveries?limit=100`)).body.data.map(
        ({ status }) => status,
      );
    await expect.poll(statuses).toEqual(Array.from({ length: count + 1 }, () => 'SUCCEEDED'));
    return { projectId, webhook, arrived };
  }
  const choose = async (page: Page, field: string, option: string) => {
    // If values are selected, the click goes to the field's frame, as a user's click does.
    await page.getByRole('dialog').getByRole('combobox', { name: field }).click({ force: true });
    await page.getByRole('option', { name: option }).click();
    await page.getByRole('dialog').getByRole('heading', { name: 'Replay deliveries' }).click();
  };

  test('a replay shows the number of deliveries first, then its progress, without a reload', async () => {
    const { projectId, arrived } = await deliver('/all');
    const first = arrived().map(({ headers }) => headers['webhook-id']);
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}/deliveries?eventType=PAYMENT_SETTLED`);
    await page.getByRole('button', { name: 'Replay deliveries' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay deliveries' });
    await choose(page, 'Status', 'Failed');
    await dialog.getByRole('button', { name: 'Count deliveries' }).click();
    await dialog.getByText('No matching deliveries').waitFor();
    await choose(page, 'Status', 'Succeeded');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Count deliveries' }).click();
    await dialog.getByText(`${COUNT} deliveries match`).waitFor();
    await expectAccessible(page);
    expect(arrived()).toHaveLength(COUNT + 1);

    await dialog.getByRole('button', { name: `Replay ${COUNT} deliveries` }).click();
    await page.getByText(`${COUNT} of ${COUNT}`).waitFor();
    await page.getByText('Completed').waitFor();
    await expectAccessible(page);
    await expect.poll(() => arrived().length).toBe(COUNT + 1 + COUNT);
    const again = arrived().slice(COUNT + 1);
    expect(again.every(({ headers }) => first.includes(headers['webhook-id']))).toBe(true);
    expect(again.every(({ body }) => body.includes('payment.settled'))).toBe(true);
    expect(page.complaints).toEqual([]);
  });

  test('a running replay can be canceled, and the remaining deliveries aren’t sent', async () => {
    const { projectId, webhook, arrived } = await deliver('/some', MANY);
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}/webhooks`);
    await page.getByRole('button', { name: `Actions for ${webhook.url}` }).click();
    await page.getByRole('menuitem', { name: 'Replay deliveries' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay deliveries' });
    await expect.poll(() => dialog.getByRole('combobox', { name: 'Destination' }).inputValue()).toContain('/some');
    await dialog.getByLabel('Deliveries per second').fill('1');
    await dialog.getByRole('button', { name: 'Count deliveries' }).click();
    await dialog.getByRole('button', { name: `Replay ${MANY + 1} deliveries` }).click();
    await page.getByText(new RegExp(`^[1-9]\\d? of ${MANY + 1}$`)).waitFor();
    await page.getByRole('progressbar').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Canceled').waitFor();
    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByRole('progressbar').count()).toBe(0);
    expect(arrived().length).toBeLessThan(2 * (MANY + 1));
  });

  test('times are in the browser’s time zone, and an invalid destination is reported', async () => {
    const { projectId } = await deliver('/timed');
    const page = await openTab({ timezoneId: 'Asia/Tokyo' });
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}/deliveries`);
    await page.getByRole('button', { name: 'Replay deliveries' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay deliveries' });
    // Half an hour from now in Tokyo. If the page used UTC or this machine's clock, it would be off by hours.
    const local = (minutes: number) =>
      new Date(Date.now() + 9 * 3_600_000 + minutes * 60_000).toISOString().slice(0, 16);
    await dialog.getByLabel('Created from').fill(local(-30));
    await dialog.getByRole('button', { name: 'Count deliveries' }).click();
    await dialog.getByText(`${COUNT + 1} deliveries match`).waitFor();
    await dialog.getByLabel('Created from').fill(local(30));
    await dialog.getByRole('button', { name: 'Count deliveries' }).click();
    await dialog.getByText('No matching deliveries').waitFor();

    // A destination that isn't in the list must not turn into “all destinations”.
    await page.goto(
      `${app.url}/console/projects/${projectId}/deliveries?destination=con_00000000000000000000000000&replay`,
    );
    await dialog.getByRole('button', { name: 'Count deliveries' }).click();
    await dialog.getByText('No such connector in this project.').first().waitFor();
    await expectAccessible(page);
  });
});
