/**
 * Takes pictures of the messages that connectors send to people, and saves them in docs/images/:
 * `npm run pictures:messages`. The messages are the requests that the connectors build, laid out the way the vendor's
 * app shows them. Needs Chromium.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import type { ConnectorType } from '../src/connectors/definition.ts';
import { documentOf } from './pictures/page.ts';
import { MESSAGE_PAGES, messagePage, PICTURED_TYPES } from './pictures/pictures.ts';
import { smallPng } from './pictures/small-png.ts';

const FOLDER = resolve(import.meta.dirname, '../docs/images');

const only = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars'],
});
try {
  const context = await browser.newContext({ deviceScaleFactor: 2, colorScheme: 'light', offline: true });
  const page = await context.newPage();
  await mkdir(FOLDER, { recursive: true });
  for (const type of Object.keys(MESSAGE_PAGES) as ConnectorType[]) {
    if (only.length > 0 && !only.includes(type)) continue;
    const shown = PICTURED_TYPES.map((eventType) => messagePage(type, eventType));
    const body = shown.map((each) => each.body).join('');
    await page.setContent(documentOf({ style: shown[0]!.style, body }));
    const picture = smallPng(await page.locator('body').screenshot());
    await writeFile(join(FOLDER, `message-${type}.png`), picture);
    process.stdout.write(`docs/images/message-${type}.png\n`);
  }
} finally {
  await browser.close();
}
