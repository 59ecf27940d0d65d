import { beforeAll, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { createPayment } from '../support/payments.ts';
import { createEndpoint, createProject } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('the search in the console', () => {
  const app = useService('api');
  let alice: TestUser;
  let projectId: string;
  let paymentId: string;

  beforeAll(async () => {
    alice = await app.user('alice');
    const { id, base } = await createProject(alice, { name: 'Weather' });
    const endpoint = await createEndpoint(alice, base, { path: '/forecast' });
    projectId = id;
    ({ paymentId } = await createPayment(app, { projectId, endpointId: endpoint.id, mark: 'forecast' }));
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
    await page.getByText('Nothing found.', { exact: true }).waitFor();
    await field.fill('0x00fb…d025');
    await page.getByText('Nothing found. Enter the whole wallet or transaction hash.').waitFor();
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Search' }).click();
    // The project and its endpoint: the arrow moves to the endpoint.
    await field.fill('e');
    await page.getByText('Enter at least two characters.').waitFor();
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
});
