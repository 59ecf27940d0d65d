import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import {
  type ConsolePage,
  executablePath,
  expectAccessibleInBothSchemes,
  launchBrowser,
  openSignedIn,
  openTab,
} from './browser.ts';

describe.skipIf(!executablePath)('the API reference pages of the console', () => {
  let app: TestApp;
  let browser: Browser;
  let alice: TestUser;
  let projectId: string;
  let base: string;

  beforeAll(async () => {
    app = await startTestApp({ env: { ROLES: 'api' } });
    browser = await launchBrowser();
    alice = await app.user('alice');
    ({ id: projectId, base } = await createProject(alice, { name: 'Weather' }));
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  async function open(path: string): Promise<ConsolePage> {
    const page = await openTab(browser);
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
      expect(await page.getByRole('button', { name: 'Try it' }).count()).toBe(0);
      await expectAccessibleInBothSchemes(page);
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
      await page.getByText('CANCELLED', { exact: true }).waitFor();
      await page.goto(`${app.url}/console/projects/${projectId}/graphql/NoSuchType`);
      await page.getByText('Type not found').waitFor();
      expect(page.complaints).toEqual([]);
    });
  });
});
