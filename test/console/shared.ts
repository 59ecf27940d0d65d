import { afterAll, beforeEach, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { closeTabs, executablePath, launchBrowser } from './browser.ts';

/** A service that other test files use too, so a file must not stop it or expect to be alone in its database. */
export type SharedApp = Omit<TestApp, 'stop'>;

/** Lets each test start as if a minute had passed. Otherwise, fast machines would reach the rate limits of users. */
let minutes = 0;
const rateLimitNow = () => performance.now() + minutes * 60_000;

/**
 * What the test files in a worker share. Starting a service and a browser takes longer than many of these files, and a
 * browser compiles the console's scripts again for each new address.
 */
const worker = test
  .extend('executablePath', { scope: 'worker' }, executablePath)
  .extend('browser', { scope: 'worker' }, async ({ executablePath }, { onCleanup }) => {
    const browser = await launchBrowser(executablePath!);
    onCleanup(() => browser.close());
    return browser;
  })
  .extend('api', { scope: 'worker' }, async ({ browser: _ }, { onCleanup }) => {
    const app = await startTestApp({ env: { ROLES: 'api' }, rateLimitNow });
    onCleanup(() => app.stop());
    return app;
  })
  .extend('service', { scope: 'worker' }, async ({ browser: _ }, { onCleanup }) => {
    const app = await startTestApp({ rateLimitNow });
    onCleanup(() => app.stop());
    return app;
  });

let files = 0;

/**
 * Lets the tests of the current `describe` block open tabs in the worker's browser. After them, closes the tabs and
 * clears what they stored.
 */
export function useBrowser(): void {
  if (!executablePath) return;
  worker.beforeAll(({ browser: _ }) => undefined);
  afterAll(closeTabs);
}

/**
 * Like `useBrowser`, with a service that the worker's files share.
 *
 * @param kind `api` delivers nothing and has no gateway.
 * @returns an object that is filled in before the tests run. Its users are the file's own: they can't see the projects
 *   of other files' users, or use up their limits.
 */
export function useService(kind: 'api' | 'service'): SharedApp {
  const shared = {} as SharedApp;
  const fill = ({ stop: _, ...app }: TestApp) => {
    files += 1;
    const mark = `-${files}`;
    Object.assign(shared, {
      ...app,
      user: (subject, tier, email) => app.user(subject + mark, tier, email?.replace('@', `${mark}@`)),
    } satisfies SharedApp);
  };
  if (kind === 'api') worker.beforeAll(({ api }) => fill(api));
  else worker.beforeAll(({ service }) => fill(service));
  beforeEach(() => {
    minutes += 1;
  });
  afterAll(closeTabs);
  return shared;
}
