import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { closeTabs, executablePath, expectAccessible, insecureAddress, openTab } from './browser.ts';
import { CLIENT_ID, type OidcProvider, startOidcProvider } from './oidc-provider.ts';
import { useBrowser } from './shared.ts';

/** Returns the paths of the scripts that the page's content security policy blocks. */
const loadScripts = `async (paths) => {
  const blocked = [];
  document.addEventListener('securitypolicyviolation', ({ blockedURI }) => blocked.push(new URL(blockedURI).pathname));
  for (const src of paths) {
    await new Promise((resolve) => {
      document.head.append(Object.assign(document.createElement('script'), { src, onload: resolve, onerror: resolve }));
    });
  }
  return { blocked };
}`;

describe.skipIf(!executablePath)('signing in to the console with an identity provider', () => {
  useBrowser();
  let provider: OidcProvider;
  let app: TestApp;

  beforeAll(async () => {
    provider = await startOidcProvider('olga');
    app = await startTestApp({
      env: { ROLES: 'api', AUTH_ISSUERS: provider.authIssuers, CONSOLE_CLIENT_ID: CLIENT_ID },
    });
  });
  afterAll(async () => {
    await closeTabs();
    await app?.stop();
    await provider?.close();
  });

  const tokenRequests = () =>
    provider.receiver.requests.filter(({ path, method }) => path === '/token' && method === 'POST');

  test('uses an authorization code with PKCE, returns to the requested page, and signs out at the provider', async () => {
    const page = await openTab();
    await page.goto(`${app.url}/console/projects/proj_00000000000000000000000000?from=here`);
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('olga@example.com', { exact: true }).waitFor();
    expect(page.url()).toBe(`${app.url}/console/projects/proj_00000000000000000000000000?from=here`);

    const [exchange] = tokenRequests();
    const form = new URLSearchParams(exchange!.body.toString());
    expect(form.get('grant_type')).toBe('authorization_code');
    expect(form.get('code_verifier')!.length).toBeGreaterThanOrEqual(43);
    expect(form.has('client_secret')).toBe(false);

    await page.reload();
    await page.getByText('olga@example.com', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    expect(provider.receiver.requests.some(({ path }) => path.startsWith('/logout'))).toBe(true);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).not.toContain('access_token');
    expect(page.complaints).toEqual([]);
  });

  test('forgets the tokens on sign-out even if the provider can’t be reached', async () => {
    const page = await openTab();
    await page.goto(`${app.url}/console/`);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('olga@example.com', { exact: true }).waitFor();
    await page.reload();
    await page.getByText('olga@example.com', { exact: true }).waitFor();
    await page.route(`${provider.issuer}/**`, (route) => route.abort());
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Continue' }).waitFor();
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).not.toContain('access_token');
  });

  test('renews tokens before they expire, and asks the user to sign in again if renewal fails', async () => {
    const page = await openTab();
    // Tokens are renewed a minute before they expire, so shorter lifetimes start renewal immediately.
    provider.setTokenLifetime(5);
    const before = tokenRequests().length;
    await page.goto(`${app.url}/console/`);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Create your first project').waitFor();
    await provider.receiver.waitFor(({ path, body }) => path === '/token' && body.includes('grant_type=refresh_token'));
    expect(tokenRequests().length).toBeGreaterThan(before);
    provider.rejectRefresh();
    await page.getByText('Your session has ended').waitFor();
    provider.setTokenLifetime(3600);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Create your first project').waitFor();
  });

  test('over plain HTTP, the page says that signing in needs HTTPS', async () => {
    const page = await openTab();
    await page.goto(`${insecureAddress(app).url}/console/`);
    await page.getByText('Sign-in needs HTTPS').waitFor();
    expect(await page.getByRole('button', { name: 'Continue' }).count()).toBe(0);
    await expectAccessible(page);
  });

  test('the content security policy allows calls to the issuer, and only the console’s own scripts', async () => {
    const response = await fetch(`${app.url}/console/`);
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).toContain(`connect-src 'self' ${provider.issuer};`);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");

    const page = await openTab();
    await page.goto(`${app.url}/console/`);
    const paths = [
      '/gateway/shop/script',
      '/console/color-scheme.js',
      '/docs/script.js',
      '/console/../gateway/shop/script',
    ];
    expect(await page.evaluate(`(${loadScripts})(${JSON.stringify(paths)})`)).toEqual({
      blocked: ['/gateway/shop/script', '/docs/script.js', '/gateway/shop/script'],
    });
    expect((await fetch(`${app.url}/console/dev-token`, { method: 'POST' })).status).not.toBe(200);
  });
});
