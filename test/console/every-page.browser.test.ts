import pg from 'pg';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { plantBusiness } from '../../scripts/screenshot-business.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createProject } from '../support/resources.ts';
import {
  type ConsolePage,
  executablePath,
  expectAccessible,
  expectAccessibleInBothSchemes,
  keepToken,
  launchBrowser,
  openSignedIn,
  openTab,
  untilComplete,
} from './browser.ts';

/**
 * Every page in the navigation, with some text that it shows in a full project and some that it shows in an empty one.
 */
const PAGES: Readonly<Record<string, { path: string; full: string; empty: string }>> = {
  Overview: { path: '', full: 'Top customers', empty: 'Next steps' },
  Endpoints: { path: '/endpoints', full: '/weather/:city', empty: 'Create your first paid endpoint' },
  Notices: { path: '/notices', full: 'Save contacts', empty: 'No notices' },
  Settings: { path: '/settings', full: 'Delete project', empty: 'Delete project' },
  Payments: { path: '/payments', full: '/forecast/*', empty: 'No payments yet' },
  Customers: { path: '/customers', full: 'Highest spend', empty: 'No customers yet' },
  Deliveries: { path: '/deliveries', full: 'customer.first_payment', empty: 'No deliveries yet' },
  Webhooks: { path: '/webhooks', full: '/warehouse', empty: 'Add your first webhook' },
  Connectors: { path: '/connectors', full: 'Paused', empty: 'Add your first connector' },
  Events: { path: '/events', full: 'payment.verified', empty: 'No events yet' },
  'API keys': { path: '/keys', full: 'Backend', empty: 'Create your first API key' },
  'Audit log': { path: '/audit-log', full: 'connector.created', empty: 'project.created' },
  'Limits & usage': { path: '/limits', full: 'Business (yours)', empty: 'Business (yours)' },
  'REST reference': {
    path: '/rest',
    full: 'Get started',
    empty: 'Get started',
  },
  'GraphQL explorer': { path: '/graphql', full: 'connectorTypes', empty: 'connectorTypes' },
};

describe.skipIf(!executablePath)('every page of the console', () => {
  let app: TestApp;
  let browser: Browser;
  let receiver: Receiver;
  let alice: TestUser;
  const projects = { full: '', empty: '' };

  beforeAll(async () => {
    app = await startTestApp();
    browser = await launchBrowser();
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
    await browser?.close();
    await app?.stop();
    await receiver?.close();
  });

  test('this suite covers every link in the navigation', async () => {
    const page = await openTab(browser);
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

  // One tab for all pages of a project, as a user would have it.
  describe.each([
    { state: 'full', way: 'by URL' },
    { state: 'empty', way: 'from the navigation' },
  ] as const)('in a project that is $state, opened $way', ({ state, way }) => {
    let page: ConsolePage;

    beforeAll(async () => {
      page = await openTab(browser);
      await keepToken(page, alice.token);
      if (way === 'from the navigation') await page.goto(`${app.url}/console/projects/${projects[state]}`);
    });
    afterAll(() => page?.close());

    test.each(Object.keys(PAGES))('%s loads without errors and is accessible in light and dark mode', async (label) => {
      const place = PAGES[label]!;
      const address = `${app.url}/console/projects/${projects[state]}${place.path}`;
      const link = page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: label, exact: true });
      await (way === 'from the navigation' ? link.click() : page.goto(address));
      await page.waitForURL(address);
      await page.getByText(place[state]).first().waitFor();
      await untilComplete(page);
      await expectAccessibleInBothSchemes(page);
      expect(page.complaints.splice(0)).toEqual([]);
    });
  });

  test('the list of projects and the “not found” pages are accessible', async () => {
    const page = await openTab(browser);
    await openSignedIn(page, app, alice.token, '/console/');
    await page.getByRole('link', { name: 'Weather API' }).waitFor();
    await expectAccessibleInBothSchemes(page);
    for (const path of ['/console/nowhere', `/console/projects/${projects.empty}/nowhere`]) {
      await page.goto(app.url + path);
      await page.getByText('Page not found').waitFor();
      await expectAccessible(page);
    }
    expect(page.complaints).toEqual([]);
  });
});
