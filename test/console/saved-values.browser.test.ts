import { describe, expect, test } from 'vitest';
import { createConnector, createEndpoint, createWebhook, type Resource } from '../support/resources.ts';
import { executablePath } from './browser.ts';
import { useDestinationStage } from './destination-stage.ts';

describe.skipIf(!executablePath)('forms that are opened again after a change', () => {
  const stage = useDestinationStage();

  test.each([
    {
      list: 'webhooks',
      query: 'Webhooks',
      open: 'Shown',
      form: 'Edit webhook',
      field: 'Rate limit (requests per second)',
      create: () => createWebhook(stage.alice, stage.base, { name: 'Shown' }),
      valueOf: ({ maxPerSecond }: Resource) => maxPerSecond,
    },
    {
      list: 'connectors',
      query: 'Connectors',
      open: 'Shown',
      form: 'Slack',
      field: 'Rate limit (requests per second)',
      create: () => createConnector(stage.alice, stage.base, { name: 'Shown' }),
      valueOf: ({ maxPerSecond }: Resource) => maxPerSecond,
    },
    {
      list: 'endpoints',
      query: 'Endpoints',
      open: '/shown',
      form: 'Edit endpoint',
      field: 'Price (USD)',
      create: () => createEndpoint(stage.alice, stage.base, { path: '/shown' }),
      valueOf: ({ priceUsd }: Resource) => Number(priceUsd),
    },
  ])('show what was saved, even if the list of $list is slow to reload', async (row) => {
    const page = await stage.open(`/${row.list}`, row.create);
    const edit = () => page.getByRole('button', { name: row.open, exact: true }).click();
    await edit();
    const dialog = page.getByRole('dialog', { name: row.form });
    await dialog.getByLabel(row.field).fill('7');

    let reloads = 0;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes(`query ${row.query}(`)) {
        reloads += 1;
        await released;
      }
      await route.continue();
    });
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await expect.poll(() => reloads).toBeGreaterThan(0);
    const [stored] = (await stage.alice.rest<{ data: Resource[] }>('GET', `${stage.base}/${row.list}`)).body.data;
    expect(row.valueOf(stored!)).toBe(7);
    // The result of the change has been rendered by now.
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    expect(await dialog.isVisible(), 'the form closed before the list was reloaded').toBe(true);

    release();
    await dialog.waitFor({ state: 'detached' });
    await edit();
    expect(Number(await dialog.getByLabel(row.field).inputValue())).toBe(7);
    expect(reloads).toBe(1);
    expect(page.complaints).toEqual([]);
  });
});
