import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executablePath, launchBrowser, openTab } from '../console/browser.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';

describe.skipIf(!executablePath)('the GraphQL explorer', () => {
  let app: TestApp;
  let browser: Browser;
  let alice: TestUser;

  beforeAll(async () => {
    app = await startTestApp({ env: { ROLES: 'api' } });
    browser = await launchBrowser();
    alice = await app.user('alice', 'ENTERPRISE');
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  test('runs a query within its content security policy', async () => {
    const page = await openTab(browser, {});
    await page.addInitScript((token) => {
      localStorage.setItem('graphiql:headers', JSON.stringify({ authorization: `Bearer ${token}` }));
    }, alice.token);
    await page.goto(`${app.url}/graphql?query=${encodeURIComponent('{ viewer { tier } }')}`);
    await page.getByRole('button', { name: /execute/i }).click();
    await page.getByText('ENTERPRISE').waitFor();
    expect(page.complaints).toEqual([]);
  });
});
