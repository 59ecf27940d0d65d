import { beforeAll, describe, expect, test } from 'vitest';
import { executablePath, openTab } from '../console/browser.ts';
import { useService } from '../console/shared.ts';
import type { TestUser } from '../support/app.ts';

describe.skipIf(!executablePath)('the GraphQL explorer', () => {
  const app = useService('api');
  let alice: TestUser;

  beforeAll(async () => {
    alice = await app.user('alice', 'ENTERPRISE');
  });

  test('runs a query within its content security policy', async () => {
    const page = await openTab({});
    await page.addInitScript((token) => {
      localStorage.setItem('graphiql:headers', JSON.stringify({ authorization: `Bearer ${token}` }));
    }, alice.token);
    await page.goto(`${app.url}/graphql?query=${encodeURIComponent('{ viewer { tier } }')}`);
    await page.getByRole('button', { name: /execute/i }).click();
    await page.getByText('ENTERPRISE').waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('forgets the credential when the page is closed', async () => {
    const page = await openTab({});
    await page.goto(`${app.url}/graphql?query=${encodeURIComponent('{ viewer { tier } }')}`);
    await page.getByRole('button', { name: 'Headers', exact: true }).click();
    await page.locator('.graphiql-editor-tool .monaco-editor').filter({ visible: true }).click();
    await page.keyboard.insertText(JSON.stringify({ authorization: `Bearer ${alice.token}` }));
    await page.getByRole('button', { name: /execute/i }).click();
    await page.getByText('ENTERPRISE').waitFor();
    // It stores what is entered with a delay, and the headers before the query.
    await page.locator('.graphiql-query-editor .monaco-editor').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText('# entered last');
    const stored = () => page.evaluate(() => JSON.stringify(localStorage));
    await expect.poll(stored).toContain('# entered last');
    expect(await stored()).not.toContain(alice.token.slice(-20));
  });
});
