import pg from 'pg';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startVendors, type VendorServer } from '../connectors/support/vendors/server.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createConnector, createProject } from '../support/resources.ts';
import { closeTabs, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useBrowser } from './shared.ts';

const token = (mark: string) => `110201543:${mark.padEnd(35, 'x')}`;

describe.skipIf(!executablePath)('the connectors page of the console', () => {
  useBrowser();
  let vendors: VendorServer;
  let app: TestApp;
  let alice: TestUser;
  let base: string;
  let database: pg.Pool;

  beforeAll(async () => {
    vendors = await startVendors();
    app = await startTestApp({ hostOverrides: vendors.hostOverrides });
    database = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
    alice = await app.user('alice');
  });
  afterAll(async () => {
    await closeTabs();
    await database?.end();
    await app?.stop();
    await vendors?.close();
  });

  async function open(): Promise<Page> {
    const project = await createProject(alice);
    base = project.base;
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${project.id}/connectors`);
    return page;
  }
  const act = async (page: Page, action: string) => {
    await page.getByRole('button', { name: /^Actions for Telegram/ }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };

  test('rejected credentials pause a connector with a reason, and new ones resume it', async () => {
    vendors.accept('first');
    const page = await open();
    const { id } = await createConnector(alice, base, {
      type: 'telegram',
      config: { botToken: token('first'), chatId: '-1001234567890' },
    });
    await page.reload();
    await act(page, 'Test credentials');
    await page.getByText('Connection works').waitFor();

    vendors.expire('first');
    await act(page, 'Test credentials');
    await page.getByText('Connection test failed', { exact: true }).waitFor();
    await alice.rest('POST', `${base}/connectors/${id}/test`, { eventType: 'payment.settled' });
    const pausedReason = async () =>
      (await alice.rest<{ pausedReason: string | null }>('GET', `${base}/connectors/${id}`)).body.pausedReason;
    await expect.poll(pausedReason).not.toBeNull();
    await page.reload();
    const row = page.getByRole('row').filter({ hasText: 'Telegram' });
    await row.getByText('Paused', { exact: true }).waitFor();
    await row.getByText((await pausedReason())!).waitFor();
    await act(page, 'Edit');
    const dialog = page.getByRole('dialog', { name: 'Telegram' });
    await dialog.getByText((await pausedReason())!).waitFor();
    await expectAccessible(page);

    vendors.accept('second');
    await dialog.getByLabel('Bot token').fill(token('second'));
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Active', { exact: true }).waitFor();
    await expect
      .poll(() => vendors.callsTo('telegram').filter(({ url }) => url.pathname.includes('second')).length)
      .toBeGreaterThan(0);
  });

  test('if a connector’s credential expires within 60 days, the page shows the date by which to reconnect it', async () => {
    const page = await open();
    const config = {
      clientId: 'client',
      clientSecret: 'secret',
      refreshToken: 'refresh',
      realmId: '9130355377388383',
    };
    const { id } = await createConnector(alice, base, { type: 'quickbooks', config });
    const endIn = (days: number) =>
      database.query(
        `UPDATE "Connector" SET "credentialExpiresAt" = now() + make_interval(days => $2) WHERE "id" = $1`,
        [id, days],
      );
    const row = page.getByRole('row').filter({ hasText: 'QuickBooks' });
    await endIn(61);
    await page.reload();
    await row.getByText('Active', { exact: true }).waitFor();
    expect(await row.getByText(/Reconnect before/).count()).toBe(0);

    await endIn(59);
    await page.reload();
    await row.getByText(/^Reconnect before \w{3} \d{1,2}, \d{4},/).waitFor();
    await row.getByRole('button', { name: 'QuickBooks Online', exact: true }).click();
    await page
      .getByRole('dialog')
      .getByText(/^Reconnect before/)
      .waitFor();
    await expectAccessible(page);
  });

  test('a changed address is saved only after the secrets are entered again', async () => {
    const page = await open();
    const before = { url: 'https://abcdefghijklmnopqrst.supabase.co', apiKey: 'sb_secret_of_the_seller' };
    const { id } = await createConnector(alice, base, { type: 'supabase', config: before });
    await page.reload();
    await page.getByRole('button', { name: 'Supabase', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Supabase' });
    const warning = dialog.getByText('Enter these again');
    const url = dialog.getByLabel('Project URL');
    await url.fill('https://zyxwvutsrqponmlkjihg.supabase.co');
    await warning.waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await dialog.getByText('Enter this again because the address has changed.').waitFor();
    const stored = async () => (await alice.rest<{ config: object }>('GET', `${base}/connectors/${id}`)).body.config;
    expect(await stored()).toEqual({ url: before.url, apiKey: '••••ller' });

    // With the original address, the secret isn't needed.
    await url.fill(before.url);
    await warning.waitFor({ state: 'detached' });
    await url.fill('https://zyxwvutsrqponmlkjihg.supabase.co');
    await dialog.getByLabel('API key').fill('sb_secret_of_the_seller_too');
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await stored()).toEqual({ url: 'https://zyxwvutsrqponmlkjihg.supabase.co', apiKey: '••••_too' });
  });

  test('every connector type has a form with all fields of its config', async () => {
    const page = await open();
    type Type = { type: string; title: string; fields: { name: string; title: string }[] };
    const { body } = await alice.rest<{ data: Type[] }>('GET', '/api/connector-types');
    expect(body.data.length).toBeGreaterThan(20);
    for (const { title, fields } of body.data) {
      await page.getByRole('button', { name: 'Add connector' }).first().click();
      await page.getByRole('dialog', { name: 'New connector' }).getByText(title, { exact: true }).click();
      const dialog = page.getByRole('dialog', { name: title, exact: true });
      // The connected account has no field to fill in.
      const entered = fields.filter(({ name }) => name !== 'grant');
      for (const field of entered) await dialog.getByLabel(field.title).first().waitFor();
      expect(await dialog.innerText()).not.toContain('`');
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
  });
});
