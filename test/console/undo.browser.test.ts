import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { join, person } from '../support/members.ts';
import { createConnector, createEndpoint, createProject, createWebhook } from '../support/resources.ts';
import { type ConsolePage, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

type Item = { id: string; isActive: boolean; isPaused: boolean; role: string; email: string };

describe.skipIf(!executablePath)('messages in the console after a change', () => {
  const app = useService('api');
  let alice: Awaited<ReturnType<typeof person>>;
  let base: string;
  let projectId: string;

  beforeAll(async () => {
    alice = await person(app, 'alice');
  });
  beforeEach(async () => {
    ({ base, id: projectId } = await createProject(alice));
  });

  const open = async (path: string): Promise<ConsolePage> => {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}/${path}`);
    return page;
  };
  const act = async (page: ConsolePage, action: string) => {
    await page.getByRole('button', { name: /^Actions for/ }).click();
    await page.getByRole('menuitem', { name: action, exact: true }).click();
  };
  const read = async (path: string) => (await alice.rest<Item>('GET', `${base}/${path}`)).body;
  const undoCount = (page: ConsolePage) => page.getByRole('button', { name: 'Undo' }).count();

  test.each([
    ['Webhook', () => createWebhook(alice, base)],
    ['Connector', () => createConnector(alice, base)],
  ] as const)(
    'pausing and enabling a %s can be undone, but not changes that would lose or resend deliveries',
    async (name, create) => {
      const { id } = await create();
      const list = `${name.toLowerCase()}s`;
      const page = await open(list);
      await act(page, 'Pause');
      await page.getByText(`${name} paused. Its deliveries are held.`).waitFor();
      // The message stays while the pointer is over it.
      await page.getByRole('button', { name: 'Undo' }).hover();
      await expectAccessible(page);
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText(`${name} resumed`, { exact: true }).waitFor();
      expect(await read(`${list}/${id}`)).toMatchObject({ isPaused: false });

      await act(page, 'Disable');
      await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
      await page.getByText(`${name} disabled`, { exact: true }).waitFor();
      expect(await undoCount(page)).toBe(0);
      await act(page, 'Enable');
      await page.getByText(`${name} enabled. New events are sent.`).waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText(`${name} disabled again`).waitFor();
      expect(await read(`${list}/${id}`)).toMatchObject({ isActive: false });

      await alice.rest('PATCH', `${base}/${list}/${id}`, { isPaused: true });
      await page.reload();
      await act(page, 'Resume');
      await page.getByText(`${name} resumed, but it’s still disabled, so its events are skipped.`).waitFor();
      expect(await undoCount(page)).toBe(0);
      expect(page.complaints).toEqual([]);
    },
  );

  test('the message about a test event for a paused webhook says that it is sent anyway', async () => {
    const { id } = await createWebhook(alice, base);
    await alice.rest('PATCH', `${base}/webhooks/${id}`, { isPaused: true });
    const page = await open('webhooks');
    await act(page, 'Send test event');
    await page.getByText('Test event queued. It will be sent even though deliveries are paused.').waitFor();
  });

  test('disabling an endpoint can be undone, and an undo that fails says why', async () => {
    const { id } = await createEndpoint(alice, base, { path: '/weather' });
    const page = await open('endpoints');
    await act(page, 'Disable');
    await page.getByText('Endpoint disabled').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Endpoint enabled again').waitFor();
    expect(await read(`endpoints/${id}`)).toMatchObject({ isActive: true });

    await act(page, 'Disable');
    await page.getByText('Endpoint disabled').waitFor();
    await alice.rest('DELETE', `${base}/endpoints/${id}`);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undo failed').waitFor();
    expect(await page.getByText('Endpoint enabled again').count()).toBeLessThan(2);
  });

  test('someone can be invited again after their invitation was revoked, and a role change can be undone', async () => {
    const bob = await person(app, 'bob');
    await join(alice, base, bob, 'VIEWER');
    const page = await open('members');
    await page.getByLabel('Email address').fill('carol@example.com');
    await page.getByLabel('Role', { exact: true }).selectOption('VIEWER');
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    await page.getByText('carol@example.com has been invited', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Revoke the invitation for carol@example.com' }).click();
    const invited = async () => (await alice.rest<{ data: Item[] }>('GET', `${base}/invitations`)).body.data;
    await expect.poll(invited).toEqual([]);
    await page.getByRole('button', { name: 'Invite again' }).click();
    await page.getByText('carol@example.com has been invited again').waitFor();
    expect(await invited()).toMatchObject([{ email: 'carol@example.com', role: 'VIEWER' }]);
    await page.getByRole('button', { name: 'Revoke the invitation for carol@example.com' }).waitFor();

    const roleOfBob = async () => (await alice.rest<{ data: Item[] }>('GET', `${base}/members`)).body.data[0]!.role;
    await page.getByLabel(`Role of ${bob.subject}`).selectOption('ADMIN');
    await page.getByText(`${bob.subject} is now admin`).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText(`${bob.subject} is viewer again`).waitFor();
    expect(await roleOfBob()).toBe('VIEWER');
    expect(page.complaints).toEqual([]);
  });
});
