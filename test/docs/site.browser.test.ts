import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { trustProxies } from '../../src/http/client-address.ts';
import { registerDocs } from '../../src/http/docs.ts';
import { createHttpServer } from '../../src/http/server.ts';
import {
  type ConsolePage,
  closeTabs,
  executablePath,
  expectAccessible,
  openTab,
  untilComplete,
} from '../console/browser.ts';
import { useBrowser } from '../console/shared.ts';
import { ROOT } from './pages.ts';

describe.skipIf(!executablePath)('the documentation site', () => {
  useBrowser();
  let http: FastifyInstance;
  let url: string;

  beforeAll(async () => {
    http = createHttpServer({
      log: pino({ level: 'silent' }),
      allowedOrigins: { listed: [], allowsLocal: false },
      proxies: trustProxies([], pino({ level: 'silent' })),
      publicUrl: undefined,
      rewriteUrl: ({ url: path = '/' }) => path,
      onResponse: () => undefined,
    });
    await registerDocs(http, { folder: join(ROOT, 'dist/docs') });
    url = await http.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(async () => {
    await closeTabs();
    await http?.close();
  });

  async function open(path: string, colorScheme: 'light' | 'dark' = 'light'): Promise<ConsolePage> {
    const page = await openTab();
    await page.emulateMedia({ colorScheme });
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    await page.goto(url + path);
    await untilComplete(page);
    expect(requested.filter((address) => !address.startsWith(`${url}/docs/`))).toEqual([]);
    return page;
  }

  test('has an icon that the server serves, so that browsers don’t look for one elsewhere', async () => {
    const page = await open('/docs/webhooks');
    const address = await page.locator('link[rel=icon]').getAttribute('href');
    const { status, headers } = await fetch(new URL(address!, url));
    expect([status, headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    await page.close();
  });

  test('opens a page from the menu and copies a command, without violating its content security policy', async () => {
    const page = await open('/docs/');
    await page.locator('.VPSidebar').getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/docs/webhooks');
    await page.locator('button.copy').first().click();
    await page.locator('button.copy.copied').waitFor();
    await untilComplete(page);
    expect(page.complaints).toEqual([]);
  });

  test('finds the page that answers a question', async () => {
    const page = await open('/docs/errors');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('searchbox').fill('how do I verify a webhook signature in python?');
    await page.locator('.result').first().click();
    await page.waitForURL(/\/docs\/verify-webhooks/);
    await untilComplete(page);
    expect(page.complaints).toEqual([]);
  });

  test('opens the section about an error code', async () => {
    const page = await open('/docs/errors#rate_limited');
    await expect.poll(() => page.locator('#rate_limited').boundingBox()).toMatchObject({ y: expect.any(Number) });
    const { y } = (await page.locator('#rate_limited').boundingBox())!;
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y).toBeLessThan(400);
  });

  test.each(['configuration', 'connectors/', 'errors', 'events', 'gateway-reference', 'mistakes', 'rest', 'scaling'])(
    'the tables on the page %s fit on a laptop screen',
    async (name) => {
      const page = await open(`/docs/${name}`);
      await page.setViewportSize({ width: 1280, height: 800 });
      const hidden = await page
        .locator('.vp-doc table')
        .evaluateAll((tables) => tables.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
      expect(hidden.filter((pixels) => pixels > 0)).toEqual([]);
      await page.close();
    },
  );

  test('opens files that pages link to, and says which version it is for', async () => {
    const page = await open('/docs/rest');
    await page.getByRole('link', { name: /^Version \d/ }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'openapi.json' }).click();
    await page.waitForURL(`${url}/docs/openapi.json`);
  });

  test.each(['light', 'dark'] as const)('is accessible in %s mode, which the system chooses', async (colorScheme) => {
    const page = await open('/docs/webhooks', colorScheme);
    expect(await page.locator('html.dark').count()).toBe(colorScheme === 'dark' ? 1 : 0);
    await expectAccessible(page);
    expect(page.complaints).toEqual([]);
  });
});
