import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { join, person } from '../support/members.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import { type ConsolePage, closeTabs, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useBrowser } from './shared.ts';

describe.skipIf(!executablePath)('sharing a project in the console', () => {
  useBrowser();
  let app: TestApp;
  let alice: TestUser;
  let bob: TestUser;

  beforeAll(async () => {
    app = await startTestApp({ env: { ROLES: 'api', EGRESS_ALLOW: '' } });
    [alice, bob] = [await person(app, 'alice'), await person(app, 'bob')];
  });
  afterAll(async () => {
    await closeTabs();
    await app?.stop();
  });

  async function openAs(user: TestUser, path: string): Promise<ConsolePage> {
    const page = await openTab();
    await openSignedIn(page, app, user.token, path);
    return page;
  }

  test('the owner invites someone, who accepts, watches the project live, is demoted, and is removed', async () => {
    const { id, base } = await createProject(alice, { name: 'Weather' });
    await createWebhook(alice, base);

    const owner = await openAs(alice, `/console/projects/${id}/members`);
    await owner.getByLabel('Email address').fill('Bob@Example.com');
    await owner.getByRole('button', { name: 'Invite', exact: true }).click();
    await owner.getByRole('region', { name: 'Open invitations' }).getByText('bob@example.com').waitFor();
    await expectAccessible(owner);

    const guest = await openAs(bob, '/console/');
    await guest.getByRole('link', { name: 'You have an invitation to a project' }).click();
    await guest.getByText('alice@example.com invited you with the developer role').waitFor();
    await expectAccessible(guest);
    await guest.getByRole('button', { name: 'Accept the invitation to Weather' }).click();
    await guest.waitForURL(`**/console/projects/${id}`);

    await guest.goto(`${app.url}/console/projects/${id}/deliveries`);
    await guest.getByText('Live', { exact: true }).waitFor();
    await createEndpoint(alice, base);
    await guest.getByRole('row').filter({ hasText: 'endpoint.created' }).first().waitFor();

    await guest.goto(`${app.url}/console/projects/${id}/endpoints`);
    expect(await guest.getByRole('button', { name: 'Add endpoint' }).isEnabled()).toBe(true);
    await owner.reload();
    await owner.getByLabel('Role of bob').selectOption('VIEWER');
    await owner.getByText('bob is now viewer').waitFor();

    await guest.reload();
    await guest.getByRole('button', { name: 'Add endpoint' }).waitFor();
    expect(await guest.getByRole('button', { name: 'Add endpoint' }).isDisabled()).toBe(true);
    await guest.goto(`${app.url}/console/projects/${id}/settings`);
    await guest.getByText('Your role in this project is viewer. This requires the developer role.').first().waitFor();
    expect(await guest.getByLabel('Wallet address').isDisabled()).toBe(true);
    expect(await guest.getByRole('button', { name: 'Delete project' }).isDisabled()).toBe(true);
    expect(await guest.getByLabel('Upstream secret').count()).toBe(0);
    await expectAccessible(guest);

    await owner.getByRole('button', { name: 'Remove bob' }).click();
    await owner.getByRole('button', { name: 'Remove', exact: true }).click();
    await expect.poll(() => owner.getByRole('button', { name: 'Remove bob' }).count()).toBe(0);
    await guest.reload();
    await guest.getByText('Project not found').waitFor();
    await guest.goto(`${app.url}/console/`);
    await guest.getByText('Create your first project').waitFor();
    expect([...owner.complaints, ...guest.complaints]).toEqual([]);
  });

  test('a shared project shows the role in the list, and a member can leave', async () => {
    const { base } = await createProject(alice, { name: 'Shared shop' });
    await join(alice, base, bob, 'ADMIN');
    const page = await openAs(bob, '/console/');
    await page
      .getByRole('row', { name: /Shared shop/ })
      .getByText('Admin')
      .waitFor();
    await page.getByRole('link', { name: 'Shared shop' }).click();
    await page.getByRole('button', { name: /Switch project/ }).click();
    await page.getByText('Shared with you: admin').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('button', { name: 'Leave the project' }).click();
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    await page.waitForURL('**/console/');
    await expect.poll(async () => (await bob.rest('GET', base)).status).toBe(404);
  });

  test('an owner types a project’s name to offer it, and it belongs to the new owner once they accept', async () => {
    const { id, base } = await createProject(alice, { name: 'For Bob' });
    const page = await openAs(alice, `/console/projects/${id}/members`);
    await page.getByLabel('New owner’s email').fill('bob@example.com');
    await page.getByRole('button', { name: 'Offer project' }).click();
    const confirm = page.getByRole('button', { name: 'Offer', exact: true });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel('Type For Bob to confirm').fill('For Bob');
    await expectAccessible(page);
    await confirm.click();
    await page.getByText('Offered to bob@example.com').waitFor();
    await page.getByRole('button', { name: 'Withdraw offer' }).click();
    await page.getByRole('button', { name: 'Offer project' }).waitFor();
    await alice.rest('POST', `${base}/transfer`, { email: 'bob@example.com' });
    const heir = await openAs(bob, '/console/');
    await heir.getByRole('link', { name: 'You’ve been offered a project.' }).click();
    await heir.getByText('alice@example.com offers you ownership of this project').waitFor();
    await expectAccessible(heir);
    await heir.getByRole('button', { name: 'Accept the project For Bob' }).click();
    await heir.waitForURL(`**/console/projects/${id}`);
    expect((await bob.rest('GET', base)).body).toMatchObject({ viewerRole: 'OWNER' });
    // The previous owner's account log keeps an entry, because they can no longer read the project's log.
    await page.goto(`${app.url}/console/projects/${id}/limits`);
    await page.getByRole('table', { name: 'Account activity' }).getByText('Project transferred').waitFor();
    await expectAccessible(page);
    expect([...page.complaints, ...heir.complaints]).toEqual([]);
  });

  test('someone without a verified address learns why there are no invitations', async () => {
    const page = await openAs(await app.user('carol'), '/console/invitations');
    await page.getByText('hasn’t sent this server a verified email address').waitFor();
  });
});
