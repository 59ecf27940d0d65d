import { describe, expect, test } from 'vitest';
import { createProject, WALLET } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab, signIn } from './browser.ts';
import { layoutFaults } from './layout.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('projects and sessions in the console', () => {
  const app = useService('api');

  test('a user signs in, fixes an invalid project form, and opens the new project', async () => {
    const page = await openTab();
    await page.goto(`${app.url}/`);
    expect(page.url()).toBe(`${app.url}/console/`);
    await expectAccessible(page);
    await signIn(page, app, 'anna');
    await page.getByText('Create your first project').waitFor();
    await expectAccessible(page);

    await page.getByRole('button', { name: 'Add project' }).first().click();
    await page.getByLabel('Name').fill('Weather');
    await page.getByLabel('Wallet address').fill('0x12');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.getByText('Must be an EVM address').waitFor();
    await expectAccessible(page);

    await page.getByLabel('Wallet address').fill(WALLET);
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL('**/console/projects/proj_*');
    await page.getByRole('button', { name: 'Switch project, current: Weather' }).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('on a phone, the development sign-in shows the limits of the chosen tier in full', async () => {
    const page = await openTab();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${app.url}/console/`);
    await page.getByText('300 requests per minute, 5 connectors', { exact: true }).waitFor();
    await page.getByLabel('Tier').selectOption('Business');
    const limits = page.getByText('1,000 requests per minute, 15 connectors', { exact: true });
    await limits.waitFor();
    expect(await limits.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    expect(await layoutFaults(page)).toEqual([]);
    await page.close();
  });

  test('a second user who signs in to the same tab doesn’t see the first user’s project', async () => {
    const page = await openTab();
    await signIn(page, app, 'bert');
    await page.getByRole('button', { name: 'Add project' }).first().click();
    await page.getByLabel('Name').fill('Bert’s project');
    await page.getByLabel('Wallet address').fill(WALLET);
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL('**/console/projects/proj_*');
    const place = page.url();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Name').fill('carla');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Project not found').waitFor();
    expect(page.url()).toBe(place);
    await page.getByRole('link', { name: 'All projects', exact: true }).click();
    await page.getByText('Create your first project').waitFor();
  });

  test('the page of a project that can’t be seen says who is signed in and what to do', async () => {
    const page = await openTab();
    await signIn(page, app, 'erik', '/console/projects/proj_00000000000000000000000000/payments');
    await page.getByText('You’re signed in as erik.').waitFor();
    expect(await page.getByRole('navigation', { name: 'Project' }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Your invitations' }).click();
    await page.waitForURL('**/console/invitations');
    await page.goBack();
    await page.getByRole('button', { name: 'Use another account' }).click();
    await page.getByLabel('Name').waitFor();
  });

  test('without a connection, the console says so, and continues once the server responds', async () => {
    const page = await openTab({});
    const user = await app.user('frida');
    const { id } = await createProject(user, { name: 'Far away' });
    await page.route('**/graphql', (route) => route.abort());
    await openSignedIn(page, app, user.token, `/console/projects/${id}/settings`);
    await page.getByText('The server isn’t responding.').waitFor();
    await expectAccessible(page);
    await page.unroute('**/graphql');
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    await page.context().setOffline(true);
    await page.getByText('You’re offline').waitFor();
    await expectAccessible(page);
    await page.context().setOffline(false);
    await page.getByText('You’re offline').waitFor({ state: 'detached' });
    await page.context().close();
  });

  test('an expired credential leads to sign-in and back to the same page', async () => {
    const page = await openTab();
    const token = await app.issuer.sign({ subject: 'dora', tier: 'PRO' });
    const path = '/console/projects/proj_00000000000000000000000000/deliveries';
    await openSignedIn(page, app, `${token}x`, path);
    await page.getByText('Your session has ended').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Project not found').waitFor();
    expect(page.url()).toBe(app.url + path);
  });

  test('the theme follows the system until the user chooses one, which is remembered', async () => {
    const page = await openTab({ colorScheme: 'dark' });
    await signIn(page, app, 'emil');
    const scheme = () => page.locator('html').getAttribute('data-mantine-color-scheme');
    expect(await scheme()).toBe('dark');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Theme: System' }).click();
    await page.getByRole('menuitem', { name: 'Light' }).click();
    expect(await scheme()).toBe('light');
    await page.reload();
    expect(await scheme()).toBe('light');
  });

  test('the form for a new project can be reached with only the keyboard', async () => {
    const page = await openTab();
    await signIn(page, app, 'fritz');
    await page.reload();
    await page.getByText('Create your first project').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    // The link to the page's help comes first.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'New project' });
    await dialog.waitFor();
    await page.keyboard.type('Keys only');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Keys only');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
  });
});
