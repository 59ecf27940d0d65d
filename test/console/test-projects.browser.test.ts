import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createEndpoint, createProject, type Resource, WALLET } from '../support/resources.ts';
import {
  closeTabs,
  executablePath,
  expectAccessible,
  expectAccessibleInBothSchemes,
  openSignedIn,
  openTab,
} from './browser.ts';
import { useBrowser } from './shared.ts';

describe.skipIf(!executablePath)('test projects in the console', () => {
  useBrowser();
  let app: TestApp;
  let alice: TestUser;

  beforeAll(async () => {
    app = await startTestApp({ env: { ROLES: 'api', NETWORKS: 'base,polygon,base-sepolia' } });
    alice = await app.user('alice');
  });
  afterAll(async () => {
    await closeTabs();
    await app?.stop();
  });

  /** The text about the project in the header of an open dialog, which comes from a style sheet. */
  async function markOf(page: Page) {
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    const content = await dialog.locator('header').evaluate((header) => getComputedStyle(header, '::after').content);
    return content.replaceAll('"', '');
  }

  async function open(path: string) {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console${path}`);
    return page;
  }

  test('every page of a test project says that payments use test money, and no page of a live one does', async () => {
    const practice = await createProject(alice, { mode: 'TEST', name: 'Practice' });
    const live = await createProject(alice, { mode: 'LIVE', name: 'Real' });
    const page = await open(`/projects/${practice.id}`);
    const bar = page.getByText('Test project: payments use test money');
    await bar.waitFor();
    await expectAccessibleInBothSchemes(page);
    for (const name of ['Payments', 'Endpoints', 'Webhooks', 'API keys', 'Settings']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, exact: true }).first().waitFor();
      expect(await bar.count(), name).toBe(1);
      expect(await page.title()).toBe(`${name} · Practice (test) · Tollgate`);
    }
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    expect(await markOf(page)).toBe('Test project');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Payments', exact: true }).click();
    await page.getByText('Test money', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Switch project, current: Practice Test' }).click();
    await page.getByRole('menuitem', { name: 'Real Live' }).click();
    await page.waitForURL(`**/projects/${live.id}`);
    await page.getByText('Real money', { exact: true }).waitFor();
    expect(await page.title()).toBe('Real · Tollgate');
    await page.goto(`${app.url}/console/projects/${live.id}`);
    await page.getByRole('button', { name: 'Switch project, current: Real Live' }).waitFor();
    expect(await bar.count()).toBe(0);
    await page.getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    expect(await markOf(page)).toBe('Live project');
    await expectAccessibleInBothSchemes(page);
    await page.goto(`${app.url}/console/`);
    await page.getByRole('row', { name: /Practice Test/ }).waitFor();
    await page.getByRole('row', { name: /Real Live/ }).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('a project is created with a mode and networks, and its networks can be changed', async () => {
    const page = await open('/');
    await page.getByRole('button', { name: 'Add project' }).first().click();
    await page.getByLabel('Name').fill('Choosy');
    await page.getByRole('textbox', { name: 'Wallet address' }).fill(WALLET);
    await page.getByRole('radio', { name: 'Test' }).check();
    expect(await page.getByLabel('Networks').count()).toBe(0);
    await page.getByRole('radio', { name: 'Live' }).check();
    await page.getByLabel('Networks').first().click();
    await page.getByRole('option', { name: 'Polygon' }).click();
    await page.keyboard.press('Tab');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL('**/console/projects/proj_*');
    const id = page.url().split('/').at(-1)!;
    const project = async () => (await alice.rest('GET', `/api/projects/${id}`)).body;
    expect(await project()).toMatchObject({ mode: 'LIVE', networks: ['eip155:137'] });

    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Networks').first().click();
    await page.getByRole('option', { name: 'Base', exact: true }).click();
    await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Save networks' }).click();
    await page.getByLabel('Type Polygon, Base to confirm').fill('Polygon, Base');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByText('Changes saved').first().waitFor();
    expect(await project()).toMatchObject({ networks: ['eip155:137', 'eip155:8453'] });
    expect(await page.getByText('Make a live copy').count()).toBe(0);
    expect(page.complaints).toEqual([]);
  });

  test('a test project goes live as a copy with its own wallet', async () => {
    const { id, base } = await createProject(alice, { mode: 'TEST', name: 'Weather' });
    await createEndpoint(alice, base, { path: '/weather' });
    const page = await open(`/projects/${id}/settings`);
    await page.getByRole('button', { name: 'Make a live copy' }).click();
    const dialog = page.getByRole('dialog', { name: 'Make a live copy' });
    await dialog.getByLabel('Wallet address').fill('0x12');
    await dialog.getByRole('button', { name: 'Make a live copy' }).click();
    await dialog.getByText('Must be an EVM address').waitFor();
    await dialog
      .getByText('Until you disable its endpoints, this project sells the same APIs for test money')
      .waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Wallet address').fill(WALLET);
    await dialog.getByRole('button', { name: 'Make a live copy' }).click();
    await page.getByRole('button', { name: 'Switch project, current: Weather (live)' }).waitFor();
    const copyId = page.url().split('/').at(-1)!;
    const { body } = await alice.rest<{ data: Resource[] }>('GET', `/api/projects/${copyId}/endpoints`);
    expect(body.data).toMatchObject([{ path: '/weather' }]);
    expect((await alice.rest('GET', `/api/projects/${copyId}`)).body).toMatchObject({ mode: 'LIVE' });
    expect(page.complaints).toEqual([]);
  });
});
