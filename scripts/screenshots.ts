/**
 * Takes screenshots of every page of the console and saves them in docs/images/: `npm run screenshots`. Some pages are
 * also shown in dark mode. Starts its own service with a project that has a month of data. Needs Chromium.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { type Browser, chromium, type Page } from 'playwright-core';
import { startApp } from '../src/app.ts';
import { openDevIssuer } from '../src/auth/dev-issuer.ts';
import { readConfig } from '../src/config/config.ts';
import { plantBusiness } from './screenshot-business.ts';
import { startThrowawayPostgres } from './throwaway-postgres.ts';

const FOLDER = resolve(import.meta.dirname, '../docs/images');
const SIZE = { width: 1360, height: 860 };

type Shot = {
  name: string;
  /** Relative to the project's path. */
  path: string;
  /** Text that appears once the page has loaded. */
  ready: string;
  /** Opens something on the page before the screenshot. */
  open?: (page: Page) => Promise<void>;
};

const SHOTS: readonly Shot[] = [
  { name: 'overview', path: '', ready: 'Top customers' },
  { name: 'deliveries', path: '/deliveries', ready: 'Live' },
  { name: 'delivery', path: '/deliveries', ready: 'Live', open: openFailedDelivery },
  { name: 'replay', path: '/deliveries?status=FAILED', ready: 'Live', open: countFailed },
  { name: 'payments', path: '/payments', ready: 'Settled' },
  { name: 'customers', path: '/customers', ready: 'Highest spend' },
  { name: 'endpoints', path: '/endpoints', ready: '/weather' },
  { name: 'buyer', path: '/endpoints', ready: '/weather', open: openBuyerPreview },
  { name: 'webhooks', path: '/webhooks', ready: 'payment.settled' },
  { name: 'connectors', path: '/connectors', ready: 'Slack' },
  { name: 'events', path: '/events', ready: 'payment.settled' },
  { name: 'api-keys', path: '/keys', ready: 'Backend' },
  { name: 'audit-log', path: '/audit-log', ready: 'api_key.created' },
  { name: 'limits', path: '/limits', ready: 'Business (yours)' },
  { name: 'rest', path: '/rest/createEndpoint', ready: 'IDEMPOTENCY_IN_FLIGHT' },
  { name: 'graphql', path: '/graphql/Delivery', ready: 'attempts' },
  { name: 'settings', path: '/settings', ready: 'Delete project' },
];
/** Screenshots that are also taken in dark mode. */
const DARK: readonly string[] = ['overview', 'delivery'];

const only = process.argv.slice(2);
const postgres = await startThrowawayPostgres();
const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-screenshots-'));
const receiver = createServer((request, response) => {
  request.resume();
  const isDown = request.url?.includes('warehouse');
  setTimeout(() => {
    response.writeHead(isDown ? 503 : 200, { 'content-type': 'application/json' });
    response.end(isDown ? '{"error":"maintenance until 14:00"}' : '{"received":true}');
  }, 20);
}).listen(0, '127.0.0.1');
const config = readConfig({ NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, EGRESS_ALLOW: '127.0.0.1/32:*' });
const app = await startApp({ config, databaseUrl: postgres.url, log: pino({ level: 'silent' }) });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--force-device-scale-factor=1'],
});
try {
  const token = await (await openDevIssuer({ dataDir })).sign({ subject: 'alice', tier: 'BUSINESS' });
  const sql = new pg.Client({ connectionString: postgres.url });
  await sql.connect();
  const { port } = receiver.address() as AddressInfo;
  const project = await plantBusiness({ sql, url: app.url, token, receiverUrl: `http://127.0.0.1:${port}` });
  await sql.end();
  await mkdir(FOLDER, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) await picture(browser, project, token, colorScheme);
} finally {
  await browser.close();
  await app.stop();
  receiver.close();
  await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
}
process.exit(0);

async function picture(from: Browser, project: string, token: string, colorScheme: 'light' | 'dark'): Promise<void> {
  const context = await from.newContext({ viewport: SIZE, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const save = async (name: string) => {
    await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`) });
    process.stdout.write(`docs/images/${name}-${colorScheme}.png\n`);
  };
  const isLight = colorScheme === 'light';
  const wants = (name: string) => (isLight || DARK.includes(name)) && (only.length === 0 || only.includes(name));
  await page.goto(`${app.url}/console/`);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  if (wants('sign-in')) await save('sign-in');
  await page.evaluate((kept) => sessionStorage.setItem('tollgate.token', kept), token);
  await page.goto(`${app.url}/console/`);
  await page.getByRole('link', { name: 'Weather API' }).waitFor();
  if (wants('projects')) await save('projects');
  for (const { name, path, ready, open } of SHOTS.filter(({ name }) => wants(name))) {
    await page.goto(`${app.url}/console/projects/${project}${path}`);
    await page.getByText(ready).first().waitFor();
    await open?.(page);
    await page.waitForLoadState('networkidle');
    await save(name);
  }
  await context.close();
}

async function openFailedDelivery(page: Page): Promise<void> {
  await page.getByRole('row').filter({ hasText: '503' }).getByRole('button').first().click();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor();
}

async function countFailed(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Replay deliveries' }).click();
  await page.getByRole('button', { name: 'Count deliveries' }).click();
  await page.getByText(/deliver(y matches|ies match)/).waitFor();
}

async function openBuyerPreview(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Actions for /weather/:city' }).click();
  await page.getByRole('menuitem', { name: 'Preview as buyer' }).click();
  await page.getByRole('dialog', { name: 'Buyer preview' }).waitFor();
}
