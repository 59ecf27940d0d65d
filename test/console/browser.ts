import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import axe, { type RunOnly } from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Request,
} from 'playwright-core';
import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';

// The headless shell draws the same pages with less CPU time.
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // All tabs share one process, so they compile the console's scripts only once.
  '--process-per-site',
  // An address that isn't a secure context when it is opened over plain HTTP, unlike loopback addresses.
  '--host-resolver-rules=MAP tollgate.test 127.0.0.1',
  '--disable-features=HttpsUpgrades',
];

/** The same service at an address where browsers withhold `navigator.clipboard` and `crypto.subtle`. */
export function insecureAddress(app: Pick<TestApp, 'url'>): Pick<TestApp, 'url'> {
  return { url: app.url.replace(/127\.0\.0\.1|localhost/, 'tollgate.test') };
}

/** The system's Chromium. Without it, the browser tests are skipped with a warning. */
export const executablePath: string | undefined = process.env.CHROMIUM ?? findOnPath();
if (!executablePath)
  console.warn('Browser tests are skipped because Chromium is not installed. On Debian: apt-get install chromium');

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

/** The browser that all tabs of this worker are in. */
let launched: Browser | undefined;
/** The context that tabs share, so that they fetch and compile each of the console's files only once. */
let shared: BrowserContext | undefined;
/** The tabs that the current test file has opened. */
const opened: Page[] = [];

/** Starts the worker's browser. Test files call `useBrowser` or `useService` instead. */
export async function launchBrowser(executable: string): Promise<Browser> {
  launched = await chromium.launch({ executablePath: executable, args: ARGUMENTS });
  shared = await newContext(launched, {});
  return launched;
}

/** Closes the tabs that the current test file has opened, and clears what they stored. */
export async function closeTabs(): Promise<void> {
  const pages = opened.splice(0).filter((page) => !page.isClosed());
  // Only pages of a server have storage.
  const withStorage = pages.filter((page) => page.url().startsWith('http'));
  await Promise.all(withStorage.map((page) => page.evaluate('localStorage.clear()')));
  const own = pages.map((page) => page.context()).filter((context) => context !== shared);
  await Promise.all([...pages, ...own].map((one) => one.close()));
}

export type ConsolePage = Page & {
  /** Script errors and violations of the content security policy. */
  complaints: string[];
  /** The requests in flight. */
  requests: ReadonlySet<Request>;
};

async function newContext(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 860 },
    locale: 'en-GB',
    reducedMotion: 'reduce',
    ...options,
  });
  context.setDefaultTimeout(60_000);
  return context;
}

/**
 * Opens a signed-out tab. Each tab has its own session. A tab with `options` gets its own context. After the file's
 * tests, it's closed.
 */
export async function openTab(options?: BrowserContextOptions): Promise<ConsolePage> {
  if (!launched || !shared) throw new Error('Call useBrowser or useService before the tests.');
  const context = options ? await newContext(launched, options) : shared;
  const page = await context.newPage();
  opened.push(page);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // The browser logs every error response, and tests cause some of them on purpose.
    const isAboutStatus = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAboutStatus) complaints.push(message.text());
  });
  return Object.assign(page, { complaints, requests: followRequests(page) });
}

function followRequests(page: Page): ReadonlySet<Request> {
  const requests = new Set<Request>();
  page.on('request', (request) => {
    // Requests from the previous document might never finish.
    if (request.isNavigationRequest()) requests.clear();
    requests.add(request);
  });
  page.on('requestfinished', (request) => requests.delete(request));
  page.on('requestfailed', (request) => requests.delete(request));
  return requests;
}

/** Placeholders for content that is still loading. */
const PLACEHOLDERS = '.mantine-Loader-root, .mantine-Skeleton-root, [role=status]:text-is("Connecting")';
// A busy machine may never be idle, and a tab in the background draws no frames.
const IDLE = `Promise.race([
  new Promise((resolve) => requestAnimationFrame(() => requestIdleCallback(resolve))),
  new Promise((resolve) => setTimeout(resolve, 2_000)),
])`;

