import { beforeAll, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { createProject, type Resource } from '../support/resources.ts';
import { type ConsolePage, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('the upstream headers in the console', () => {
  const app = useService('api');
  let alice: TestUser;
  let base: string;

  beforeAll(async () => {
    alice = await app.user('alice');
  });

  async function open(page: string) {
    const project = await createProject(alice);
    base = project.base;
    const tab = await openTab();
    await openSignedIn(tab, app, alice.token, `/console/projects/${project.id}/${page}`);
    return tab;
  }

  const endpoint = async () =>
    (await alice.rest<{ data: Resource[] }>('GET', `${base}/endpoints`)).body.data[0] as Resource;
  const press = (page: ConsolePage, name: string) => page.getByRole('button', { name, exact: true }).click();
  const shownIn = (page: ConsolePage, label: string) => page.getByLabel(label, { exact: true }).inputValue();

  test('can be added to an endpoint from presets, are masked afterward, and are needed again for a new URL', async () => {
    const page = await open('endpoints');
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    await page.getByRole('dialog').getByLabel('Path').fill('/weather');
    await page.getByLabel('Upstream URL').fill('https://api.example.com/weather');
    await press(page, 'Bearer token');
    expect(await shownIn(page, 'Header 1 name')).toBe('Authorization');
    await page.getByLabel('Header 1 value').fill('Bearer token-0123456789');
    await press(page, 'API key');
    expect(await shownIn(page, 'Header 2 name')).toBe('X-Api-Key');
    await page.getByLabel('Header 2 value').fill('the-key-of-mine');
    await press(page, 'Add header');
    await page.getByLabel('Header 3 name').fill('Host');
    await page.getByLabel('Header 3 value').fill('elsewhere');
    await press(page, 'Create endpoint');
    await expect.poll(() => page.getByLabel('Header 3 name').getAttribute('aria-invalid')).toBe('true');
    await page.getByText('Can’t be set. The gateway sets it so that your API can trust it.').waitFor();
    await expectAccessible(page);
    await press(page, 'Remove header 3');
    await press(page, 'Create endpoint');
    await page.getByRole('dialog', { name: 'Buyer preview' }).waitFor();
    await page.keyboard.press('Escape');
    const upstreamHeaders = [
      { name: 'Authorization', value: '••••6789' },
      { name: 'X-Api-Key', value: '••••mine' },
    ];
    expect(await endpoint()).toMatchObject({ upstreamHeaders });

    // Saving the masks keeps the values.
    await press(page, '/weather');
    await expect.poll(() => shownIn(page, 'Header 2 value')).toBe('••••mine');
    await page.getByLabel('Description').fill('Mine');
    await press(page, 'Save changes');
    await expect.poll(endpoint).toMatchObject({ description: 'Mine', upstreamHeaders });
    expect(await page.content()).not.toMatch(/token-0123456789|the-key-of-mine/);

    await press(page, '/weather');
    await page.getByLabel('Upstream URL').fill('https://api.example.com/v2/weather');
    const title = 'Enter these again so they can be sent to the new address: Authorization, X-Api-Key.';
    await page.getByText(title).waitFor();
    await press(page, 'Save changes');
    await expect.poll(() => page.getByLabel('Header 1 value').getAttribute('aria-invalid')).toBe('true');
    await expectAccessible(page);
    await page.getByLabel('Header 1 value').fill('Bearer token-9876543210');
    await press(page, 'Remove header 2');
    await press(page, 'Save changes');
    const dialog = page.getByRole('dialog', { name: 'Change upstream URL' });
    await dialog.getByText('https://api.example.com/weather', { exact: true }).waitFor();
    expect(await dialog.getByRole('button', { name: 'Change' }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('https://api.example.com/v2/weather');
    await expectAccessible(page);
    expect(await endpoint()).toMatchObject({ upstreamUrl: 'https://api.example.com/weather' });
    await dialog.getByRole('button', { name: 'Change' }).click();
    await expect.poll(endpoint).toMatchObject({
      upstreamUrl: 'https://api.example.com/v2/weather',
      upstreamHeaders: [{ name: 'Authorization', value: '••••3210' }],
    });
    expect(page.complaints).toEqual([]);
  });

  test('can be a user name and password, which are stored encoded', async () => {
    const page = await open('settings');
    await press(page, 'Basic');
    expect(await shownIn(page, 'Header 1 name')).toBe('Authorization');
    expect(await shownIn(page, 'Header 1 value')).toBe('Basic ');
    await page.getByLabel('Header 1 value').fill('Basic seller:correct horse');
    await page.getByLabel('Header 1 URL').fill('https://api.example.com');
    await press(page, 'Save headers');
    const mask = `••••${btoa('seller:correct horse').slice(-4)}`;
    await expect.poll(() => shownIn(page, 'Header 1 value')).toBe(mask);
    await openSignedIn(page, app, alice.token, `/console/projects/${base.split('/').at(-1)}/endpoints`);
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    await page.getByRole('dialog').getByLabel('Path').fill('/weather');
    await page.getByLabel('Upstream URL').fill('https://api.example.com/weather');
    await press(page, 'Basic');
    await page.getByLabel('Header 1 value').fill('Basic seller:correct horse');
    await press(page, 'Create endpoint');
    await expect.poll(endpoint).toMatchObject({ upstreamHeaders: [{ name: 'Authorization', value: mask }] });
    expect(page.complaints).toEqual([]);
  });

  test('can be added to a project with the URL that gets them, and are masked afterward', async () => {
    const page = await open('settings');
    await press(page, 'API key');
    await page.getByLabel('Header 1 value').fill('the-key-of-mine');
    await page.getByLabel('Header 1 URL').fill('api.example.com');
    await press(page, 'Save headers');
    await expect.poll(() => page.getByLabel('Header 1 URL').getAttribute('aria-invalid')).toBe('true');
    await expectAccessible(page);
    await page.getByLabel('Header 1 URL').fill('https://api.example.com/v1/');
    await press(page, 'Save headers');
    await expect.poll(() => shownIn(page, 'Header 1 value')).toBe('••••mine');
    expect(await shownIn(page, 'Header 1 URL')).toBe('https://api.example.com/v1');
    const { body } = await alice.rest<Resource>('GET', base);
    expect(body.upstreamHeaders).toEqual([
      { name: 'X-Api-Key', value: '••••mine', urlPrefix: 'https://api.example.com/v1' },
    ]);
    await page.getByLabel('Header 1 URL').fill('https://api.example.com/v2');
    await press(page, 'Save headers');
    await page.getByText('This is a masked secret. Send the full secret.').waitFor();
    expect(page.complaints).toEqual([]);
  });
});
