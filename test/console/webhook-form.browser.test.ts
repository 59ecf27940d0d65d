import { describe, expect, test } from 'vitest';
import { AUTHORITY, CLIENT_CERTIFICATE, CLIENT_KEY } from '../egress/authority.ts';
import { createWebhook, type Resource } from '../support/resources.ts';
import { type ConsolePage, executablePath, expectAccessible } from './browser.ts';
import { useDestinationStage } from './destination-stage.ts';

describe.skipIf(!executablePath)('the webhook form of the console', () => {
  const stage = useDestinationStage();
  const openWith = (fields: Record<string, unknown>) =>
    stage.open('/webhooks', (base) => createWebhook(stage.alice, base, fields));

  async function choose(page: ConsolePage, label: string, option: RegExp) {
    await page.getByRole('combobox', { name: label }).click();
    await page.getByRole('option', { name: option }).click();
  }

  const webhook = async () =>
    (await stage.alice.rest<{ data: Resource[] }>('GET', `${stage.base}/webhooks`)).body.data[0] as Resource;

  test('sets headers, authentication, timeout, and retry schedule, and never shows a secret again', async () => {
    const page = await stage.open('/webhooks');
    await page.getByRole('button', { name: 'Add webhook' }).first().click();
    await page.getByLabel('URL').fill(`${stage.receiver.url}/hook`);
    await choose(page, 'Authentication', /^User name/);
    await page.getByLabel('User name').fill('tollgate');
    await page.getByLabel('Password').fill('correct horse battery');
    for (const [index, [name, value]] of [
      ['Host', 'a value'],
      ['X-Stage', 'test'],
      ['X-Key', 'the-key-of-mine'],
    ].entries()) {
      await page.getByRole('button', { name: 'Add header' }).click();
      await page.getByLabel(`Header ${index + 1} name`).fill(name!);
      await page.getByLabel(`Header ${index + 1} value`).fill(value!);
    }
    await choose(page, 'Retry schedule', /^Short/);
    await page.getByLabel('Timeout (seconds)').fill('20');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await expect.poll(() => page.getByLabel('Header 1 name').getAttribute('aria-invalid')).toBe('true');
    await page.getByText('Can’t be set. Tollgate sets it.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Remove header 1' }).click();
    expect(await page.getByLabel('Header 1 name').inputValue()).toBe('X-Stage');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your signing secret' });
    await dialog.getByLabel('I’ve stored it in a safe place').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    const headers = [
      { name: 'X-Stage', value: '••••' },
      { name: 'X-Key', value: '••••mine' },
    ];
    const authentication = { type: 'BASIC', username: 'tollgate', password: '••••tery' };
    expect(await webhook()).toMatchObject({ headers, authentication, timeoutSeconds: 20, retrySchedule: 'SHORT' });

    // Saving the masks keeps the secrets.
    await page.getByRole('button', { name: `${stage.receiver.url}/hook`, exact: true }).click();
    await expect.poll(() => page.getByLabel('Password').inputValue()).toBe('••••tery');
    expect(await page.getByLabel('Header 2 value').inputValue()).toBe('••••mine');
    await page.getByLabel('User name').fill('tollgate-2');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await expect
      .poll(webhook)
      .toMatchObject({ headers, authentication: { ...authentication, username: 'tollgate-2' } });
    expect(await page.content()).not.toMatch(/correct horse battery|the-key-of-mine/);

    await page.getByRole('button', { name: `Actions for ${stage.receiver.url}/hook` }).click();
    await page.getByRole('menuitem', { name: 'Send test event' }).click();
    await expect.poll(() => stage.receiver.requests.length).toBe(1);
    expect(stage.receiver.requests[0]!.headers).toMatchObject({
      'x-stage': 'test',
      'x-key': 'the-key-of-mine',
      authorization: `Basic ${btoa('tollgate-2:correct horse battery')}`,
    });
    expect(page.complaints).toEqual([]);
  });

  test('sets certificates, never shows the private key again, and removes them', async () => {
    const page = await openWith({ url: `${stage.receiver.url}/in` });
    const edit = () => page.getByRole('button', { name: `${stage.receiver.url}/in`, exact: true }).click();
    const save = async () => {
      await page.getByRole('button', { name: 'Save changes' }).click();
      await page.getByRole('dialog', { name: 'Edit webhook' }).waitFor({ state: 'detached' });
    };
    await edit();
    await page.getByLabel('Certificate authority').fill(AUTHORITY);
    await page.getByLabel('Client certificate').fill(CLIENT_CERTIFICATE);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Send the private key of the certificate, in PEM format.').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Private key').fill(CLIENT_KEY);
    await save();
    const clientCertificate = { certificate: CLIENT_CERTIFICATE, privateKey: '••••' };
    expect(await webhook()).toMatchObject({ certificateAuthority: AUTHORITY, clientCertificate });

    await edit();
    expect(await page.getByLabel('Private key').inputValue()).toBe('••••');
    await page.getByLabel('URL').fill(`${stage.receiver.url}/moved`);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await expect.poll(() => page.getByLabel('Private key').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('URL').fill(`${stage.receiver.url}/in`);
    await page.getByLabel('Certificate authority').fill('');
    await page.getByLabel('Client certificate').fill('');
    await save();
    expect(await webhook()).toMatchObject({ certificateAuthority: null, clientCertificate: null });
    expect(page.complaints).toEqual([]);
  });

  test('asks for the secrets again when the URL changes', async () => {
    const url = `${stage.receiver.url}/before`;
    const page = await openWith({
      url,
      headers: [{ name: 'X-Key', value: 'the-key-of-mine' }],
      authentication: { type: 'BEARER', token: 'token-0123456789' },
    });
    await page.getByRole('button', { name: url, exact: true }).click();
    await page.getByLabel('URL').fill(`${stage.receiver.url}/after`);
    await page.getByText('Enter these again so they can be sent to the new address: X-Key, Token.').waitFor();
    await page.getByRole('button', { name: 'Save changes' }).click();
    for (const label of ['Header 1 value', 'Token']) {
      await expect.poll(() => page.getByRole('textbox', { name: label }).getAttribute('aria-invalid')).toBe('true');
    }
    await expectAccessible(page);
    await page.getByLabel('Header 1 value').fill('another-key-of-mine');
    await page.getByRole('textbox', { name: 'Token' }).fill('token-another');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await expect.poll(webhook).toMatchObject({
      url: `${stage.receiver.url}/after`,
      headers: [{ name: 'X-Key', value: '••••mine' }],
      authentication: { type: 'BEARER', token: '••••ther' },
    });
    expect(page.complaints).toEqual([]);
  });

  test('changes the type of authentication, and removes headers and authentication', async () => {
    const url = `${stage.receiver.url}/changed`;
    const page = await openWith({
      url,
      headers: [{ name: 'X-Key', value: 'the-key-of-mine' }],
      authentication: { type: 'BEARER', token: 'token-0123456789' },
    });
    const edit = async () => page.getByRole('button', { name: url, exact: true }).click();
    const save = async () => {
      await page.getByRole('button', { name: 'Save changes' }).click();
      await page.getByRole('dialog', { name: 'Edit webhook' }).waitFor({ state: 'detached' });
    };
    await edit();
    await choose(page, 'Authentication', /^OAuth/);
    await page.getByLabel('Token URL').fill('https://login.example.com/token');
    await page.getByLabel('Client ID').fill('client-1');
    await page.getByLabel('Client secret').fill('secret-0123456789');
    await expectAccessible(page);
    await save();
    expect(await webhook()).toMatchObject({
      headers: [{ name: 'X-Key', value: '••••mine' }],
      authentication: {
        type: 'OAUTH2_CLIENT_CREDENTIALS',
        tokenUrl: 'https://login.example.com/token',
        clientId: 'client-1',
        clientSecret: '••••6789',
        scope: null,
        token: null,
      },
    });
    await edit();
    await choose(page, 'Authentication', /^Signature only/);
    await page.getByRole('button', { name: 'Remove header 1' }).click();
    await save();
    expect(await webhook()).toMatchObject({ headers: [], authentication: null });
    expect(page.complaints).toEqual([]);
  });
});