/** Waits until the page is complete: no requests in flight, all responses rendered, and no loading indicators. */
export async function untilComplete(page: ConsolePage): Promise<void> {
  const inFlight = () => [...page.requests].map((request) => request.url());
  const missing = async () => {
    const before = inFlight();
    await page.evaluate(IDLE);
    const placeholders = await page.locator(PLACEHOLDERS).evaluateAll((found) => found.map((one) => one.outerHTML));
    return [...before, ...placeholders, ...inFlight()];
  };
  await expect.poll(missing).toEqual([]);
}

/** Opens the console and signs in with the dev issuer, as a user would. */
export async function signIn(
  page: Page,
  app: Pick<TestApp, 'url'>,
  subject: string,
  path = '/console/',
): Promise<void> {
  await page.goto(app.url + path);
  await page.getByLabel('Name').fill(subject);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** Opens a page in a tab that is already signed in with this token. */
export async function openSignedIn(page: Page, app: Pick<TestApp, 'url'>, token: string, path: string): Promise<void> {
  await keepToken(page, token);
  await page.goto(app.url + path);
}

/** Signs the tab in with this token for every page it opens from now on. */
export async function keepToken(page: Page, token: string): Promise<void> {
  await page.addInitScript((kept) => sessionStorage.setItem('tollgate.token', kept), token);
}

type AxeResult = {
  violations: { id: string; impact: string | null; nodes: { html: string; failureSummary?: string }[] }[];
};

const WCAG_AND_PRACTICE = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/**
 * The rules about colors. Both color schemes show the same elements, so only the results of these rules can differ.
 */
const RULES_OF_COLORS = ['color-contrast', 'link-in-text-block'];

/** Whatever is open over a page. */
export const OVERLAY = '[role=dialog], [role=menu]';
/** The rows of a list look the same, apart from their values, so the first ones speak for the others. */
const MORE_ROWS = 'tbody tr:nth-child(n+9)';

/**
 * Expects no serious axe-core violations of WCAG 2.2 A and AA.
 *
 * @param within a selector for the part of the page to look at. By default, it's what is open over the page, or
 *   otherwise what the navigation is next to. `every-page.browser.test.ts` looks at whole pages.
 */
export async function expectAccessible(page: Page, within?: string): Promise<void> {
  await expectNothingSerious(page, { type: 'tag', values: WCAG_AND_PRACTICE }, within);
}

/** Like `expectAccessible`, in light and dark mode. Leaves the page in light mode. */
export async function expectAccessibleInBothSchemes(page: Page, within?: string): Promise<void> {
  await expectAccessible(page, within);
  try {
    await show(page, 'dark');
    await expectNothingSerious(page, { type: 'rule', values: RULES_OF_COLORS }, within);
  } finally {
    await show(page, 'light');
  }
}

async function show(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
}

async function expectNothingSerious(page: Page, runOnly: RunOnly, within?: string): Promise<void> {
  // The content security policy would block `addScriptTag`.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axe.source);
  // axe would also fetch style sheets, but only for a rule about orientation that isn't used here.
  const options = { runOnly, resultTypes: ['violations'], preload: { assets: ['media'] } };
  const parts = within ? [within] : [OVERLAY, 'main', 'html'];
  const { violations } = (await page.evaluate(`(() => {
    const include = ${JSON.stringify(parts)}.find((part) => document.querySelector(part));
    return axe.run({ include: [[include]], exclude: [[${JSON.stringify(MORE_ROWS)}]] }, ${JSON.stringify(options)});
  })()`)) as AxeResult;
  const serious = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => ({ id, at: nodes.slice(0, 3).map(({ html, failureSummary }) => [html, failureSummary]) }));
  expect(serious, page.url()).toEqual([]);
}
