import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startVendors, type VendorServer } from '../connectors/support/vendors/server.ts';
import { closeTabs, executablePath, expectAccessible, openTab, signIn } from '../console/browser.ts';
import { useBrowser } from '../console/shared.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { freePort } from '../support/free-port.ts';
import { createConnector, createEndpoint, createProject } from '../support/resources.ts';

const LINK = /<(http[^|>]*)\|Open in the console>/;

let vendors: VendorServer;

beforeAll(async () => {
  vendors = await startVendors();
});
afterAll(() => vendors?.close());

type Options = Parameters<typeof startTestApp>[0];
const start = (options: Options) => startTestApp({ hostOverrides: vendors.hostOverrides, ...options });

let made = 0;

/** Creates an endpoint in a new project with a Slack connector. Returns the message and the target of its link. */
async function messageOf(app: TestApp) {
  made += 1;
  const mark = `links${made}`.padEnd(24, 'x');
  vendors.accept(mark);
  const alice = await app.user('alice');
  const { id: projectId, base } = await createProject(alice);
  const config = { webhookUrl: `https://hooks.slack.com/services/T00000000/B00000000/${mark}` };
  await createConnector(alice, base, { config });
  const path = `/weather-${made}`;
  await createEndpoint(alice, base, { path });
  const calls = () => vendors.callsTo('slack').filter(({ url }) => url.pathname.endsWith(mark));
  await expect.poll(() => calls().length).toBe(1);
  const text = calls()[0]!.body;
  const { data } = (await alice.rest<{ data: { id: string }[] }>('GET', `${base}/events`)).body;
  const [event] = data;
  return { path, text, link: LINK.exec(text)?.[1], eventPath: `/console/projects/${projectId}/events/${event!.id}` };
}

describe('the link to the console in a message', () => {
  useBrowser();

  test.skipIf(!executablePath)('starts with PUBLIC_URL and opens the event that the message is about', async () => {
    const port = await freePort();
    // Differs from the address that the process listens on, so the test can tell which one the link uses.
    const publicUrl = `http://localhost:${port}`;
    const app = await start({ env: { PORT: String(port), PUBLIC_URL: `${publicUrl}/` } });
    try {
      const { link, eventPath, path } = await messageOf(app);
      expect(link).toBe(publicUrl + eventPath);
      const page = await openTab();
      await signIn(page, app, 'alice', new URL(link!).pathname);
      expect(page.url()).toBe(link);
      const shown = page.getByRole('dialog', { name: 'Event' });
      await shown.getByText('endpoint.created').first().waitFor();
      await shown.getByText(`"path": "${path}"`).waitFor();
      await shown.getByText(link!.split('/').at(-1)!, { exact: true }).waitFor();
      await expectAccessible(page);

      await page.getByRole('button', { name: 'Close' }).click();
      await page.waitForURL('**/events');
      await page.getByRole('link', { name: 'endpoint.created' }).click();
      await page.waitForURL(link!);
      await page.goto(link!.replace(/evt_.{4}/, 'evt_0000'));
      await page.getByText('Event not found').waitFor();
      expect(page.complaints).toEqual([]);
    } finally {
      await closeTabs();
      await app.stop();
    }
  });

  test('starts with the listening address when PUBLIC_URL is not set and the process serves the console', async () => {
    const app = await start({});
    try {
      const { link, eventPath } = await messageOf(app);
      expect(link).toBe(app.url + eventPath);
    } finally {
      await app.stop();
    }
  });

  test.each([
    ['starts with PUBLIC_URL when a worker without a console sends it', { PUBLIC_URL: 'https://tollgate.example' }],
    ['is left out when a worker does not know where the console is', { PUBLIC_URL: '' }],
  ])('%s', async (_title, env) => {
    const api = await start({ env: { ROLES: 'api' } });
    const { databaseUrl, dataDir } = api;
    const worker = await start({ databaseUrl, dataDir, env: { ROLES: 'worker', ...env } });
    try {
      const { link, eventPath, text } = await messageOf(api);
      expect(text).toContain('Endpoint created');
      expect(link).toBe(env.PUBLIC_URL ? env.PUBLIC_URL + eventPath : undefined);
    } finally {
      await worker.stop();
      await api.stop();
    }
  });

  test('is left out in production without PUBLIC_URL, because the listening address is not public', async () => {
    const app = await start({ config: { production: true, publicUrl: undefined } });
    try {
      const { link, text } = await messageOf(app);
      expect(text).toContain('Endpoint created');
      expect(link).toBeUndefined();
    } finally {
      await app.stop();
    }
  });
});
