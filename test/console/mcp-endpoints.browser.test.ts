import { describe, expect, test } from 'vitest';
import { createProject } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('in the console, an endpoint for an MCP server', () => {
  const app = useService('api');

  test('can be created, and its preview shows how to pay for a tool call', async () => {
    const alice = await app.user('alice');
    const { id: projectId, base } = await createProject(alice, { name: 'Tools' });
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}/endpoints`);
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    await page.getByRole('dialog').getByLabel('Path').fill('/mcp');
    await page.getByLabel('Upstream URL').fill('https://api.example.com/mcp');
    expect(await page.getByLabel('An HTTP API').isChecked()).toBe(true);
    await page.getByLabel('Before the request').check();
    await page.getByLabel('An MCP server').check();
    // The methods and the order of settlement are fixed.
    await expect.poll(() => page.getByLabel('Before the request').count()).toBe(0);
    expect(await page.getByLabel('PATCH').count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    const preview = page.getByRole('dialog', { name: 'Buyer preview' });
    await preview.getByText('in USDC per tool call').waitFor();
    await preview.getByText('StreamableHTTPClientTransport').first().waitFor();
    await expectAccessible(page);
    const listed = await alice.rest<{ data: object[] }>('GET', `${base}/endpoints`);
    expect(listed.body.data).toMatchObject([
      { protocol: 'MCP', settlement: 'AFTER_RESPONSE', methods: ['GET', 'POST', 'DELETE'] },
    ]);
    expect(page.complaints).toEqual([]);
  });
});
