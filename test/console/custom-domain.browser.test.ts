import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type HostStage, openHostStage } from '../features/projects/hosts/stage.ts';
import { createProject } from '../support/resources.ts';
import { closeTabs, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useBrowser } from './shared.ts';

describe.skipIf(!executablePath)('the settings page of the console', () => {
  useBrowser();
  let stage: HostStage;

  beforeAll(async () => {
    stage = await openHostStage({ GATEWAY_DOMAIN: 'pay.test' });
  });
  afterAll(async () => {
    await closeTabs();
    await stage?.close();
  });

  test('shows the record that proves ownership of a custom domain, why a check failed, and that the domain is active', async () => {
    const alice = await stage.app.user('alice');
    const host = stage.nextHost();
    const { id, base } = await createProject(alice, { name: 'Weather', gatewayHost: host });
    const page = await openTab();
    await openSignedIn(page, stage.app, alice.token, `/console/projects/${id}/settings`);
    const card = page.getByRole('region', { name: 'Custom domain' });
    await card.getByText('Not verified yet').waitFor();
    const status = await stage.status(alice, base);
    await card.getByText(status.dnsRecord.value, { exact: true }).waitFor();
    await card.getByText(status.httpChallenge.url, { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Copy record value' }).waitFor();
    await expectAccessible(page);
    await card.getByRole('button', { name: 'Check now' }).click();
    await card.getByText(`There is no TXT record at _tollgate.${host}.`).waitFor();
    stage.publish(status);
    await card.getByRole('button', { name: 'Check now' }).click();
    await card.getByText('Active', { exact: true }).waitFor();
    await expectAccessible(page);
    expect(page.complaints).toEqual([]);
  });

  test('changes a project’s name in its default domain', async () => {
    const alice = await stage.app.user('alice');
    const { id, base } = await createProject(alice, { name: 'Kiosk' });
    const page = await openTab();
    await openSignedIn(page, stage.app, alice.token, `/console/projects/${id}/settings`);
    await page.getByText('Buyers can always use kiosk.pay.test').waitFor();
    expect(await page.getByRole('region', { name: 'Custom domain' }).count()).toBe(0);
    const rename = async (slug: string) => {
      await page.getByLabel('Default domain name').fill(slug);
      await page.getByRole('button', { name: 'Save changes' }).click();
      const dialog = page.getByRole('dialog', { name: 'Change default domain name' });
      await dialog.getByRole('textbox').fill(slug);
      await dialog.getByRole('button', { name: 'Change' }).click();
    };
    await rename('admin');
    await page.getByText('This name is reserved for the service. Choose another one.').first().waitFor();
    await rename('news-stand');
    await page.getByText('Buyers can always use news-stand.pay.test').waitFor();
    expect((await alice.rest<{ slug: string }>('GET', base)).body.slug).toBe('news-stand');
  });
});
