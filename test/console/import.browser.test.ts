import { describe, expect, test } from 'vitest';
import { apiWith, getting } from '../features/imports/documents.ts';
import { startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, type Resource } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('importing endpoints in the console', () => {
  const app = useService('api');

  test('shows what is new, changed, and gone, imports the selected endpoints at their prices, and lists failures', async () => {
    const alice = await app.user('alice');
    const { id, base } = await createProject(alice);
    const upstreamUrl = 'https://api.example.com/changed';
    await createEndpoint(alice, base, { path: '/changed', upstreamUrl, description: 'Old' });
    await createEndpoint(alice, base, { path: '/gone' });
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${id}/endpoints`);

    await page.getByRole('button', { name: 'Import', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Import endpoints' });
    await dialog.getByLabel('OpenAPI document').fill('hello');
    await dialog.getByRole('button', { name: 'Show endpoints' }).click();
    await dialog.getByText('Must be an OpenAPI document in JSON or YAML.').waitFor();
    await expectAccessible(page);

    const document = apiWith({
      '/changed': getting('New text'),
      '/one/{id}': getting('One'),
      '/two': getting('Two'),
      '/three': getting('Three'),
      '/bad/': getting('Bad'),
    });
    await dialog.getByText('File', { exact: true }).click();
    await page.locator('input[type=file]').setInputFiles({
      name: 'openapi.json',
      mimeType: 'application/json',
      buffer: Buffer.from(document),
    });
    await dialog.getByLabel('Default price (USD)').fill('0.05');
    await dialog.getByRole('button', { name: 'Show endpoints' }).click();
    await dialog.getByText('One part can’t be imported').waitFor();
    await dialog.getByText('New text').first().waitFor();
    await dialog.getByText('Not in the document. The import doesn’t change it.').waitFor();
    await expectAccessible(page);

    await dialog.getByLabel('Import /two').uncheck();
    await dialog.getByLabel('Price of /one/:id').fill('0.25');
    await dialog.getByLabel('Price of /three').fill('nothing');
    await dialog.getByRole('button', { name: 'Import 3 endpoints' }).click();
    await dialog.getByText('Imported 2 endpoints.').waitFor();
    await dialog.getByText('1 endpoint failed').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    await page.getByRole('button', { name: '/one/:id', exact: true }).waitFor();

    const { body } = await alice.rest<{ data: Resource[] }>('GET', `${base}/endpoints`);
    expect(body.data.reverse()).toMatchObject([
      { path: '/changed', description: 'New text', priceUsd: '0.01' },
      { path: '/gone' },
      { path: '/one/:id', priceUsd: '0.25', upstreamUrl: 'https://api.example.com/one/:id' },
    ]);
    // A new upstream URL or price of an endpoint that exists has to be typed.
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await dialog.getByLabel('OpenAPI document').fill(apiWith({ '/changed': getting('New text') }));
    await dialog.getByLabel('Upstream URL').fill('https://new.example.com');
    await dialog.getByRole('button', { name: 'Show endpoints' }).click();
    await dialog.getByLabel('Price of /changed').fill('0.75');
    await dialog.getByRole('button', { name: 'Import 1 endpoint' }).click();
    const confirm = page.getByRole('dialog', { name: 'Change existing endpoints' });
    for (const value of ['https://api.example.com/changed', 'https://new.example.com/changed', '$0.01', '$0.75'])
      await confirm.getByText(value, { exact: true }).waitFor();
    await confirm.getByLabel('Type new.example.com to confirm').fill('new.example.com');
    expect(await confirm.getByRole('button', { name: 'Import' }).isDisabled()).toBe(true);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await confirm.waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Import 1 endpoint' }).click();
    await confirm.getByLabel('Type new.example.com to confirm').fill('new.example.com');
    await confirm.getByLabel('Type 0.75 to confirm').fill('0.75');
    await confirm.getByRole('button', { name: 'Import' }).click();
    await dialog.getByText('Imported 1 endpoint.').waitFor();
    const moved = (await alice.rest<{ data: Resource[] }>('GET', `${base}/endpoints?pathPrefix=/changed`)).body.data;
    expect(moved).toMatchObject([{ upstreamUrl: 'https://new.example.com/changed', priceUsd: '0.75' }]);
    expect(page.complaints).toEqual([]);
  });

  test('imports nothing with a different upstream URL than the one that was shown, if the document at the URL has changed', async () => {
    const alice = await app.user('alice');
    const { id, base } = await createProject(alice);
    await createEndpoint(alice, base, { path: '/old', upstreamUrl: 'https://api.example.com/old', description: 'Old' });
    await using server = await startReceiver((_request, _response, index) => ({
      headers: { 'content-type': 'application/json' },
      body: apiWith(
        { '/old': getting('New text') },
        { servers: [{ url: `https://${index === 0 ? 'api' : 'thief'}.example.com` }] },
      ),
    }));
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${id}/endpoints`);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Import endpoints' });
    await dialog.getByText('URL', { exact: true }).click();
    await dialog.getByLabel('Document URL').fill(server.url);
    await dialog.getByRole('button', { name: 'Show endpoints' }).click();
    await dialog.getByRole('button', { name: 'Import 1 endpoint' }).click();
    await dialog.getByText('1 endpoint failed').waitFor();
    await dialog.getByText('The document has changed since the preview').waitFor();
    const { data } = (await alice.rest<{ data: Resource[] }>('GET', `${base}/endpoints`)).body;
    expect(data).toMatchObject([{ upstreamUrl: 'https://api.example.com/old', description: 'Old' }]);
  });

  test('keeps a price that someone else has set since the document was compared', async () => {
    const alice = await app.user('alice');
    const { id, base } = await createProject(alice);
    const { id: endpointId } = await createEndpoint(alice, base, {
      path: '/old',
      upstreamUrl: 'https://api.example.com/old',
    });
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${id}/endpoints`);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Import endpoints' });
    await dialog.getByLabel('OpenAPI document').fill(apiWith({ '/old': getting('New text') }));
    await dialog.getByRole('button', { name: 'Show endpoints' }).click();
    await dialog.getByRole('button', { name: 'Import 1 endpoint' }).waitFor();
    await alice.rest('PATCH', `${base}/endpoints/${endpointId}`, { priceUsd: '5' });
    await dialog.getByRole('button', { name: 'Import 1 endpoint' }).click();
    await dialog.getByText('Imported 1 endpoint.').waitFor();
    const { body } = await alice.rest<Resource>('GET', `${base}/endpoints/${endpointId}`);
    expect(body).toMatchObject({ description: 'New text', priceUsd: '5' });
  });
});
