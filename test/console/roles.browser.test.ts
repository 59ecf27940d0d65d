import { beforeAll, describe, expect, test } from 'vitest';
import type { TestUser } from '../support/app.ts';
import { join, person } from '../support/members.ts';
import { createNotice } from '../support/notices.ts';
import { createPayment } from '../support/payments.ts';
import { createConnector, createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';
import { type ConsolePage, executablePath, expectAccessible, keepToken, openTab, untilComplete } from './browser.ts';
import { useService } from './shared.ts';

/** Every page of a project, with its buttons that change something, and the items in its row menu. */
const PAGES: Readonly<Record<string, { changing?: RegExp[]; menu?: { reading: string[]; changing: string[] } }>> = {
  '': {},
  '/endpoints': {
    changing: [/^Add endpoint$/, /^Import$/],
    menu: { reading: ['Preview as buyer'], changing: ['Edit', 'Disable', 'Delete'] },
  },
  '/notices': { changing: [/^Mark all as read$/, /^Mark as read: /] },
  '/settings': {},
  '/payments': {},
  '/customers': { menu: { reading: [], changing: ['Deny'] } },
  '/deliveries': { changing: [/^Replay deliveries$/, /^Cancel$/] },
  '/webhooks': {
    changing: [/^Add webhook$/],
    menu: {
      reading: ['View deliveries'],
      changing: ['Send test event', 'Replay deliveries', 'Edit', 'Rotate secret', 'Pause', 'Disable', 'Delete'],
    },
  },
  '/connectors': {
    changing: [/^Add connector$/],
    menu: {
      reading: ['View deliveries'],
      changing: ['Test credentials', 'Replay deliveries', 'Edit', 'Pause', 'Disable', 'Delete'],
    },
  },
  '/events': {},
  '/keys': {},
  '/audit-log': {},
  '/limits': {},
  '/members': {},
};

/** Buttons that change nothing in the project. The names of endpoints, webhooks, and connectors open their forms. */
const READING = [
  /^(Actions for|Copy|Open) /,
  /^(Close|Clear filters|Export|Filters|Leave the project|More filters|Pause|Verify signatures)$/,
  /^(\/e1|https:\/\/hooks\.example\.com\/in|Slack)$/,
];

const VIEWER = 'Your role in this project is viewer. This requires the developer role.';

describe.skipIf(!executablePath)('the console of a shared project', () => {
  const app = useService('api');
  let projectId: string;
  let base: string;
  let deliveryId: string;
  const members = {} as Record<'VIEWER' | 'DEVELOPER', TestUser>;

  beforeAll(async () => {
    const alice = await person(app, 'alice', 'BUSINESS');
    ({ id: projectId, base } = await createProject(alice));
    const webhook = await createWebhook(alice, base);
    await createConnector(alice, base);
    const endpoint = await createEndpoint(alice, base, { path: '/e1' });
    await createPayment(app, { projectId, endpointId: endpoint.id, mark: 'e1' });
    const asTool = { 'tollgate-client': 'mcp/update_endpoint' };
    await alice.rest('PATCH', `${base}/endpoints/${endpoint.id}`, { priceUsd: '0.02' }, asTool);
    await createKey(alice, base);
    await createNotice(app, { projectId, subjectId: webhook.id });
    // Nothing is delivered, so the replay keeps running.
    const { body } = await alice.rest<{ id: string }>('POST', `${base}/webhooks/${webhook.id}/test`);
    deliveryId = body.id;
    const replay = await alice.rest('POST', `${base}/replays`, { filter: { status: ['PENDING'] } });
    expect(replay.status, JSON.stringify(replay.body)).toBe(200);
    for (const role of ['VIEWER', 'DEVELOPER'] as const) {
      members[role] = await person(app, role.toLowerCase(), 'BUSINESS');
      await join(alice, base, members[role], role);
    }
  });

  async function tabOf(role: 'VIEWER' | 'DEVELOPER'): Promise<ConsolePage> {
    const page = await openTab();
    await keepToken(page, members[role].token);
    return page;
  }

  async function open(page: ConsolePage, path: string): Promise<void> {
    await page.goto(`${app.url}/console/projects/${projectId}${path}`);
    await page.locator('main h1').first().waitFor();
    await untilComplete(page);
  }

  /** The names of the buttons that can be used, on the page or in a dialog. */
  async function enabledButtons(page: ConsolePage, within = 'main'): Promise<string[]> {
    const names = await page
      .locator(`${within} button:enabled`)
      .evaluateAll((found) => found.map((one) => one.getAttribute('aria-label') ?? one.textContent ?? ''));
    return names.filter((name) => !READING.some((pattern) => pattern.test(name)));
  }

  async function openMenu(page: ConsolePage): Promise<{ enabled: string[]; disabled: string[] }> {
    await page
      .getByRole('button', { name: /^Actions for/ })
      .first()
      .click();
    const items = page.getByRole('menuitem');
    await items.first().waitFor();
    const found = await items.evaluateAll((all) =>
      all.map((one) => ({ text: one.textContent ?? '', isEnabled: one.getAttribute('aria-disabled') !== 'true' })),
    );
    const textOf = (wanted: boolean) => found.filter(({ isEnabled }) => isEnabled === wanted).map(({ text }) => text);
    return { enabled: textOf(true), disabled: textOf(false) };
  }

  test('a viewer can’t use any button or menu item that changes something, and sees why', async () => {
    const page = await tabOf('VIEWER');
    for (const [path, { menu }] of Object.entries(PAGES)) {
      await open(page, path);
      expect({ path, enabled: await enabledButtons(page) }).toEqual({ path, enabled: [] });
      if (!menu) continue;
      const { reading, changing } = menu;
      expect({ path, ...(await openMenu(page)) }).toEqual({
        path,
        enabled: reading,
        disabled: changing.map((label) => label + VIEWER),
      });
      await expectAccessible(page);
    }
    expect(page.complaints).toEqual([]);
  });

  test('a viewer can open an endpoint, a webhook, a connector, and a delivery, but not change them', async () => {
    const page = await tabOf('VIEWER');
    for (const [path, link] of [
      ['/endpoints', '/e1'],
      ['/webhooks', 'https://hooks.example.com/in'],
      ['/connectors', 'Slack'],
    ] as const) {
      await open(page, path);
      await page.getByRole('button', { name: link, exact: true }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(VIEWER).waitFor();
      expect(await dialog.getByRole('button', { name: 'Save changes' }).isDisabled()).toBe(true);
      expect(await dialog.locator('input:enabled, textarea:enabled').count()).toBe(0);
      await expectAccessible(page);
    }
    await open(page, `/deliveries/${deliveryId}`);
    expect(await page.getByRole('button', { name: 'Resend' }).isDisabled()).toBe(true);
    // The URL of the replay dialog, which the destinations' menus link to.
    await open(page, '/deliveries?replay');
    await page.getByRole('dialog').getByText(VIEWER).waitFor();
    expect(await page.getByRole('button', { name: 'Count deliveries' }).isDisabled()).toBe(true);
    expect(page.complaints).toEqual([]);
  });

  test('a developer can use the buttons that change endpoints, destinations, deliveries, and notices', async () => {
    const page = await tabOf('DEVELOPER');
    for (const [path, { changing = [], menu }] of Object.entries(PAGES)) {
      if (changing.length === 0) continue;
      await open(page, path);
      const enabled = await enabledButtons(page);
      for (const name of changing)
        expect({ path, enabled }).toEqual({ path, enabled: expect.arrayContaining([expect.stringMatching(name)]) });
      if (menu) expect((await openMenu(page)).disabled).toEqual([]);
    }
    await open(page, `/deliveries/${deliveryId}`);
    expect(await page.getByRole('button', { name: 'Resend' }).isEnabled()).toBe(true);
    await open(page, '/keys');
    expect(await page.getByRole('button', { name: 'Create API key' }).isDisabled()).toBe(true);
    expect(page.complaints).toEqual([]);
  });

  test('the audit log shows the program that made a change, and old and new values', async () => {
    const page = await tabOf('VIEWER');
    await open(page, '/audit-log');
    const row = page.getByRole('row', { name: /Endpoint updated/ });
    await row.getByText('via mcp/update_endpoint').waitFor();
    await row.getByText('Price (USD): $0.01 → $0.02').waitFor();
    const json = row.getByText('"priceUsd": "0.01"');
    expect(await json.isVisible()).toBe(false);
    await row.getByText('JSON', { exact: true }).click();
    await json.waitFor();
    await expectAccessible(page);
    expect(page.complaints).toEqual([]);
  });
});
