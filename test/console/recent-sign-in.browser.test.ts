import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiWith, getting } from '../features/imports/documents.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { join, person } from '../support/members.ts';
import { createProject } from '../support/resources.ts';
import { type ConsolePage, closeTabs, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { CLIENT_ID, type OidcProvider, startOidcProvider } from './oidc-provider.ts';
import { useBrowser } from './shared.ts';

const WALLET = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
const RULE = { ROLES: 'api', RECENT_SIGN_IN_SECONDS: '900', NETWORKS: 'base,polygon' };

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
      const alice = await person(app, 'alice');
      const { id, base } = await createProject(alice);
      await join(alice, base, await person(app, 'bob'), 'VIEWER');
      const signedInAt = new Date(Date.now() - 3_600_000);
      const token = await app.issuer.sign({ subject: 'alice', email: 'alice@example.com', signedInAt });
      const page = await openTab();
      await openSignedIn(page, app, token, `/console/projects/${id}/members`);
      await page.getByLabel('Role of bob').selectOption('ADMIN');
      await page.getByText('To give someone the role `ADMIN`, you must have signed in').waitFor();
      await page.getByRole('button', { name: 'Sign in again' }).waitFor();
      expect(await page.getByLabel('Role of bob').inputValue()).toBe('VIEWER');
      await expectAccessible(page);
      await page.goto(`${app.url}/console/projects/${id}/settings`);
      await changeWallet(page);
      await page.getByText('RECENT_SIGN_IN_REQUIRED').waitFor();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Sign in again' }).click();
      await page.getByText('You’ve signed in again. Now try the change again.').waitFor();
      expect(await page.getByLabel('Wallet address').inputValue()).toBe(WALLET);
      await changeWallet(page);
      await page.getByText('Changes saved').waitFor();
      expect((await alice.rest('GET', base)).body).toMatchObject({ walletAddress: WALLET });

      await page.getByRole('combobox', { name: 'Networks' }).click();
      await page.getByRole('option', { name: 'Polygon' }).click();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Save networks' }).click();
      const networks = page.getByRole('dialog', { name: 'Change networks' });
      await networks.getByText('All', { exact: true }).waitFor();
      expect(await networks.getByRole('button', { name: 'Change' }).isDisabled()).toBe(true);
      await expectAccessible(page);
      await networks.getByLabel('Type Polygon to confirm').fill('Polygon');
      await networks.getByRole('button', { name: 'Change' }).click();
      await networks.waitFor({ state: 'detached' });
      expect((await alice.rest('GET', base)).body).toMatchObject({ networks: ['eip155:137'] });
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

    test('asks the provider for a new sign-in, and returns to the page, which has what was entered, except for secrets', async () => {
      const page = await openTab();
      const signIn = async () => {
        provider.setSessionAge(3600);
        await page.goto(`${app.url}/console/`);
        await page.getByRole('button', { name: 'Continue' }).click();
        await page.getByRole('button', { name: 'Sign out' }).waitFor();
      };
      const signInAgain = async () => {
        const back = page.waitForURL('**/console/callback?*', { waitUntil: 'commit' });
        await page.getByRole('button', { name: 'Sign in again' }).click();
        await back;
        await page.waitForURL('**/console/projects/**');
      };
      await signIn();
      await page.getByRole('button', { name: 'Add project' }).first().click();
      await page.getByLabel('Name').fill('Shop');
      await page.getByLabel('Wallet address').fill('0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045');
      await page.getByRole('button', { name: 'Create project' }).click();
      await page.getByRole('link', { name: 'Settings' }).click();
      await page.getByLabel('Name').fill('Corner shop');
      await changeWallet(page);
      await signInAgain();
      expect(provider.receiver.requests.filter(({ path }) => path.includes('prompt=login'))).toHaveLength(1);
      await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('Corner shop');
      expect(await page.getByLabel('Wallet address').inputValue()).toBe(WALLET);
      await changeWallet(page);
      await page.getByText('Changes saved').waitFor();
      expect(await page.getByLabel('Wallet address').inputValue()).toBe(WALLET);
      expect(await page.getByLabel('Name').inputValue()).toBe('Corner shop');

      await page.getByRole('link', { name: 'Endpoints' }).click();
      await page.getByRole('button', { name: 'Add endpoint' }).first().click();
      const creation = page.getByRole('dialog', { name: 'New endpoint' });
      await creation.getByLabel('Path').fill('/weather');
      await creation.getByLabel('Upstream URL').fill('https://api.example.com/weather');
      await creation.getByRole('button', { name: 'Create endpoint' }).click();
      await page.getByRole('dialog', { name: 'Buyer preview' }).waitFor();
      const endpoints = page.url();
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn();
      await page.goto(endpoints);
      await page.getByRole('button', { name: '/weather', exact: true }).click();
      const form = page.getByRole('dialog', { name: 'Edit endpoint' });
      await form.getByLabel('Upstream URL').fill('https://new.example.com/weather');
      await form.getByLabel('Price (USD)').fill('0.25');
      await form.getByRole('button', { name: 'Add header' }).click();
      await form.getByLabel('Header 1 name').fill('X-Api-Key');
      await form.getByLabel('Header 1 value').fill('secret');
      await form.getByRole('button', { name: 'Save changes' }).click();
      const move = page.getByRole('dialog', { name: 'Change upstream URL' });
      await move.getByRole('textbox').fill('https://new.example.com/weather');
      await move.getByRole('button', { name: 'Change' }).click();
      await signInAgain();
      await expect.poll(() => form.getByLabel('Upstream URL').inputValue()).toBe('https://new.example.com/weather');
      expect(await form.getByLabel('Price (USD)').inputValue()).toBe('0.25');
      expect(await form.getByLabel('Header 1 name').inputValue()).toBe('X-Api-Key');
      expect(await form.getByLabel('Header 1 value').inputValue()).toBe('');
      await page.keyboard.press('Escape');

      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn();
      await page.goto(endpoints);
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      const dialog = page.getByRole('dialog', { name: 'Import endpoints' });
      await dialog.getByLabel('OpenAPI document').fill(apiWith({ '/weather': getting('Weather') }));
      await dialog.getByLabel('Upstream URL').fill('https://new.example.com');
      const importAll = async () => {
        await dialog.getByRole('button', { name: 'Show endpoints' }).click();
        await dialog.getByRole('button', { name: 'Import 1 endpoint' }).click();
        const confirm = page.getByRole('dialog', { name: 'Change existing endpoints' });
        await confirm.getByRole('textbox').fill('new.example.com');
        await confirm.getByRole('button', { name: 'Import' }).click();
      };
      await importAll();
      await dialog.getByText('RECENT_SIGN_IN_REQUIRED').waitFor();
      await signInAgain();
      await expect.poll(() => dialog.getByLabel('Upstream URL').inputValue()).toBe('https://new.example.com');
      await importAll();
      await dialog.getByText('Imported 1 endpoint.').waitFor();
      await page.keyboard.press('Escape');

      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn();
      await page.goto(endpoints.replace(/endpoints$/, 'keys'));
      await page.getByRole('button', { name: 'Create API key' }).first().click();
      const key = page.getByRole('dialog', { name: 'New API key' });
      await key.getByLabel('Name').fill('Deployment');
      await key.getByRole('checkbox', { name: 'Credentials', exact: true }).check();
      await key.getByRole('button', { name: 'Create key' }).click();
      await key.getByText('RECENT_SIGN_IN_REQUIRED').waitFor();
      await signInAgain();
      await expect.poll(() => key.getByLabel('Name').inputValue()).toBe('Deployment');
      expect(await key.getByRole('checkbox', { name: 'Credentials', exact: true }).isChecked()).toBe(true);
      await key.getByRole('button', { name: 'Create key' }).click();
      const created = page.getByRole('dialog', { name: 'Your new API key' });
      await created.getByLabel('I’ve stored it in a safe place').check();
      await created.getByRole('button', { name: 'Done' }).click();

      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn();
      await page.goto(endpoints.replace(/endpoints$/, 'members'));
      await page.getByLabel('Email address').fill('bob@example.com');
      await page.getByRole('button', { name: 'Invite', exact: true }).click();
      await page.getByText('RECENT_SIGN_IN_REQUIRED').waitFor();
      await signInAgain();
      await expect.poll(() => page.getByLabel('Email address').inputValue()).toBe('bob@example.com');
      await page.getByRole('button', { name: 'Invite', exact: true }).click();
      await page.getByText('bob@example.com has been invited').waitFor();
      expect(page.complaints).toEqual([]);
    });
  });
});
