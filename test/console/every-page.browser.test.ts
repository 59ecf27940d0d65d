import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plantBusiness } from '../../scripts/screenshot-business.ts';
import type { TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createProject } from '../support/resources.ts';
import {
  type ConsolePage,
  executablePath,
  expectAccessible,
  expectAccessibleInBothSchemes,
  keepToken,
  OVERLAY,
  openSignedIn,
  openTab,
  untilComplete,
} from './browser.ts';
import { layoutFaults, movedShare, watchMoves } from './layout.ts';
import { useService } from './shared.ts';

/** A phone, a small laptop, and a large screen. */
const WIDTHS = [390, 1024, 1440];
const SIZE = { width: 1360, height: 860 };
/** `AXE_WIDTHS=all` runs axe at every width, which takes about twice as long. */
const AXE_WIDTHS = process.env.AXE_WIDTHS === 'all' ? WIDTHS : [];

/** Every page in the navigation, with text that it shows in a full project and text that it shows in an empty one. */
const PAGES: Readonly<Record<string, { path: string; full: string; empty: string }>> = {
  Overview: { path: '', full: 'Top customers', empty: 'Next steps' },
  Endpoints: { path: '/endpoints', full: '/weather/:city', empty: 'Create your first paid endpoint' },
  Members: { path: '/members', full: 'Invite someone', empty: 'Invite someone' },
  Notices: { path: '/notices', full: 'Save contacts', empty: 'No notices' },
  Settings: { path: '/settings', full: 'Delete project', empty: 'Delete project' },
  Payments: { path: '/payments', full: '/forecast/*', empty: 'No payments yet' },
  Customers: { path: '/customers', full: 'Total spend', empty: 'No customers yet' },
  Deliveries: { path: '/deliveries', full: 'customer.first_payment', empty: 'No deliveries yet' },
  Webhooks: { path: '/webhooks', full: '/warehouse', empty: 'Add your first webhook' },
  Connectors: { path: '/connectors', full: 'Paused', empty: 'Add your first connector' },
  Events: { path: '/events', full: 'payment.verified', empty: 'No events yet' },
  Replays: { path: '/replays', full: 'No replays yet', empty: 'No replays yet' },
  'API keys': { path: '/keys', full: 'Backend', empty: 'Create your first API key' },
  'Audit log': { path: '/audit-log', full: 'Connector created', empty: 'Project created' },
  'Limits & usage': { path: '/limits', full: 'Business (yours)', empty: 'Business (yours)' },
  'REST reference': {
    path: '/rest',
    full: 'Get started',
    empty: 'Get started',
  },
  'GraphQL explorer': { path: '/graphql', full: 'connectorTypes', empty: 'connectorTypes' },
};

