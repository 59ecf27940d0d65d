import pg from 'pg';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { adopt, hold } from '../../src/database/installation.ts';
import type { TestUser } from '../support/app.ts';
import { createProject } from '../support/resources.ts';
import { executablePath, expectAccessibleInBothSchemes, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('help in the console', () => {
  const app = useService('api');
  let alice: TestUser;
  let project: string;

  beforeAll(async () => {
    alice = await app.user('alice');
    project = `/console/projects/${(await createProject(alice)).id}`;
  });

  test('a two-key shortcut opens a page, except in a field or a dialog, or when single-key shortcuts are off', async () => {
    // Opens the tab with separate storage, because the setting is kept there.
    const page = await openTab({});
    await openSignedIn(page, app, alice.token, project);
    await page.getByRole('button', { name: 'Help', exact: true }).waitFor();
    await page.keyboard.type('gp');
    await page.waitForURL(`**${project}/payments`);
    await page.keyboard.type('gd');
    await page.waitForURL(`**${project}/deliveries`);

    await page.keyboard.type('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.getByRole('row', { name: 'Payments G then P' }).waitFor();
    await expectAccessibleInBothSchemes(page);
    await page.keyboard.type('ge');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(new URL(page.url()).pathname).toBe(`${project}/deliveries`);

    await page.goto(`${app.url}${project}/rest`);
    await page.getByLabel('Search operations').click();
    await page.keyboard.type('gp?');
    expect(await page.getByLabel('Search operations').inputValue()).toBe('gp?');
    expect(await dialog.count()).toBe(0);

    await page.getByRole('button', { name: 'Help', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click();
    await dialog.getByRole('switch', { name: 'Single-key shortcuts' }).click();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.type('?gp/');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(1);
    expect(new URL(page.url()).pathname).toBe(`${project}/rest`);
    expect(page.complaints).toEqual([]);
  });

  test('pages and errors link to their documentation', async () => {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `${project}/webhooks`);
    const help = page.getByRole('link', { name: 'Help for “Webhooks”' });
    expect(await help.getAttribute('href')).toBe('/docs/webhooks');
    await page.goto(`${app.url}${project}/graphql`);
    expect(await page.getByRole('link', { name: 'Help for “GraphQL explorer”' }).getAttribute('href')).toBe(
      '/docs/graphql',
    );
    await page.goto(`${app.url}/console/`);
    expect(await page.getByRole('link', { name: 'Help for “Projects”' }).getAttribute('href')).toBe('/docs/concepts');

    await page.route('**/graphql', (route) =>
      route.fulfill({ json: { errors: [{ message: 'Too many.', extensions: { code: 'RATE_LIMITED' } }] } }),
    );
    await page.goto(`${app.url}${project}/webhooks`);
    const about = page.getByRole('link', { name: 'About this error' }).first();
    expect(await about.getAttribute('href')).toBe('/docs/errors#rate_limited');
    await expectAccessibleInBothSchemes(page);
    expect(page.complaints).toEqual([]);
  });

  test('every page says that the service is on hold, until it no longer is', async () => {
    const sql = new pg.Pool({ connectionString: app.databaseUrl });
    onTestFinished(() => sql.end());
    onTestFinished(() => adopt(sql));
    await hold(sql);
    const isOnHold = async () => (await alice.graphql('{ isOnHold }')).data?.isOnHold;
    await expect.poll(isOnHold).toBe(true);
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `${project}/webhooks`);
    const bar = page.getByRole('status').filter({ hasText: 'This service is on hold' });
    await bar.waitFor();
    await expectAccessibleInBothSchemes(page);
    await adopt(sql);
    await bar.waitFor({ state: 'detached' });
    expect(await isOnHold()).toBe(false);
    expect(page.complaints).toEqual([]);
  });
});
