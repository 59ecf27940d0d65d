import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { WALLET } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab, signIn } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('a seller who uses only the console', () => {
  const app = useService('service');
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await receiver?.close();
  });

  test('gets from sign-in to a resent delivery without using the API', async () => {
    const page = await openTab();
    const go = (name: string) => page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name }).click();
    await signIn(page, app, 'sara');
    await page.getByRole('button', { name: 'Add project' }).first().click();
    await page.getByLabel('Name').fill('Weather');
    await page.getByLabel('Wallet address').fill(WALLET);
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.getByRole('region', { name: 'Next steps' }).waitFor();

    await page.getByRole('link', { name: 'webhook', exact: true }).click();
    await page.getByRole('button', { name: 'Add webhook' }).first().click();
    await page.getByLabel('URL').fill(`${receiver.url}/hook`);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const secret = page.getByRole('dialog', { name: 'Your signing secret' });
    await secret.getByLabel('I’ve stored it in a safe place').check();
    await secret.getByRole('button', { name: 'Done' }).click();

    await go('Endpoints');
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    await page.getByRole('dialog').getByLabel('Path').fill('/weather/:city');
    await page.getByLabel('Upstream URL').fill('https://api.example.com/now');
    await page.getByLabel('Price (USD)').fill('0.01');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.getByRole('dialog', { name: 'Buyer preview' }).getByText('$0.01').waitFor();
    await page.keyboard.press('Escape');

    await go('Deliveries');
    const rows = page.getByRole('row');
    await rows.filter({ hasText: 'endpoint.created' }).getByText('Succeeded').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();

    // A test event sent from another tab shows up in this one.
    const other = await page.context().newPage();
    const token = (await page.evaluate(`sessionStorage.getItem('tollgate.token')`)) as string;
    await openSignedIn(other, app, token, new URL(page.url()).pathname.replace('deliveries', 'webhooks'));
    await other.getByRole('button', { name: `Actions for ${receiver.url}/hook` }).click();
    await other.getByRole('menuitem', { name: 'Send test event' }).click();
    await expect.poll(() => rows.filter({ hasText: 'Succeeded' }).count()).toBe(2);
    await other.close();

    await rows.filter({ hasText: 'endpoint.created' }).getByRole('button').first().click();
    const drawer = page.getByRole('dialog', { name: 'Delivery' });
    await drawer.getByRole('button', { name: 'Resend' }).click();
    await drawer.getByText('Manual', { exact: true }).waitFor();
    await expect.poll(() => receiver.requests.length).toBe(3);
    expect(page.complaints).toEqual([]);
  });

  test('sees an error while the server is unreachable and can continue afterward', async () => {
    const page = await openTab();
    await signIn(page, app, 'tom');
    await page.getByText('Create your first project').waitFor();
    await page.route('**/graphql', (route) => route.abort());
    await page.reload();
    await page.getByText('Can’t reach the server').first().waitFor();
    await page.getByText('Check your connection, and make sure the service is running').first().waitFor();
    // The page must not say that there are no projects.
    expect(await page.getByText('Create your first project').count()).toBe(0);
    await expectAccessible(page);
    await page.unroute('**/graphql');
    await page.getByRole('button', { name: 'Try again' }).first().click();
    await page.getByText('Create your first project').waitFor();
  });
});