/** Everything that opens over a page: where it is, and what to click or press in order to see it. */
const OVERLAYS: Readonly<Record<string, { path: string; open: Step[] }>> = {
  'the palette': { path: '', open: [{ press: 'Control+k' }, { see: 'Show keyboard shortcuts' }] },
  'the palette’s results': {
    path: '',
    open: [{ press: 'Control+k' }, { see: /^Type to find/ }, { type: 'weather' }, { see: /results$/ }],
  },
  'the keyboard shortcuts': { path: '', open: [{ press: '?' }] },
  'the projects': { path: '', open: [{ button: 'Navigation' }, { button: /Switch project/ }, { see: 'Staging' }] },
  help: { path: '', open: [{ button: 'Navigation' }, { button: 'Help' }] },
  themes: { path: '', open: [{ button: 'Navigation' }, { button: /^Theme/ }] },
  'a new endpoint': { path: '/endpoints?new', open: [] },
  'an import': { path: '/endpoints?import', open: [] },
  'an endpoint’s actions': { path: '/endpoints', open: [{ button: 'Actions for /radar' }] },
  'an endpoint': { path: '/endpoints', open: [{ button: '/radar' }] },
  'a buyer’s preview': { path: '/endpoints', open: action('/radar', 'Preview as buyer') },
  'the end of an endpoint': { path: '/endpoints', open: action('/radar', 'Delete') },
  'a new webhook': { path: '/webhooks?new', open: [] },
  'a webhook': { path: '/webhooks', open: action(/warehouse/, 'Edit') },
  'a webhook’s new secret': { path: '/webhooks', open: action(/warehouse/, 'Rotate secret') },
  'a webhook’s shown secret': {
    path: '/webhooks',
    open: [...action(/warehouse/, 'Rotate secret'), { button: 'Rotate secret' }, { see: /^Copy it now/ }],
  },
  'the end of a webhook': { path: '/webhooks', open: action(/warehouse/, 'Delete') },
  'a webhook that is disabled': { path: '/webhooks', open: action(/warehouse/, 'Disable') },
  'help with signatures': { path: '/webhooks', open: [{ button: 'Verify signatures' }] },
  'a new connector': { path: '/connectors?new', open: [] },
  'a new connector of a type': { path: '/connectors?new', open: [{ button: /^Slack ./ }] },
  'a connector’s actions': { path: '/connectors', open: [{ button: /^Actions for/ }] },
  'a new API key': { path: '/keys?new', open: [] },
  'the end of an API key': { path: '/keys', open: [{ button: 'Revoke CI' }] },
  'a payment': { path: '/payments', open: [{ row: 0 }] },
  'formats of exports': { path: '/payments', open: [{ button: 'Export' }] },
  'a delivery': { path: '/deliveries', open: [{ row: 0 }] },
  'a replay': { path: '/deliveries?replay', open: [] },
  'an event': { path: '/events', open: [{ row: 0 }] },
  'a request to confirm': { path: '/rest/createEndpoint', open: [{ button: 'Try it' }] },
  'a changed wallet': {
    path: '/settings',
    open: [{ field: 'Wallet address', text: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }, { button: 'Save changes' }],
  },
  'a project’s new upstream secret': { path: '/settings', open: [{ button: 'Rotate secret' }] },
  'the end of a project': { path: '/settings', open: [{ button: 'Delete project' }] },
  'a transfer': {
    path: '/members',
    open: [{ field: 'New owner’s email', text: 'bob@example.com' }, { button: 'Offer project' }],
  },
};

type Step =
  | { press: string }
  | { type: string }
  | { button: string | RegExp }
  | { item: string }
  | { row: number }
  | { see: string | RegExp }
  | { field: string; text: string };

function action(name: string | RegExp, item: string): Step[] {
  const actions = typeof name === 'string' ? `Actions for ${name}` : new RegExp(`^Actions for .*${name.source}`);
  return [{ button: actions }, { item }];
}

async function take(page: ConsolePage, step: Step): Promise<void> {
  if ('press' in step) return page.keyboard.press(step.press);
  if ('type' in step) return page.keyboard.insertText(step.type);
  if ('see' in step) return page.getByText(step.see).first().waitFor();
  if ('field' in step) return page.getByLabel(step.field).fill(step.text);
  if ('row' in step)
    return page
      .locator('main tbody tr')
      .nth(step.row)
      .click({ position: { x: 4, y: 4 } });
  if ('item' in step) return page.getByRole('menuitem', { name: step.item, exact: true }).click();
  const { button } = step;
  return page
    .getByRole('button', { name: button, exact: typeof button === 'string' })
    .first()
    .click();
}

