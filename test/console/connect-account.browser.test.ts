import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Consent, createConsent } from '../connectors/support/consent.ts';
import { startVendors, type VendorServer } from '../connectors/support/vendors/server.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { createProject } from '../support/resources.ts';
import { closeTabs, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useBrowser } from './shared.ts';

const APP = { clientId: 'operator-app', clientSecret: 'operator-secret-0123456789' };
const TENANT_ID = '70784a63-d24b-46a9-a4db-0e70a274b056';

describe.skipIf(!executablePath)('connecting an account in the console', () => {
  useBrowser();
  let vendors: VendorServer;
  let consent: Consent;
  let app: TestApp;
  let alice: TestUser;
  let base: string;
  /** The bodies of all the service's responses. */
  let received = '';

  beforeAll(async () => {
    vendors = await startVendors();
    const port = String(await freePort());
    const publicUrl = `http://127.0.0.1:${port}`;
    const apps = { CONNECT_XERO_CLIENT_ID: APP.clientId, CONNECT_XERO_CLIENT_SECRET: APP.clientSecret };
    app = await startTestApp({
      hostOverrides: vendors.hostOverrides,
      env: { PORT: port, PUBLIC_URL: publicUrl, ...apps },
    });
    consent = createConsent({
      app: APP,
      redirectUri: `${publicUrl}/console/connect`,
      onIssued: (token) => vendors.accept(token),
    });
    vendors.issueTokens(consent.answer);
    alice = await app.user('alice');
  });
  afterAll(async () => {
    await closeTabs();
    await app?.stop();
    await vendors?.close();
  });

  /** Opens the form for a new connector. The vendor's page sends the user back with what `respond` returns. */
  async function openForm(respond: (url: string) => Record<string, string>): Promise<Page> {
    const project = await createProject(alice);
    base = project.base;
    const page = await openTab();
    page.on('response', async (response) => {
      if (response.url().includes('/graphql')) received += await response.text().catch(() => '');
    });
    await page.route('https://login.xero.com/**', (route) => {
      const parameters = new URLSearchParams(respond(route.request().url()));
      return route.fulfill({ status: 302, headers: { location: `${app.url}/console/connect?${parameters}` } });
    });
    await openSignedIn(page, app, alice.token, `/console/projects/${project.id}/connectors`);
    await page.getByRole('button', { name: 'Add connector' }).first().click();
    await page.getByRole('dialog', { name: 'New connector' }).getByText('Xero', { exact: true }).click();
    return page;
  }

  test('results in a working connector, and no token reaches the browser', async () => {
    const page = await openForm((url) => consent.agree(url));
    const dialog = page.getByRole('dialog', { name: 'Xero' });
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Connect Xero' }).click();
    // The server reports what is missing before the user leaves.
    await dialog.locator('[aria-invalid=true]').first().waitFor();
    await dialog.getByLabel('Tenant ID').fill(TENANT_ID);
    await dialog.getByRole('button', { name: 'Connect Xero' }).click();

    await page.getByText('Account connected').waitFor();
    expect(page.url()).toMatch(/\/connectors$/);
    await page.getByRole('button', { name: /^Actions for Xero/ }).click();
    await page.getByRole('menuitem', { name: 'Test credentials' }).click();
    await page.getByText('Connection works').waitFor();
    await page.getByRole('button', { name: 'Xero', exact: true }).click();
    await dialog.getByText('An account is connected.').waitFor();
    await dialog.getByRole('button', { name: 'Reconnect Xero' }).waitFor();

    expect(consent.issued.length).toBeGreaterThan(0);
    const browserState = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
    for (const secret of [...consent.issued, APP.clientSecret]) {
      for (const seen of [received, browserState, await page.content()]) expect(seen).not.toContain(secret);
    }
  });

  test('changes nothing if the user doesn’t agree, or if the vendor returns an unknown state', async () => {
    const page = await openForm(() => ({ error: 'access_denied', state: 'any' }));
    const dialog = page.getByRole('dialog', { name: 'Xero' });
    await dialog.getByLabel('Tenant ID').fill(TENANT_ID);
    await dialog.getByRole('button', { name: 'Connect Xero' }).click();
    await page.getByText('You didn’t allow access to the account. No changes were made.').waitFor();
    expect(page.url()).toBe(`${app.url}/console/connect`);
    await expectAccessible(page);

    await page.goto(`${app.url}/console/connect?code=code&state=unknown`);
    await page.getByText('Connect the account again.').first().waitFor();
    expect(page.url()).toBe(`${app.url}/console/connect`);
    const { body } = await alice.rest<{ data: unknown[] }>('GET', `${base}/connectors`);
    expect(body.data).toEqual([]);
  });
});
