import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { createProject } from '../support/resources.ts';
import { type ConsolePage, closeTabs, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { CLIENT_ID, type OidcProvider, startOidcProvider } from './oidc-provider.ts';
import { useBrowser } from './shared.ts';

const WALLET = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const RULE = { ROLES: 'api', RECENT_SIGN_IN_SECONDS: '900' };

async function changeWallet(page: ConsolePage): Promise<void> {
  await page.getByLabel('Wallet address').fill(WALLET);
  await page.getByRole('button', { name: 'Save changes' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change wallet' });
  await dialog.getByRole('textbox').fill(WALLET);
  await dialog.getByRole('button', { name: 'Change' }).click();
}

describe.skipIf(!executablePath)('a console session that is too old to change the wallet', () => {
  useBrowser();

  describe('of the development server', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await startTestApp({ env: RULE });
    });
    afterAll(async () => {
      await closeTabs();
      await app?.stop();
    });

    test('is renewed on the page, which keeps what was entered', async () => {
      const alice = await app.user('alice');
      const { id, base } = await createProject(alice);
      const signedInAt = new Date(Date.now() - 3_600_000);
      const token = await app.issuer.sign({ subject: 'alice', email: 'alice@example.com', signedInAt });
      const page = await openTab();
      await openSignedIn(page, app, token, `/console/projects/${id}/settings`);
      await changeWallet(page);
      await page.getByText('RECENT_SIGN_IN_REQUIRED').waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Sign in again' }).click();
      await page.getByText('You’ve signed in again. Now try the change again.').waitFor();
      expect(await page.getByLabel('Wallet address').inputValue()).toBe(WALLET);
      await changeWallet(page);
      await page.getByText('Changes saved').waitFor();
      expect((await alice.rest('GET', base)).body).toMatchObject({ walletAddress: WALLET });
    });
  });

  describe('of an identity provider', () => {
    let app: TestApp;
    let provider: OidcProvider;
    beforeAll(async () => {
      provider = await startOidcProvider('olga');
      app = await startTestApp({ env: { ...RULE, AUTH_ISSUERS: provider.authIssuers, CONSOLE_CLIENT_ID: CLIENT_ID } });
    });
    afterAll(async () => {
      await closeTabs();
      await app?.stop();
      await provider?.close();
    });

    test('asks the provider for a new sign-in, and returns to the page', async () => {
      provider.setSessionAge(3600);
      const page = await openTab();
      await page.goto(`${app.url}/console/`);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByRole('button', { name: 'Add project' }).first().click();
      await page.getByLabel('Name').fill('Shop');
      await page.getByLabel('Wallet address').fill('0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045');
      await page.getByRole('button', { name: 'Create project' }).click();
      await page.getByRole('link', { name: 'Settings' }).click();
      await changeWallet(page);
      await page.getByRole('button', { name: 'Sign in again' }).click();
      await page.waitForURL('**/settings');
      expect(provider.receiver.requests.filter(({ path }) => path.includes('prompt=login'))).toHaveLength(1);
      await changeWallet(page);
      await page.getByText('Changes saved').waitFor();
      expect(await page.getByLabel('Wallet address').inputValue()).toBe(WALLET);
    });
  });
});
