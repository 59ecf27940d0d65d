import { beforeAll, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { createPayment } from '../support/payments.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import { executablePath, expectAccessible, expectAccessibleInBothSchemes, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('the search in the console', () => {
  const app = useService('api');
  let alice: TestUser;
  let projectId: string;
  let otherId: string;
  let paymentId: string;
  let otherPaymentId: string;

  beforeAll(async () => {
    alice = await app.user('alice');
    const { id, base } = await createProject(alice, { name: 'Weather' });
    const endpoint = await createEndpoint(alice, base, { path: '/forecast' });
    projectId = id;
    ({ paymentId } = await createPayment(app, { projectId, endpointId: endpoint.id, mark: 'forecast' }));
    await createWebhook(alice, base, { url: 'https://hooks.example.com/in', name: 'Ledger sync' });
    const other = await createProject(alice, { name: 'Tides' });
    otherId = other.id;
    const tides = await createEndpoint(alice, other.base, { path: '/tides' });
    const payment = { projectId: otherId, endpointId: tides.id, mark: 'tides' };
    ({ paymentId: otherPaymentId } = await createPayment(app, payment));
  });

  test('opens with the keyboard, finds a pasted ID, and opens its drawer with Enter', async () => {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}`);
    await page.getByRole('button', { name: 'Search' }).waitFor();
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Search' });
    await field.waitFor();
    await expectAccessible(page);
    await field.fill(paymentId);
    await page.getByText('1 result', { exact: true }).waitFor();
    await page.getByRole('option', { name: 'GET /forecast' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/console/projects/${projectId}/payments/${paymentId}`);
    expect(page.complaints).toEqual([]);
  });

  test('opens with a slash or its button, moves with the arrow keys, and says that nothing was found', async () => {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}`);
    await page.getByRole('button', { name: 'Search' }).waitFor();
    await page.keyboard.press('/');
    const field = page.getByRole('combobox', { name: 'Search' });
    await field.fill('nothing like this');
    await page.getByText('Nothing found by this name.').waitFor();
    await field.fill('0x00fb…d025');
    await page.getByText('This is shortened. Enter the whole wallet or transaction hash.').waitFor();
    await field.fill('ab'.repeat(32));
    await page.getByText('No payment with this transaction hash in your projects.').waitFor();
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Search' }).click();
    // The project and its endpoint: the arrow moves to the endpoint.
    await field.fill('/');
    await page.getByText('Enter at least two characters to find items.').waitFor();
    await field.fill('FORECAST');
    await page.getByRole('option', { name: '/forecast' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/console/projects/${projectId}/endpoints/ep_`));
    const form = page.getByRole('dialog', { name: 'Edit endpoint' });
    expect(await form.getByLabel('Path').inputValue()).toBe('/forecast');
    await page.keyboard.press('Escape');
    await page.waitForURL(`**/console/projects/${projectId}/endpoints`);
    expect(page.complaints).toEqual([]);
  });

  test('with the keyboard alone, opens pages, other projects, and dialogs, and does what is on its list', async () => {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}`);
    await page.getByRole('button', { name: 'Search' }).waitFor();
    const field = page.getByRole('combobox', { name: 'Search' });
    const option = (name: string | RegExp) => page.getByRole('option', { name });
    const open = async (text: string) => {
      await page.keyboard.press('Control+k');
      await field.waitFor();
      const list = page.getByRole('listbox', { name: 'Results', includeHidden: true });
      expect(await field.getAttribute('aria-controls')).toBe(await list.getAttribute('id'));
      await page.keyboard.insertText(text);
    };
    const project = `**/console/projects/${projectId}`;

    // Enter, pressed before the result has arrived, opens it then.
    await open(otherPaymentId);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/console/projects/${otherId}/payments/${otherPaymentId}`);
    await page.getByRole('dialog', { name: 'Payment' }).waitFor();
    await open('switch proj');
    await option('Switch project…').waitFor();
    await page.keyboard.press('Enter');
    await option('Weather').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(project);

    await page.keyboard.press('Control+k');
    await option(/GET \/tides.*Tides/).waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.press('Escape');
    await open('audit');
    await option('Audit log').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`${project}/audit-log`);

    await open('create endp');
    await option('Add endpoint').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'New endpoint' }).waitFor();
    await page.waitForURL(`${project}/endpoints`);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'New endpoint' }).waitFor({ state: 'detached' });

    await open('dark');
    await option('Use the dark theme').waitFor();
    await page.keyboard.press('Enter');
    await page.locator('html[data-mantine-color-scheme=dark]').waitFor();

    await open('send test');
    await option('Send test event…').waitFor();
    await page.keyboard.press('Enter');
    await option('Ledger sync').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/deliveries\?destination=wh_/);
    await page.getByText('Test event queued').waitFor();

    await open('log out');
    await option('Sign out').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(page.complaints).toEqual([]);
  });
});
