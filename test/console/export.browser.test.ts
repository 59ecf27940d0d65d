import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import pg from 'pg';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { TestUser } from '../support/app.ts';
import { insertPayment } from '../support/payments.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('exports in the console', () => {
  const app = useService('api');
  let alice: TestUser;
  let sql: pg.Pool;
  let projectId: string;

  beforeAll(async () => {
    sql = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
    alice = await app.user('alice', 'ENTERPRISE');
    const project = await createProject(alice, { name: 'Weather' });
    projectId = project.id;
    await createWebhook(alice, project.base);
    const endpoint = await createEndpoint(alice, project.base, { description: 'Wetter für Zürich' });
    await alice.rest('PATCH', `${project.base}/endpoints/${endpoint.id}`, { priceUsd: '0.02' });
    for (const mark of ['a', 'b']) await insertPayment(sql, { projectId, endpointId: newId('Endpoint'), mark });
  });
  afterAll(async () => {
    await sql?.end();
  });

  async function open(path: string): Promise<Page & { complaints: string[] }> {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}${path}`);
    return page;
  }

  async function saved(page: Page, format: 'CSV' | 'JSON Lines') {
    await page.getByRole('button', { name: 'Export' }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: format, exact: true }).click();
    const download = await downloading;
    await page.getByText('Export complete').first().waitFor();
    return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
  }

  test.each([
    ['payments', '/payments', 'id'],
    ['customers', '/customers', 'id'],
    ['revenue', '', 'start (UTC)'],
    ['deliveries', '/deliveries', 'id'],
    ['events', '/events', 'id'],
    ['audit-log', '/audit-log', 'id'],
  ])('the page for %s saves a file that a CSV parser can read', async (what, path, column) => {
    const page = await open(path);
    const { name, text } = await saved(page, 'CSV');
    expect(name).toMatch(new RegExp(`^${what}-\\d{8}T\\d{6}Z\\.csv$`));
    expect(text.startsWith('\uFEFF')).toBe(true);
    const rows = parse<Record<string, string>>(text, { columns: true, bom: true });
    expect(rows.length).toBeGreaterThan(0);
    expect(rows[0]![column]).toBeTruthy();
    expect(page.complaints).toEqual([]);
    await page.close();
  });

  test('an export uses the page’s filters, and JSON Lines are exact', async () => {
    const page = await open('/payments?status=FAILED');
    expect((await saved(page, 'JSON Lines')).text).toBe('');
    await page.close();
    const all = await open('/payments');
    const { name, text } = await saved(all, 'JSON Lines');
    expect(name).toMatch(/^payments-.*\.jsonl$/);
    const { body } = await alice.rest<{ data: object[] }>('GET', `/api/projects/${projectId}/payments`);
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(body.data.toReversed());
    await all.close();
  });

  test('a page filtered by event type exports only those events', async () => {
    const page = await open('/events');
    await page.getByRole('combobox', { name: 'Event types' }).or(page.getByLabel('Event types')).first().click();
    await page.getByRole('option', { name: 'endpoint.pricing_changed' }).click();
    await page.keyboard.press('Escape');
    const { text } = await saved(page, 'JSON Lines');
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).type),
    ).toEqual(['endpoint.pricing_changed']);
    await page.close();
  });

  test('an export that is rejected or cut off says so, and saves nothing', async () => {
    const page = await open('/customers');
    let downloads = 0;
    page.on('download', () => (downloads += 1));
    const path = '**/customers/export?*';
    const problem = { code: 'UNAVAILABLE', detail: 'Too many exports are running.', requestId: 'req_1', errors: [] };
    await page.route(path, (route) => route.fulfill({ status: 503, json: problem }));
    const start = async () => {
      await page.getByRole('button', { name: 'Export' }).click();
      await expectAccessible(page);
      await page.getByRole('menuitem', { name: 'CSV' }).click();
    };
    await start();
    await page.getByText('Export failed').waitFor();
    await page.getByText('Too many exports are running. Try again in a moment.').waitFor();
    await page.unroute(path);
    await page.route(path, (route) => route.abort());
    await start();
    await page.getByText('Can’t reach the server').waitFor();
    await page.getByRole('button', { name: 'Export' }).waitFor();
    expect(downloads).toBe(0);
    await page.close();
  });

  test('an export that is running can be canceled', async () => {
    const page = await open('/customers');
    await page.route('**/customers/export?*', () => {});
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('menuitem', { name: 'CSV' }).click();
    await page.getByRole('button', { name: 'Cancel export' }).click();
    await page.getByRole('button', { name: 'Export', exact: true }).waitFor();
    await page.close();
  });
});
