import { describe, expect, test } from 'vitest';
import { createConnector, createEndpoint, createWebhook, type Resource } from '../support/resources.ts';
import { executablePath } from './browser.ts';
import { useDestinationStage } from './destination-stage.ts';

const SETTINGS = {
  name: 'Renamed',
  contact: 'help@example.com',
  walletAddress: '0x3333333333333333333333333333333333333333',
};
const WALLET = '0x2222222222222222222222222222222222222222';

describe.skipIf(!executablePath)('a form that is saved after someone else has changed the same', () => {
  const stage = useDestinationStage();

  test.each([
    {
      list: 'endpoints',
      open: '/shown',
      form: 'Edit endpoint',
      field: 'Description',
      create: () => createEndpoint(stage.alice, stage.base, { path: '/shown' }),
      changed: { priceUsd: '5', upstreamUrl: 'https://new.example.com/', methods: ['POST'], tags: ['new'] },
      entered: { description: 'entered' },
    },
    {
      list: 'webhooks',
      open: 'Shown',
      form: 'Edit webhook',
      field: 'Description',
      create: () => createWebhook(stage.alice, stage.base, { name: 'Shown' }),
      changed: {
        url: 'https://new.example.com/',
        eventTypes: ['payment.settled'],
        maxPerSecond: 5,
        ordering: 'PAYMENT',
      },
      entered: { description: 'entered' },
    },
    {
      list: 'connectors',
      open: 'Shown',
      form: 'Slack',
      field: 'Name',
      create: () => createConnector(stage.alice, stage.base, { name: 'Shown' }),
      changed: { eventTypes: ['payment.settled'], maxPerSecond: 5 },
      entered: { name: 'entered' },
    },
  ])('changes only what was entered, in $list', async ({ list, create, ...row }) => {
    const page = await stage.open(`/${list}`, create);
    await page.getByRole('button', { name: row.open, exact: true }).click();
    const dialog = page.getByRole('dialog', { name: row.form });
    await dialog.getByLabel(row.field, { exact: true }).fill('entered');

    const [{ id }] = (await stage.alice.rest<{ data: [Resource] }>('GET', `${stage.base}/${list}`)).body.data;
    const change = await stage.alice.rest('PATCH', `${stage.base}/${list}/${id}`, row.changed);
    expect(change.status, JSON.stringify(change.body)).toBe(200);
    await dialog.getByRole('button', { name: 'Save changes' }).click();
    await dialog.waitFor({ state: 'detached' });

    const { body } = await stage.alice.rest('GET', `${stage.base}/${list}/${id}`);
    expect(body).toMatchObject({ ...row.changed, ...row.entered });
    expect(page.complaints).toEqual([]);
  });

  test('changes only what was entered, in the settings of a project', async () => {
    const page = await stage.open('/settings');
    await page.getByLabel('Description').fill('entered');
    await stage.alice.rest('PATCH', stage.base, SETTINGS);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Changes saved').waitFor();
    const { body } = await stage.alice.rest('GET', stage.base);
    expect(body).toMatchObject({ ...SETTINGS, description: 'entered' });
  });

  test('changes only what was entered, in the contacts', async () => {
    const page = await stage.open('/notices');
    await page.getByLabel('Slack URL').fill('https://hooks.example.com/slack');
    await stage.alice.rest('PATCH', `${stage.base}/contacts`, { emails: ['new@example.com'] });
    await page.getByRole('button', { name: 'Save contacts' }).click();
    await page.getByText('Contacts saved').waitFor();
    const { body } = await stage.alice.rest('GET', `${stage.base}/contacts`);
    expect(body).toMatchObject({ emails: ['new@example.com'], slackUrl: 'https://hooks.example.com/slack' });
  });

  test('doesn’t let a buyer who was denied in the meantime pay again', async () => {
    const page = await stage.open('/settings');
    await page.getByLabel('Requests per wallet').fill('7');
    await stage.alice.rest('POST', `${stage.base}/buyer-rules/deny`, { walletAddress: WALLET });
    await page.getByRole('button', { name: 'Save buyer access' }).click();
    await page.getByText('Changes saved').waitFor();
    const { body } = await stage.alice.rest('GET', `${stage.base}/buyer-rules`);
    expect(body).toMatchObject({ maxRequests: 7, deniedWallets: [WALLET] });
  });
});
