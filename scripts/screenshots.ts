/**
 * Takes the console screenshots for the documentation, and saves them in docs/images/: `npm run screenshots`, or
 * `npm run screenshots -- overview` for only some of them. Starts its own service with a project that has a month of
 * data. Needs Chromium.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pino from 'pino';
import { type Browser, chromium, type Page } from 'playwright-core';
import { startApp } from '../src/app.ts';
import { openDevIssuer } from '../src/auth/dev-issuer.ts';
import { readConfig } from '../src/config/config.ts';
import { withConnection } from '../src/database/connection.ts';
import { plantBusiness } from './screenshot-business.ts';
import { startThrowawayPostgres } from './throwaway-postgres.ts';

const FOLDER = resolve(import.meta.dirname, '../docs/images');
const SIZE = { width: 1280, height: 800 };
/** Pixels per CSS pixel, for high-resolution screens. */
const SCALE = 2;

type Shot = {
  name: string;
  /** Relative to the project's path. */
  path: string;
  /** Text that appears once the page has loaded. */
  ready: string;
  /** Opens something on the page before the screenshot. */
  open?: (page: Page) => Promise<void>;
  /** Light by default. */
  colorScheme?: 'dark';
};

/** A test checks that each picture is used in the documentation. */
const SHOTS: readonly Shot[] = [
  { name: 'overview', path: '', ready: 'Values by day' },
  { name: 'deliveries', path: '/deliveries', ready: 'Live' },
  { name: 'delivery', path: '/deliveries', ready: 'Live', open: openFailedDelivery, colorScheme: 'dark' },
  { name: 'replay', path: '/deliveries?status=FAILED', ready: 'Live', open: countFailed },
  { name: 'payments', path: '/payments', ready: 'Settled' },
  { name: 'buyer', path: '/endpoints', ready: '/weather', open: openBuyerPreview },
  { name: 'webhooks', path: '/webhooks', ready: 'payment.settled' },
  { name: 'rest', path: '/rest/createEndpoint', ready: 'IDEMPOTENCY_IN_FLIGHT' },
  { name: 'graphql', path: '/graphql/Delivery', ready: 'attempts' },
];

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
// The pictures show this address.
const config = readConfig({ NODE_ENV: 'test', PORT: '4000', DATA_DIR: dataDir, EGRESS_ALLOW: '127.0.0.1/32:*' });
const app = await startApp({ config, databaseUrl: postgres.url, log: pino({ level: 'silent' }) });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars'],
});
try {
  const token = await (await openDevIssuer({ dataDir })).sign({ subject: 'alice', tier: 'BUSINESS' });
  const { port } = receiver.address() as AddressInfo;
  const receiverUrl = `http://127.0.0.1:${port}`;
  const project = await withConnection(postgres.url, 'screenshots', async (sql) => {
    const planted = await plantBusiness({ sql, url: app.url, token, receiverUrl });
    // The pictures show a public address. Nothing is sent to it.
    await sql.query(`UPDATE "Delivery" SET "nextAttemptAt" = now() + interval '25 minutes' WHERE status = 'PENDING'`);
    await sql.query('UPDATE "Webhook" SET url = replace(url, $1, $2)', [receiverUrl, 'https://shop.example.com']);
    return planted;
  });
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
  const shots = SHOTS.filter(({ name, colorScheme: own = 'light' }) => {
    return own === colorScheme && (only.length === 0 || only.includes(name));
  });
  const context = await from.newContext({
    viewport: SIZE,
    deviceScaleFactor: SCALE,
    colorScheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.addInitScript((kept) => sessionStorage.setItem('tollgate.token', kept), token);
  for (const { name, path, ready, open } of shots) {
    await page.goto(`${app.url}/console/projects/${project}${path}`);
    await page.getByText(ready).first().waitFor();
    await open?.(page);
    await page.waitForLoadState('networkidle');
    await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`) });
    process.stdout.write(`docs/images/${name}-${colorScheme}.png\n`);
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
