import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The browser of this system, or undefined when there is none: then these tests cannot run, and say so. */
export const executablePath: string | undefined = process.env.CHROMIUM ?? findOnPath();
if (!executablePath)
  console.warn('Browser tests are skipped: there is no Chromium. On Debian: apt-get install chromium');

function findOnPath(): string | undefined {
  const candidates = (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: executablePath!, args: ARGUMENTS });
}

export type ConsolePage = Page & {
  /** What the browser complained about: errors of scripts, and everything the content security policy refused. */
  complaints: string[];
};

/** A tab of its own, with nothing kept from others. */
export async function openTab(browser: Browser, options: BrowserContextOptions = {}): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 860 },
    locale: 'en-GB',
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // Answers such as 422 are part of the game; the browser reports each of them.
    const isAboutStatus = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAboutStatus) complaints.push(message.text());
  });
  return Object.assign(page, { complaints });
}

/** Opens the console and signs in with the dev issuer, as a person does. */
export async function signIn(page: Page, app: TestApp, subject: string, path = '/console/'): Promise<void> {
  await page.goto(app.url + path);
  await page.getByLabel('Name').fill(subject);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Opens a page with this token in the tab already. */
export async function openSignedIn(page: Page, app: Pick<TestApp, 'url'>, token: string, path: string): Promise<void> {
  await page.addInitScript((kept) => sessionStorage.setItem('tollgate.token', kept), token);
  await page.goto(app.url + path);
}

type AxeResult = {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[];
};

/** Expects nothing serious of axe-core, by WCAG 2.2 A and AA. */
export async function expectAccessible(page: Page): Promise<void> {
  // Not `addScriptTag`: the content security policy refuses it, as it should.
  await page.evaluate(axe.source);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify({ runOnly: { type: 'tag', values: tags } })})`,
  )) as AxeResult;
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => ({ id, at: nodes.slice(0, 3).map(({ html, failureSummary }) => [html, failureSummary]) }));
  expect(serious, page.url()).toEqual([]);
}
