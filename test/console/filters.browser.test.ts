import { readFile } from 'node:fs/promises';
import pg from 'pg';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { TestUser } from '../support/app.ts';
import { insertPayment } from '../support/payments.ts';
import {
  createConnector,
  createEndpoint,
  createKey,
  createProject,
  createWebhook,
  type Resource,
} from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('the filters of the console’s lists', () => {
  const app = useService('api');
  let alice: TestUser;
  let sql: pg.Pool;
  let projectId: string;
  let webhook: Resource;
  let connector: Resource;
  const payments: Record<string, { id: string; payer: string }> = {};

  beforeAll(async () => {
    sql = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
    alice = await app.user('alice', 'ENTERPRISE');
    const { id, base } = await createProject(alice, { name: 'Weather' });
    projectId = id;
    webhook = await createWebhook(alice, base, { url: 'https://one.example.com/hook' });
    await createWebhook(alice, base, { url: 'https://two.example.com/hook' });
    connector = await createConnector(alice, base);
    await alice.rest('PATCH', `${base}/webhooks/${webhook.id}`, { isPaused: true });
    const endpoint = await createEndpoint(alice, base);
    await alice.rest('PATCH', `${base}/endpoints/${endpoint.id}`, { priceUsd: '0.02' });
    for (const [mark, atomic] of [
      ['cheap', 10_000],
      ['dear', 5_000_000],
    ] as const) {
      const { paymentId } = await insertPayment(sql, { projectId, endpointId: newId('Endpoint'), mark });
      const { rows } = await sql.query<{ payer: string }>(
        `UPDATE "Payment" SET "amountAtomic" = $2 WHERE id = $1 RETURNING payer`,
        [paymentId, atomic],
      );
      payments[mark] = { id: paymentId, payer: rows[0]!.payer };
    }
  });
  afterAll(async () => {
    await sql?.end();
  });

  async function open(path: string) {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}${path}`);
    return page;
  }
  const select = async (page: Page, field: string, option: string) => {
    await page.getByRole('combobox', { name: field }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
    await page.keyboard.press('Escape');
  };
  const enter = async (page: Page, field: string, text: string) => {
    await page.getByLabel(field, { exact: true }).fill(text);
    await page.getByLabel(field, { exact: true }).press('Enter');
  };
  /** The list's rows, without its heading. */
  const rows = (page: Page) => page.getByRole('row').filter({ has: page.getByRole('cell') });
  const query = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams);

  async function exported(page: Page): Promise<Record<string, string>[]> {
    await page.getByRole('button', { name: 'Export' }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'JSON Lines', exact: true }).click();
    const text = await readFile(await (await downloading).path(), 'utf8');
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  test('API keys are filtered by when they were created, which stays hidden until it is needed', async () => {
    await createKey(alice, `/api/projects/${projectId}`, { name: 'Backend' });
    const page = await open('/keys');
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(await page.getByLabel('Created before').count()).toBe(0);
    await page.getByRole('button', { name: 'Filters', exact: true }).click();
    await enter(page, 'Created before', '2020-01-01T00:00');
    await page.getByText('No matching API keys').waitFor();
    await expectAccessible(page);
    await page.reload();
    expect(await page.getByLabel('Created before', { exact: true }).inputValue()).toBe('2020-01-01T00:00');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(query(page)).toEqual({});
  });

  test('payments are filtered by status, amount, time, and wallet; the filters are kept on reload, in the drawer, and in an export', async () => {
    const page = await open('/payments');
    await expect.poll(() => rows(page).count()).toBe(2);
    await select(page, 'Status', 'Settled');
    await enter(page, 'At least (USD)', '1');
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.getByText('$5.00').first().waitFor();
    await enter(page, 'Received from', '2026-01-01T00:00');
    await page.getByRole('button', { name: 'More filters' }).click();
    await enter(page, 'Payer', payments.dear!.payer);
    await expect.poll(() => Object.keys(query(page)).sort()).toEqual(['from', 'minAmountUsd', 'payer', 'status']);
    expect(query(page)).toMatchObject({ status: 'SETTLED', minAmountUsd: '1', payer: payments.dear!.payer });
    expect(Date.parse(query(page).from!)).toBe(new Date(2026, 0, 1).getTime());
    await expectAccessible(page);

    await page.reload();
    await page.getByText('$5.00').first().waitFor();
    expect(await page.getByLabel('Received from', { exact: true }).inputValue()).toBe('2026-01-01T00:00');
    // A filter that is set stays visible even while the other rarely used filters are hidden.
    expect(await page.getByLabel('Payer', { exact: true }).inputValue()).toBe(payments.dear!.payer);
    expect(await page.getByLabel('Customer ID').count()).toBe(0);
    expect(await exported(page)).toMatchObject([{ id: payments.dear!.id }]);

    const filters = query(page);
    await page.getByRole('link', { name: `Payment ${payments.dear!.id}, Settled` }).click();
    await page.getByRole('dialog', { name: 'Payment' }).getByText('Protocol').waitFor();
    expect(query(page)).toEqual(filters);
    await page.getByRole('dialog', { name: 'Payment' }).getByRole('button', { name: 'Close' }).click();
    await page.waitForURL(/\/payments\?/);
    expect(query(page)).toEqual(filters);

    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => rows(page).count()).toBe(2);
    expect(query(page)).toEqual({});
    await page.goBack();
    await expect.poll(() => query(page)).toEqual(filters);
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(page.complaints).toEqual([]);
  });

  test('an invalid amount is reported next to its field, and a list without matches says so', async () => {
    const page = await open('/payments');
    const amount = page.getByLabel('At least (USD)', { exact: true });
    await enter(page, 'At least (USD)', 'much');
    await page.getByText('Must be an amount in USD, such as "0.01".').waitFor();
    // The list is loaded again once its live updates have started. Meanwhile, the message is gone for a moment.
    await expect.poll(() => amount.getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByRole('alert').count()).toBe(0);
    await expectAccessible(page);
    await enter(page, 'At least (USD)', '100');
    await page.getByText('No matching payments').waitFor();
    await page.getByText('Nothing matches these filters.').waitFor();
    await expect.poll(() => amount.getAttribute('aria-invalid')).not.toBe('true');
    await expectAccessible(page);
    await enter(page, 'At least (USD)', '');
    await expect.poll(() => rows(page).count()).toBe(2);
  });

  test('deliveries are filtered by event type, destination, and time, and exported with the same filters', async () => {
    const page = await open('/deliveries');
    await expect.poll(() => rows(page).count()).toBeGreaterThan(2);
    await select(page, 'Event types', 'endpoint.pricing_changed');
    await select(page, 'Destination', 'two.example.com/hook');
    await expect.poll(() => rows(page).count()).toBe(1);
    await enter(page, 'Created before', '2026-01-01T00:00');
    await page.getByText('No matching deliveries').waitFor();
    await expectAccessible(page);
    await page.reload();
    await page.getByText('No matching deliveries').waitFor();
    await enter(page, 'Created before', '');
    await expect.poll(() => rows(page).count()).toBe(1);
    const [delivery, ...others] = await exported(page);
    expect(delivery).toMatchObject({ eventType: 'endpoint.pricing_changed' });
    expect(others).toEqual([]);
    expect(page.complaints).toEqual([]);
  });

  test('webhooks are filtered by their state, and customers can be sorted without being filtered', async () => {
    const page = await open('/webhooks');
    await expect.poll(() => rows(page).count()).toBe(2);
    await select(page, 'Delivery', 'Not paused');
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.getByText('two.example.com').waitFor();
    await page.reload();
    await page.getByText('two.example.com').waitFor();
    expect(await page.getByRole('combobox', { name: 'Delivery' }).inputValue()).toBe('Not paused');
    await expectAccessible(page);

    const customers = await open('/customers');
    await select(customers, 'Sort by', 'Total');
    await expect.poll(() => query(customers)).toEqual({ orderBy: 'TOTAL' });
    await expect.poll(() => rows(customers).count()).toBe(2);
    expect(await customers.getByRole('button', { name: 'Clear filters' }).count()).toBe(0);
    await enter(customers, 'Spent at least (USD)', '100');
    await customers.getByText('No matching customers').waitFor();
    await expectAccessible(customers);
    await customers.getByRole('button', { name: 'Clear filters' }).click();
    await expect.poll(() => query(customers)).toEqual({ orderBy: 'TOTAL' });
  });

  test('webhooks and connectors have a URL that opens their form', async () => {
    const page = await open(`/webhooks/${webhook.id}`);
    const form = page.getByRole('dialog', { name: 'Edit webhook' });
    await expect.poll(() => form.getByLabel('URL').inputValue()).toContain('one.example.com');
    await page.keyboard.press('Escape');
    await page.waitForURL('**/webhooks');
    await form.waitFor({ state: 'detached' });
    await page.goto(`${app.url}/console/projects/${projectId}/connectors/${connector.id}`);
    await page.getByRole('dialog').getByRole('button', { name: 'Save changes' }).waitFor();
    await page.goto(`${app.url}/console/projects/${projectId}/webhooks/${newId('Webhook')}`);
    await page.getByText('No such webhook in this project.').waitFor();
    await expectAccessible(page);
  });
});