describe.skipIf(!executablePath)('every page of the console', () => {
  const app = useService('service');
  let receiver: Receiver;
  let alice: TestUser;
  const projects = { full: '', empty: '' };

  beforeAll(async () => {
    alice = await app.user('alice', 'BUSINESS');
    receiver = await startReceiver();
    receiver.handle(({ path }) => ({ statusCode: path.includes('warehouse') ? 503 : 200 }));
    const sql = new pg.Client({ connectionString: app.databaseUrl });
    await sql.connect();
    projects.full = await plantBusiness({ sql, url: app.url, token: alice.token, receiverUrl: receiver.url });
    await sql.end();
    projects.empty = (await createProject(alice)).id;
  });
  afterAll(async () => {
    await receiver?.close();
  });

  test('this suite covers every link in the navigation', async () => {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projects.empty}`);
    const links = page.getByRole('navigation', { name: 'Project' }).getByRole('link');
    await links.first().waitFor();
    const places = await links.evaluateAll((found) =>
      found.map((link) => [link.textContent, link.getAttribute('href')]),
    );
    const base = `/console/projects/${projects.empty}`;
    const known = Object.entries(PAGES).map(([label, { path }]) => [label, base + path]);
    expect(places.sort()).toEqual(known.sort());
  });

  // Opens all pages of a project in one tab, as a user would.
  describe.each([
    { state: 'full', way: 'by URL' },
    { state: 'empty', way: 'from the navigation' },
  ] as const)('in a project that is $state, opened $way', ({ state, way }) => {
    let page: ConsolePage;

    beforeAll(async () => {
      page = await openTab();
      await keepToken(page, alice.token);
      if (way === 'from the navigation') await page.goto(`${app.url}/console/projects/${projects[state]}`);
    });
    afterAll(() => page?.close());

    test.each(Object.keys(PAGES))('%s loads without errors, is accessible, and fits on every screen', async (label) => {
      const place = PAGES[label]!;
      const address = `${app.url}/console/projects/${projects[state]}${place.path}`;
      const link = page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: label, exact: true });
      await (way === 'from the navigation' ? link.click() : page.goto(address));
      await page.waitForURL(address);
      await page.getByText(place[state]).first().waitFor();
      await untilComplete(page);
      expect(await page.getByRole('link', { name: /^Help for/ }).count()).toBe(1);
      // What is around the page is the same in every project.
      await expectAccessibleInBothSchemes(page, state === 'full' ? 'html' : 'main');
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 844 });
        await untilComplete(page);
        // The page may still be moving to its new layout.
        await expect.poll(async () => (await layoutFaults(page)).join('\n'), { message: `${width} pixels` }).toBe('');
        if (AXE_WIDTHS.includes(width)) await expectAccessibleInBothSchemes(page, 'html');
      }
      await page.setViewportSize(SIZE);
      expect(page.complaints.splice(0)).toEqual([]);
    });
  });

  describe('on a phone', () => {
    let page: ConsolePage;

    beforeAll(async () => {
      page = await openTab({ viewport: { width: 390, height: 844 } });
      await openSignedIn(page, app, alice.token, `/console/projects/${projects.full}`);
      await page.getByText(PAGES.Overview!.full).first().waitFor();
    });
    afterAll(() => page?.close());

    test.each(Object.entries(OVERLAYS))('%s is accessible and fits', async (_name, { path, open }) => {
      const visit = (place: string) => page.evaluate((to) => history.pushState(null, '', to), place);
      // Leaving the project closes everything, without loading the console again.
      await visit('/console/nowhere');
      await page.getByText('Page not found').waitFor();
      await visit(`/console/projects/${projects.full}${path}`);
      await page.getByRole('heading', { level: 1 }).getByText('Not found').waitFor({ state: 'detached' });
      await untilComplete(page);
      for (const step of open) await take(page, step);
      const overlay = page.locator(OVERLAY).last();
      await overlay.waitFor();
      await untilComplete(page);
      await expectAccessibleInBothSchemes(page, OVERLAY);
      await expect.poll(async () => (await layoutFaults(page, OVERLAY)).join('\n')).toBe('');
      for (const width of AXE_WIDTHS) {
        await page.setViewportSize({ width, height: 844 });
        await untilComplete(page);
        await expectAccessibleInBothSchemes(page, OVERLAY);
      }
      await page.setViewportSize({ width: WIDTHS[0]!, height: 844 });
      expect(page.complaints.splice(0)).toEqual([]);
    });
  });

  test('on the Starter tier, opening every page twice does not use up requests that programs need', async () => {
    const starter = await app.user('starter', 'STARTER');
    const { id } = await createProject(starter);
    const page = await openTab();
    const refused: string[] = [];
    page.on('response', (response) => void (response.status() === 429 && refused.push(response.url())));
    page.on('websocket', (socket) =>
      socket.on(
        'framereceived',
        ({ payload }) => void (payload.includes('RATE_LIMITED') && refused.push(`${payload}`)),
      ),
    );
    await openSignedIn(page, app, starter.token, `/console/projects/${id}`);
    const navigation = page.getByRole('navigation', { name: 'Project' });
    for (const label of [...Object.keys(PAGES), ...Object.keys(PAGES)]) {
      await navigation.getByRole('link', { name: label, exact: true }).click();
      await page.waitForURL(`${app.url}/console/projects/${id}${PAGES[label]!.path}`);
      await untilComplete(page);
    }
    expect(refused).toEqual([]);
    const { headers } = await starter.rest('GET', '/api/projects');
    // Each visit to the limits page makes one request to find out how many are left.
    expect(Number(/;r=(\d+)/.exec(headers.get('ratelimit')!)![1])).toBeGreaterThanOrEqual(56);
    await page.close();
  });

  test.each(['full', 'empty'] as const)(
    'while the overview of a project that is %s loads, no link moves from under the pointer',
    async (state) => {
      const page = await openTab();
      await watchMoves(page);
      await openSignedIn(page, app, alice.token, `/console/projects/${projects[state]}`);
      await page.getByText(PAGES.Overview![state]).first().waitFor();
      await untilComplete(page);
      expect(await movedShare(page)).toBeLessThan(0.01);
      await page.close();
    },
  );

  test('a chart’s bars and the table of its values link to the items that they count', async () => {
    const page = await openTab({ timezoneId: 'Asia/Tokyo' });
    await openSignedIn(page, app, alice.token, `/console/projects/${projects.full}`);
    await page
      .getByRole('img', { name: /^Payments: \d+ settled/ })
      .locator('.recharts-surface')
      .first()
      .waitFor();
    await page.getByText('Days begin at midnight UTC.').waitFor();
    await page.getByText('Local', { exact: true }).click();
    await page.getByText('which is 09:00 in Asia/Tokyo').waitFor();
    await page.reload();
    await page.getByText('which is 09:00 in Asia/Tokyo').click();
    const items = async () => {
      const { pathname, searchParams } = new URL(page.url());
      const list = `/api${pathname.replace('/console', '')}?${searchParams}&limit=100`;
      return (await alice.rest<{ data: unknown[] }>('GET', list)).body.data.length;
    };
    const links = page.getByRole('row', { name: /so far/ }).getByRole('link', { name: /^(Payments|Deliveries), / });
    await links.first().waitFor();
    await expectAccessible(page);
    const names = await links.allTextContents();
    expect(names.map((name) => / (\w+)$/.exec(name)![1])).toEqual(
      expect.arrayContaining(['settled', 'succeeded', 'failed']),
    );
    for (const name of names) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.waitForURL(/finishedFrom=/);
      await page.getByRole('row').nth(1).waitFor();
      expect([name, await items()]).toEqual([name, Number(/(\d+) \w+$/.exec(name)![1])]);
      await page.goBack();
      await page.getByText('which is 09:00 in Asia/Tokyo').click();
    }
    const bar = page
      .getByRole('img', { name: /^Deliveries: / })
      .locator('.recharts-bar-rectangle')
      .nth(3);
    await bar.hover();
    await bar.click();
    const ofBar = /\/deliveries\?status=(SUCCEEDED|FAILED)&finishedFrom=\d{4}-\d\d-\d\dT00%3A00.*&finishedTo=/;
    await page.waitForURL(ofBar);
    // Only one entry was added to the history.
    await page.goBack();
    await page.waitForURL(`**/projects/${projects.full}`);
    expect(page.complaints).toEqual([]);
    await page.context().close();
  });

  test('the list of projects and the “not found” pages are accessible', async () => {
    const page = await openTab();
    await openSignedIn(page, app, alice.token, '/console/');
    await page.getByRole('link', { name: 'Weather API' }).waitFor();
    await expectAccessibleInBothSchemes(page);
    for (const path of ['/console/nowhere', `/console/projects/${projects.empty}/nowhere`]) {
      await page.goto(app.url + path);
      await page.getByText('Page not found').waitFor();
      await page.getByRole('link', { name: 'Help for “Not found”' }).waitFor();
      await expectAccessible(page);
    }
    expect(page.complaints).toEqual([]);
  });
});
