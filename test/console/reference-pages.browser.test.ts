import { beforeAll, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import {
  type ConsolePage,
  executablePath,
  expectAccessible,
  expectAccessibleInBothSchemes,
  openSignedIn,
  openTab,
} from './browser.ts';
import { layoutFaults } from './layout.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('the API reference pages of the console', () => {
  const app = useService('api');
  let alice: TestUser;
  let projectId: string;
  let base: string;

  beforeAll(async () => {
    alice = await app.user('alice');
    ({ id: projectId, base } = await createProject(alice, { name: 'Weather' }));
  });

  async function open(path: string): Promise<ConsolePage> {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}${path}`);
    return page;
  }

  describe('REST reference', () => {
    test('an operation can be found by keywords and tried with the current project', async () => {
      const { id } = await createWebhook(alice, base, { url: 'https://example.com/found' });
      const page = await open('/rest');
      await page.getByRole('heading', { name: 'Get started' }).waitFor();
      await expectAccessibleInBothSchemes(page);

      await page.getByLabel('Search operations').fill('get getWebhook');
      const operations = page.getByRole('navigation', { name: 'Operations' }).getByRole('link');
      await expect.poll(() => operations.count()).toBe(1);
      // From here on, only the keyboard is used.
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/rest/getWebhook');

      const tryIt = page.getByRole('button', { name: 'Try it' });
      expect(await tryIt.isDisabled()).toBe(true);
      expect(await page.getByLabel('projectId').inputValue()).toBe(projectId);
      await page.getByLabel('webhookId').fill(id);
      const command = page.getByRole('region', { name: 'Request', exact: true }).locator('pre').first();
      expect(await command.innerText()).toContain(`'${app.url}${base}/webhooks/${id}'`);
      expect(await command.innerText()).toContain('$TOLLGATE_TOKEN');
      await tryIt.click();
      const response = page.getByRole('region', { name: 'Response', exact: true });
      await response.getByText('200 OK').waitFor();
      await response.getByText('"https://example.com/found"').waitFor();
      await response.getByText('Headers', { exact: true }).click();
      await response.getByText('x-request-id').waitFor();
      await expectAccessibleInBothSchemes(page);
      expect(await page.content()).not.toContain(alice.token);
      expect(page.complaints).toEqual([]);
    });

    test('an error response is shown unchanged', async () => {
      const page = await open('/rest/listPayments');
      await page.getByLabel('limit').fill('1000');
      await page.getByRole('button', { name: 'Try it' }).click();
      const response = page.getByRole('region', { name: 'Response', exact: true });
      await response.getByText('422').first().waitFor();
      await response.getByText('"VALIDATION_FAILED"').waitFor();
    });

    test('a request body is documented with its fields and an example', async () => {
      const page = await open('/rest/createEndpoint');
      const body = page.getByRole('region', { name: 'Request body' });
      await body.getByText('upstreamUrl', { exact: true }).waitFor();
      expect(await body.getByText('required').count()).toBe(3);
      await body.getByText('"priceUsd": "0.01"').waitFor();
      await page.getByText('IDEMPOTENCY_IN_FLIGHT').waitFor();
      await expectAccessibleInBothSchemes(page);
      expect(page.complaints).toEqual([]);
    });

    test('a body is checked before it is sent, and a request that changes something needs a confirmation', async () => {
      const page = await open('/rest/createEndpoint');
      const body = page.getByRole('textbox', { name: 'Body' });
      await body.fill('{"path": "/tried", "upstreamUrl": "https://example.com", "priceUsd": 1, "pathh": 2}');
      const field = page.getByRole('region', { name: 'Request body' });
      await field.getByText('/priceUsd: Must be a string.').waitFor();
      const marked = field.locator('.cm-lintRange-error');
      await expect.poll(() => marked.allInnerTexts()).toEqual(['"priceUsd"', '"pathh"']);
      const tryIt = page.getByRole('button', { name: 'Try it' });
      expect(await tryIt.isDisabled()).toBe(true);
      await page.getByText('Fix the body above first.').waitFor();

      await body.fill('{"path": "/tried", "upstreamUrl": "https://example.com", "priceUsd": "0.01"}');
      await tryIt.click();
      const dialog = page.getByRole('dialog', { name: 'Send this request?' });
      await dialog.getByText(`POST ${app.url}${base}/endpoints`).waitFor();
      await dialog.getByText('"path": "/tried"').waitFor();
      await expectAccessibleInBothSchemes(page);
      const paths = async () =>
        (await alice.rest<{ data: { path: string }[] }>('GET', `${base}/endpoints`)).body.data.map(({ path }) => path);
      expect(await paths()).not.toContain('/tried');
      await dialog.getByRole('button', { name: 'Send POST' }).click();
      const response = page.getByRole('region', { name: 'Response', exact: true });
      await response.getByText('201 Created').waitFor();
      expect(await paths()).toContain('/tried');
      await field.getByRole('button', { name: 'Reset to the example' }).click();
      await body.getByText('"/weather/:city"').waitFor();
      expect(page.complaints).toEqual([]);
    });

    test('a DELETE requires the user to type the end of the ID', async () => {
      const { id } = await createWebhook(alice, base, { url: 'https://example.com/deleted' });
      const page = await open('/rest/deleteWebhook');
      await page.getByLabel('webhookId').fill(id);
      await page.getByRole('button', { name: 'Try it' }).click();
      const send = page.getByRole('button', { name: 'Send DELETE' });
      await send.waitFor();
      expect(await send.isDisabled()).toBe(true);
      await page.getByLabel(`Type ${id.slice(-6)} to confirm`).fill(id.slice(-6));
      await send.click();
      await page.getByRole('region', { name: 'Response', exact: true }).getByText('204 No Content').waitFor();
      await page.getByText('No response body').last().waitFor();
      expect((await alice.rest('GET', `${base}/webhooks/${id}`)).status).toBe(404);
    });

    test('a request is shown in other languages with the values that were entered, and the language is remembered', async () => {
      const page = await open('/rest/listDeliveries');
      await page.getByRole('textbox', { name: 'status' }).fill('FAILED, SKIPPED');
      const command = page.getByRole('region', { name: 'Request', exact: true }).locator('pre').first();
      await page.getByText('Python', { exact: true }).click();
      expect(await command.innerText()).toContain('"status": ["FAILED", "SKIPPED"],');
      await page.getByText('Go', { exact: true }).click();
      expect(await command.innerText()).toContain('status=FAILED&status=SKIPPED');
      await page.getByText('TypeScript', { exact: true }).click();
      await expectAccessibleInBothSchemes(page);
      await page.goto(`${app.url}/console/projects/${projectId}/rest/getProject`);
      await command.getByText(`tollgate.projects.get('${projectId}')`).waitFor();
      expect(page.complaints).toEqual([]);
    });

    test('nested fields can be expanded, and an unknown operation is reported', async () => {
      const page = await open('/rest/listWebhooks');
      const inner = page.getByRole('button', { name: 'Fields of data' });
      await inner.click();
      expect(await inner.getAttribute('aria-expanded')).toBe('true');
      await page.getByText('eventTypes', { exact: true }).waitFor();
      await page.goto(`${app.url}/console/projects/${projectId}/rest/noSuchOperation`);
      await page.getByText('Operation not found').waitFor();
    });

    test('the list of operations opens at the operation in the URL', async () => {
      const page = await open('/rest/createEndpoint');
      const link = page.getByRole('navigation', { name: 'Operations' }).locator('[aria-current=page]');
      await expect.poll(async () => (await link.boundingBox())?.y).toBeLessThan(page.viewportSize()!.height);
      expect(await page.evaluate('window.scrollY')).toBe(0);
    });

    test('on a phone, an operation is shown instead of the long list, and a link leads back to it', async () => {
      const page = await open('/rest/createEndpoint');
      const list = page.getByRole('navigation', { name: 'Operations' });
      await list.waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      await list.waitFor({ state: 'hidden' });
      const title = page.getByRole('heading', { name: 'Create an endpoint' });
      expect((await title.boundingBox())!.y).toBeLessThan(844);
      expect(await layoutFaults(page)).toEqual([]);
      await page.getByRole('link', { name: 'All operations' }).click();
      await list.waitFor();
      await page.setViewportSize({ width: 1360, height: 860 });
    });
  });

  describe('GraphQL explorer', () => {
    test('an operation runs as the signed-in user, and its result is shown', async () => {
      const page = await open('/graphql');
      await page.getByRole('heading', { name: 'Query', exact: true }).waitFor();
      await expectAccessibleInBothSchemes(page);
      const result = page.getByRole('region', { name: 'Result' });
      await page.getByRole('button', { name: 'Run' }).click();
      await result.getByText('"tier": "PRO"').waitFor();

      const operation = page.getByLabel('Operation');
      await operation.fill('query Name($projectId: ID!) { project(id: $projectId) { name } }');
      await operation.press('Control+Enter');
      await result.getByText('"name": "Weather"').waitFor();
      await page.getByLabel('Variables').fill('[1]');
      await page.getByRole('button', { name: 'Run' }).click();
      await page.getByText('Must be a JSON object').waitFor();
      await page.getByLabel('Variables').fill('');
      await operation.fill('{ nonsense }');
      await page.getByRole('button', { name: 'Run' }).click();
      await result.getByText('Cannot query field').waitFor();
      await expectAccessibleInBothSchemes(page);
      expect(await page.content()).not.toContain(alice.token);
      expect(page.complaints).toEqual([]);
    });

    test('the editor suggests fields with their documentation, marks mistakes, and opens the type at the cursor', async () => {
      const page = await open('/graphql');
      await page.getByRole('heading', { name: 'Query', exact: true }).waitFor();
      const operation = page.getByRole('textbox', { name: 'Operation' });
      await operation.fill('query A($projectId: ID!) { project(id: $projectId) { wall } }');
      for (let left = 0; left < ' } }'.length; left += 1) await page.keyboard.press('ArrowLeft');
      await page.keyboard.press('Control+Space');
      await page.getByRole('option', { name: /^walletAddress/ }).waitFor();
      await page.locator('.cm-completionInfo').getByText('EVM wallet').waitFor();
      await expectAccessibleInBothSchemes(page);
      await page.keyboard.press('Enter');
      await operation.getByText('walletAddress').waitFor();

      await operation.fill('{ viewer { tierr } }');
      const mistake = page.locator('.cm-lintRange-error').first();
      await mistake.hover();
      await page.getByText('Cannot query field "tierr" on type "Viewer"').waitFor();
      await expectAccessibleInBothSchemes(page);

      await operation.fill('{ viewer { limits { requestsPerMinute } } }');
      await operation.getByText('limits').hover();
      await page.locator('.cm-hover').getByText('Viewer.limits').waitFor();
      await operation.getByText('limits').click();
      await page.keyboard.press('F12');
      await page.waitForURL('**/graphql/AccountLimits');
      // Opening a type keeps the text in the editor.
      await operation.getByText('requestsPerMinute').waitFor();

      await operation.fill('query A($projectId: ID!) { project(id: $projectId) { name } }');
      await page.getByRole('textbox', { name: 'Variables' }).fill('{"projectId": {}}');
      await page.locator('.cm-lintRange-error', { hasText: 'projectId' }).hover();
      await page.getByText('Variable "$projectId" got invalid value {}').waitFor();
      expect(page.complaints).toEqual([]);
    });

    test('the operation at the cursor runs, and is in the history after a reload', async () => {
      const page = await open('/graphql');
      const operation = page.getByRole('textbox', { name: 'Operation' });
      const result = page.getByRole('region', { name: 'Result' });
      await operation.fill('query First { viewer { tier } } query Second { viewer { email } }');
      await page.getByText('Runs Second, the operation at the cursor.').waitFor();
      await page.keyboard.press('Control+Enter');
      await result.getByText('"email": null').waitFor();
      await page.keyboard.press('Control+Home');
      await page.getByText('Runs First, the operation at the cursor.').waitFor();
      await page.reload();
      await page.getByRole('button', { name: 'History' }).click();
      await page.getByRole('menuitem', { name: 'First, Second' }).click();
      await operation.getByText('query First').waitFor();
      await page.getByRole('button', { name: 'Prettify' }).click();
      await operation.getByText('query Second {', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'History' }).click();
      await page.getByRole('menuitem', { name: 'Clear the history' }).click();
      expect(await page.getByRole('button', { name: 'History' }).isDisabled()).toBe(true);
      expect(page.complaints).toEqual([]);
    });

    test('a copied link opens the same operation without running it, and the curl command is copied', async () => {
      const page = await openTab({ permissions: ['clipboard-read', 'clipboard-write'] });
      await openSignedIn(page, app, alice.token, `/console/projects/${projectId}/graphql`);
      const operation = page.getByRole('textbox', { name: 'Operation' });
      await operation.fill('mutation Shared { deleteProject(input: { id: "proj_1\u202E" }) { id } }');
      await page.getByRole('button', { name: 'Copy link' }).click();
      await page.getByText('Copied the link').waitFor();
      const link = await page.evaluate(() => navigator.clipboard.readText());
      await page.getByRole('button', { name: 'Copy as cURL' }).click();
      await page.getByText('Copied the curl command').waitFor();
      const command = await page.evaluate(() => navigator.clipboard.readText());
      expect(command).toContain(`curl -sS '${app.url}/graphql'`);
      expect(command).not.toContain(alice.token);
      const samples = page.getByRole('region', { name: 'Samples' });
      for (const [language, text] of Object.entries({
        TypeScript: 'fetch(',
        Python: 'import requests',
        Go: 'func main',
      })) {
        await samples.getByText(language, { exact: true }).click();
        await samples.getByText(text).waitFor();
        await samples.getByText('mutation Shared').waitFor();
      }

      await page.goto(`${app.url}/console/`);
      await page.goto(link);
      await operation.getByText('mutation Shared').waitFor();
      await page.getByText('Run a query to see the result.').waitFor();
      // Someone else may have written it, and the editor shows only a part of a long operation.
      const sent: string[] = [];
      page.on('request', (request) => void sent.push(request.postData() ?? ''));
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      const dialog = page.getByRole('dialog', { name: 'Run this mutation?' });
      await dialog.getByText('deleteProject').waitFor();
      // Characters that reverse the direction of text are shown as escapes.
      expect(await dialog.innerText()).toContain(String.raw`"proj_1\u202e"`);
      await expectAccessible(page);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      expect(sent.filter((body) => body.includes('mutation Shared'))).toEqual([]);
      await operation.press('Control+Enter');
      await dialog.getByRole('button', { name: 'Run mutation' }).click();
      await page.getByRole('region', { name: 'Result' }).getByText('"errors"').waitFor();
      expect(page.complaints).toEqual([]);
    });

    test('a subscription shows results until it is stopped', async () => {
      const page = await open('/graphql');
      await page.getByRole('combobox', { name: 'Example' }).click();
      await page.getByRole('option', { name: 'Follow events' }).click();
      await page.getByRole('button', { name: 'Run' }).click();
      const result = page.getByRole('region', { name: 'Result' });
      await result.getByText('Listening').waitFor();
      // The page can't tell when the server starts listening, so repeat the event until it shows up.
      await expect
        .poll(async () => {
          await createEndpoint(alice, base);
          return result.getByText('"ENDPOINT_CREATED"').count();
        })
        .toBeGreaterThan(0);
      await page.getByRole('button', { name: 'Stop' }).click();
      await result.getByText('Stopped').waitFor();
    });

    test('the schema can be searched by keywords, and its types link to each other', async () => {
      const page = await open('/graphql');
      await page.getByLabel('Search the schema').fill('replay skipped');
      await page.getByRole('link', { name: 'Replay.skipped' }).click();
      await page.waitForURL('**/graphql/Replay');
      await page.getByRole('heading', { name: 'Replay', exact: true }).waitFor();
      await expectAccessibleInBothSchemes(page);
      await page.getByRole('link', { name: 'ReplayStatus!' }).click();
      await page.getByText('CANCELED', { exact: true }).waitFor();
      await page.goto(`${app.url}/console/projects/${projectId}/graphql/NoSuchType`);
      await page.getByText('Type not found').waitFor();
      expect(page.complaints).toEqual([]);
    });
  });
});
