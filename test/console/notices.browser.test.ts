import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createProject, createWebhook } from '../support/resources.ts';
import { closeTabs, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useBrowser } from './shared.ts';

/** Holds what the page sends over WebSockets until `sendHeldMessages` is called. */
const HOLD_MESSAGES = `
  const held = [];
  let isHolding = true;
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) {
    if (isHolding) held.push(() => send.call(this, data));
    else send.call(this, data);
  };
  window.sendHeldMessages = () => {
    isHolding = false;
    for (const one of held) one();
  };`;

describe.skipIf(!executablePath)('the notices of the console', () => {
  useBrowser();
  let app: TestApp;
  let alice: TestUser;
  let sql: pg.Pool;

  beforeAll(async () => {
    app = await startTestApp({ env: { ROLES: 'api', EGRESS_ALLOW: '' } });
    sql = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
    alice = await app.user('alice');
  });
  afterAll(async () => {
    await closeTabs();
    await sql?.end();
    await app?.stop();
  });

  test('a notice that is created while the page is connecting is counted', async () => {
    const { id, base } = await createProject(alice);
    const webhook = await createWebhook(alice, base);
    const page = await openTab();
    await page.addInitScript(HOLD_MESSAGES);
    await openSignedIn(page, app, alice.token, `/console/projects/${id}`);
    await page.getByRole('link', { name: 'Notices', exact: true }).first().waitFor();
    await page.waitForLoadState('networkidle');
    await sql.query(`UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone' WHERE "id" = $1`, [webhook.id]);
    await page.evaluate('sendHeldMessages()');
    await page.getByRole('link', { name: 'Notices, 1 unread' }).waitFor();
  });

  test('the bell counts notices as they arrive, each links to its cause, and reading them clears the bell', async () => {
    const { id, base } = await createProject(alice);
    const webhook = await createWebhook(alice, base);
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${id}`);
    await page.getByRole('link', { name: 'Notices', exact: true }).first().waitFor();
    await sql.query(`UPDATE "Webhook" SET "isActive" = false, "disabledReason" = 'gone' WHERE "id" = $1`, [webhook.id]);
    await page.getByRole('link', { name: 'Notices, 1 unread' }).click();
    await page.getByText('The destination responded with 410 Gone.').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'hooks.example.com is disabled' }).click();
    await page.waitForURL(`**/console/projects/${id}/webhooks`);
    await page.goBack();
    await page.getByRole('button', { name: 'Mark as read: hooks.example.com is disabled' }).click();
    await expect.poll(() => page.getByRole('link', { name: 'Notices, 1 unread' }).count()).toBe(0);
    await page.getByRole('combobox', { name: 'Read' }).click();
    await page.getByRole('option', { name: 'Unread' }).click();
    await page.getByText('No matching notices').waitFor();
    await page.waitForURL('**/notices?isRead=false');
  });

  test('contacts can be saved, their URLs are masked, and the signing secret is shown once', async () => {
    const { id, base } = await createProject(alice);
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${id}/notices`);
    await page.getByText('Email isn’t set up on this server').waitFor();
    await page.getByRole('combobox', { name: 'Email addresses' }).fill('ops@example.com');
    await page.keyboard.press('Enter');
    await page.getByLabel('Webhook URL').fill('http://me.example.com');
    await page.getByRole('button', { name: 'Save contacts' }).click();
    await expect.poll(() => page.getByLabel('Webhook URL').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Webhook URL').fill('https://me.example.com/hooks/secret-token-123');
    await page.getByRole('button', { name: 'Save contacts' }).click();
    await page.getByText(/whsec_/).waitFor();
    await expectAccessible(page);
    await page.getByLabel('I’ve stored it in a safe place').check();
    await page.getByRole('button', { name: 'Done' }).click();
    expect(await page.getByLabel('Webhook URL').inputValue()).toBe('https://me.example.com/hooks/••••');
    await page.getByLabel('Weekly digest').uncheck();
    await page.getByRole('button', { name: 'Save contacts' }).click();
    await expect
      .poll(async () => (await alice.rest('GET', `${base}/contacts`)).body)
      .toMatchObject({
        emails: ['ops@example.com'],
        weeklyDigest: false,
        webhookUrl: 'https://me.example.com/hooks/••••',
      });
  });
});
