import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createProject } from '../support/resources.ts';
import { executablePath, expectAccessible, insecureAddress, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('the API keys page of the console', () => {
  const app = useService('api');
  let pool: pg.Pool;

  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: app.databaseUrl });
  });
  afterAll(async () => {
    await pool?.end();
  });

  async function open() {
    const alice = await app.user('alice');
    const { id, base } = await createProject(alice, { name: 'Weather' });
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${id}/keys`);
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    const form = page.getByRole('dialog', { name: 'New API key' });
    const row = page.getByRole('row').filter({ hasText: 'Deployment' });
    const create = async () => {
      await form.getByRole('button', { name: 'Create key' }).click();
      const created = page.getByRole('dialog', { name: 'Your new API key' });
      const key = await created.locator('pre').innerText();
      await created.getByLabel('I’ve stored it in a safe place').check();
      await created.getByRole('button', { name: 'Done' }).click();
      return app.caller(key);
    };
    return { page, form, row, create, id, base };
  }

  test('a key gets the chosen scopes, and can do nothing else', async () => {
    const { page, form, row, create, id } = await open();
    const scope = (name: string) => form.getByRole('checkbox', { name, exact: true });
    await scope('Read').waitFor();
    const names = ['Read', 'Deliveries', 'Write', 'Credentials'];
    expect(await Promise.all(names.map((name) => scope(name).isChecked()))).toEqual([true, true, true, false]);
    await form.getByText('Rotate webhook secrets.').waitFor();
    await expectAccessible(page);

    await form.getByLabel('Name').fill('Deployment');
    for (const name of ['Read', 'Deliveries', 'Write']) await scope(name).uncheck();
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByText('Must have at least one scope.').waitFor();
    await expectAccessible(page);
    await scope('Deliveries').check();
    // The server refuses one of several addresses.
    const addresses = form.getByRole('combobox', { name: 'Allowed addresses' });
    for (const address of ['127.0.0.0/8', 'localhost']) {
      await addresses.fill(address);
      await addresses.press('Enter');
    }
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByText('Must be an IP address or a CIDR block').waitFor();
    await expectAccessible(page);
    await addresses.press('Backspace');
    const key = await create();
    await row.getByText('Only from 127.0.0.0/8', { exact: true }).waitFor();
    await row.getByText('Deliveries').waitFor();
    const { data, errors } = await key.graphql(`{ project(id: "${id}") { payments { nodes { id } } } }`);
    expect([data, errors?.[0]?.extensions.code]).toEqual([{ project: null }, 'FORBIDDEN']);
    expect(page.complaints).toEqual([]);
  });

  test('a key expires at the chosen time, and the list shows both that it will expire and that it has expired', async () => {
    const { page, form, row, create } = await open();
    await form.getByLabel('Name').fill('Deployment');
    await form.getByRole('combobox', { name: 'Expires' }).click();
    await page.getByRole('option', { name: 'On a specific date' }).click();
    await form.getByLabel('Last day').fill('2001-01-31');
    await form.getByRole('button', { name: 'Create key' }).click();
    await form.getByText('Must be in the future.').waitFor();
    await expectAccessible(page);
    await form.getByRole('combobox', { name: 'Expires' }).click();
    await page.getByRole('option', { name: 'In 30 days' }).click();
    const key = await create();
    await row.getByText('in 30 d').waitFor();
    await row.getByText('Active', { exact: true }).waitFor();
    await row.getByText('Read, Deliveries, Write').waitFor();
    expect((await key.graphql('{ viewer { tier } }')).errors).toBeUndefined();

    const moveTo = (time: string) => pool.query(`UPDATE "ApiKey" SET "expiresAt" = now() + $1::interval`, [time]);
    await moveTo('2 days');
    await page.reload();
    await row.getByText('Expires soon').waitFor();
    await expectAccessible(page);
    await moveTo('-1 second');
    await page.reload();
    await row.getByText('Expired', { exact: true }).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('over plain HTTP, a new key can be copied, or is selected if the browser copies nothing', async () => {
    const alice = await app.user('alice');
    const { id } = await createProject(alice, { name: 'Weather' });
    const page = await openTab();
    await openSignedIn(page, insecureAddress(app), alice.token, `/console/projects/${id}/keys`);
    expect(await page.evaluate('[isSecureContext, navigator.clipboard]')).toEqual([false, undefined]);
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    const form = page.getByRole('dialog', { name: 'New API key' });
    const name = form.getByLabel('Name');
    await name.fill('Deployment');
    await form.getByRole('button', { name: 'Create key' }).click();
    const created = page.getByRole('dialog', { name: 'Your new API key' });
    const key = await created.locator('pre').innerText();

    // A browser that refuses to copy.
    await page.evaluate(`document.execCommand = () => false`);
    await created.getByRole('button', { name: 'Copy command' }).click();
    await page.getByText('Not copied', { exact: true }).waitFor();
    expect(await page.evaluate('getSelection().toString()')).toBe(key);

    await page.evaluate('delete document.execCommand');
    await created.getByRole('button', { name: 'Copy command' }).click();
    await created.getByRole('button', { name: 'Copied' }).waitFor();
    await created.getByLabel('I’ve stored it in a safe place').check();
    await created.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    await name.focus();
    await page.keyboard.press('Control+V');
    expect(await name.inputValue()).toBe(key);

    // Browsers don't copy from a masked field, so the field shows its text.
    await page.goto(`${insecureAddress(app).url}/console/projects/${id}/settings`);
    const secret = page.locator('input[aria-label="Upstream secret"]');
    expect(await secret.getAttribute('type')).toBe('password');
    await page.evaluate(`document.execCommand = () => false`);
    await page.getByRole('button', { name: 'Copy upstream secret' }).click();
    await page.getByText('Not copied', { exact: true }).waitFor();
    expect(await secret.getAttribute('type')).toBe('text');
    expect(await page.evaluate('getSelection().toString()')).toBe(await secret.inputValue());

    // Browsers also ignore this header over plain HTTP, and say so.
    const isAboutHeader = (text: string) => text.startsWith('The Cross-Origin-Opener-Policy header has been ignored');
    expect(page.complaints.filter((text) => !isAboutHeader(text))).toEqual([]);
  });
});
