import { describe, expect, test } from 'vitest';
import { createConnector, createWebhook } from '../support/resources.ts';
import { executablePath, expectAccessible } from './browser.ts';
import { useDestinationStage } from './destination-stage.ts';

describe.skipIf(!executablePath)('names, secrets, and limits of destinations in the console', () => {
  const stage = useDestinationStage();

  test('a webhook’s name is entered in the form, and shown in the list, with deliveries, and in the filter', async () => {
    const page = await stage.open('/webhooks');
    await page.getByRole('button', { name: 'Add webhook' }).first().click();
    const form = page.getByRole('dialog', { name: 'New webhook' });
    await form.getByLabel('URL').fill('https://hooks.example.com/in');
    await expect
      .poll(() => form.getByLabel('Name', { exact: true }).getAttribute('placeholder'))
      .toBe('hooks.example.com');
    await form.getByLabel('Name', { exact: true }).fill('Books');
    await expectAccessible(page);
    await form.getByRole('button', { name: 'Create webhook' }).click();
    const secret = page.getByRole('dialog', { name: 'Your signing secret' });
    await secret.getByLabel('I’ve stored it in a safe place').check();
    await secret.getByRole('button', { name: 'Done' }).click();
    await createWebhook(stage.alice, stage.base, { url: `${stage.receiver.url}/other` });

    await page.reload();
    const list = page.getByRole('table', { name: 'Webhooks' });
    await list.getByRole('button', { name: 'Books', exact: true }).waitFor();
    await list.getByText('https://hooks.example.com/in').waitFor();
    await list.getByRole('button', { name: `${stage.receiver.url}/other`, exact: true }).waitFor();
    await page.getByLabel('Name contains').fill('BOO');
    await page.getByLabel('Name contains').press('Enter');
    await list.getByText(`${stage.receiver.url}/other`).waitFor({ state: 'detached' });
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Actions for Books' }).click();
    await page.getByRole('menuitem', { name: 'Send test event' }).click();
    await page.waitForURL('**/deliveries?*');
    await page.getByRole('table').getByText('Books', { exact: true }).first().waitFor();

    await page.goBack();
    await list.getByRole('button', { name: 'Books', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Save changes' }).click();
    const names = async () =>
      (await stage.alice.rest<{ data: { name: string | null }[] }>('GET', `${stage.base}/webhooks`)).body.data;
    await expect.poll(names).toMatchObject([{ name: null }, { name: null }]);
    expect(page.complaints).toEqual([]);
  });

  test('a connector is shown by its name and service, or only by its service if it has no name', async () => {
    const page = await stage.open('/connectors', (base) => createConnector(stage.alice, base));
    const list = page.getByRole('table', { name: 'Connectors' });
    await list.getByRole('button', { name: 'Slack', exact: true }).click();
    expect(await page.getByLabel('Name', { exact: true }).getAttribute('placeholder')).toBe('Slack');
    await page.getByLabel('Name', { exact: true }).fill('Sales channel');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await list.getByRole('button', { name: 'Sales channel', exact: true }).waitFor();
    await list.getByText(/^Slack · con_/).waitFor();
    await page.getByRole('button', { name: 'Actions for Sales channel' }).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('the rotation dialog and the list say when the old secret stops working', async () => {
    const page = await stage.open('/webhooks', (base) => createWebhook(stage.alice, base, { name: 'Books' }));
    const openDialog = async () => {
      await page.getByRole('button', { name: 'Actions for Books' }).click();
      await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
    };
    await openDialog();
    const dialog = page.getByRole('dialog', { name: 'Rotate signing secret' });
    await dialog.getByText(/^The current secret works until .+\.$/).waitFor();
    expect(await dialog.getByText('The secret was rotated recently.').count()).toBe(0);
    await dialog.getByLabel('Overlap (hours)').fill('0');
    await dialog.getByText('The current secret stops working immediately.').waitFor();
    await dialog.getByLabel('Overlap (hours)').fill('48');
    await expectAccessible(page);

    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('RotateWebhookSecret')) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    await dialog.getByText(/^The secret may have been rotated anyway\./).waitFor();
    await page.unroute('**/graphql');
    await page.reload();
    await openDialog();
    await dialog.getByText(/If you rotate again, it stops working immediately\.$/).waitFor();

    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    const secret = page.getByRole('dialog', { name: 'Your signing secret' });
    await secret.getByLabel('I’ve stored it in a safe place').check();
    await secret.getByRole('button', { name: 'Done' }).click();
    await page.getByText(/^The previous secret works until .+\.$/).waitFor();
    await openDialog();
    await dialog.getByText(/If you rotate again, it stops working immediately\.$/).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('at the connector limit, the button is disabled, says why, and links to the limits page', async () => {
    const page = await stage.open('/connectors', async (base) => {
      const create = async () => (await stage.alice.rest('POST', `${base}/connectors`, SLACK)).status;
      while ((await create()) === 201);
    });
    const add = page.getByRole('button', { name: 'Add connector' }).first();
    await page.getByText('Your tier doesn’t allow another connector.').first().waitFor();
    expect(await add.isDisabled()).toBe(true);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'See the limits' }).first().click();
    await page.getByRole('heading', { name: 'Limits & usage' }).waitFor();
    expect(page.complaints).toEqual([]);
  });
});

const SLACK = {
  type: 'slack',
  config: { webhookUrl: 'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx' },
  eventTypes: ['*'],
};
