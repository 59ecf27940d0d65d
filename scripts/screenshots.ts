/**
 * Takes a picture of every page of the console, light and dark, into docs/images/: `npm run screenshots`. Runs a service of
 * its own with a project that has had a month of business. Needs Chromium.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import { type Browser, chromium } from 'playwright-core';
import { startApp } from '../src/app.ts';
import { openDevIssuer } from '../src/auth/dev-issuer.ts';
import { readConfig } from '../src/config.ts';
import { plantBusiness } from './screenshot-business.ts';
import { startThrowawayPostgres } from './throwaway-postgres.ts';

const FOLDER = resolve(import.meta.dirname, '../docs/images');
const SIZE = { width: 1360, height: 860 };

/** The name of the picture, the path behind the project, and what to do there first. */
const PAGES: readonly [name: string, path: string, ready: string][] = [
  ['overview', '', 'Top customers'],
  ['deliveries', '/deliveries', 'Live'],
  ['payments', '/payments', 'Settled'],
  ['customers', '/customers', 'Customers'],
  ['endpoints', '/endpoints', '/weather'],
  ['webhooks', '/webhooks', 'payment.settled'],
  ['connectors', '/connectors', 'Slack'],
  ['events', '/events', 'payment.settled'],
  ['api-keys', '/keys', 'API keys'],
  ['audit-log', '/audit-log', 'Audit log'],
  ['limits', '/limits', 'Limits'],
  ['rest', '/rest/createEndpoint', 'IDEMPOTENCY_IN_FLIGHT'],
  ['graphql', '/graphql/Delivery', 'attempts'],
  ['settings', '/settings', 'Settings'],
];

const only = process.argv.slice(2);
const postgres = await startThrowawayPostgres();
const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-screenshots-'));
const receiver = createServer((request, response) => {
  request.resume();
  const isFlooded = request.url?.includes('warehouse');
  setTimeout(() => {
    response.writeHead(isFlooded ? 503 : 200, { 'content-type': 'application/json' });
    response.end(isFlooded ? '{"error":"maintenance until 14:00"}' : '{"received":true}');
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
  const wants = (name: string) => only.length === 0 || only.includes(name);
  await page.goto(`${app.url}/console/`);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  if (wants('sign-in')) await save('sign-in');
  await page.evaluate((kept) => sessionStorage.setItem('tollgate.token', kept), token);
  await page.goto(`${app.url}/console/`);
  await page.getByRole('link', { name: 'Weather API' }).waitFor();
  if (wants('projects')) await save('projects');
  for (const [name, path, ready] of PAGES.filter(([name]) => wants(name))) {
    await page.goto(`${app.url}/console/projects/${project}${path}`);
    await page.getByText(ready).first().waitFor();
    await page.waitForLoadState('networkidle');
    await save(name);
    if (name !== 'deliveries') continue;
    await page.getByRole('row').filter({ hasText: '503' }).getByRole('button').first().click();
    await page.getByRole('heading', { name: 'Attempts' }).waitFor();
    await page.waitForLoadState('networkidle');
    await save('delivery');
  }
  await context.close();
}
