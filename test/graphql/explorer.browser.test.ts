import { beforeAll, describe, expect, test } from 'vitest';
import { executablePath, openTab } from '../console/browser.ts';
import { useService } from '../console/shared.ts';
import type { TestUser } from '../support/app.ts';

describe.skipIf(!executablePath)('the GraphQL explorer', () => {
  const app = useService('api');
  let alice: TestUser;

  beforeAll(async () => {
    alice = await app.user('alice', 'ENTERPRISE');
  });

  test('runs a query within its content security policy', async () => {
    const page = await openTab({});
    await page.addInitScript((token) => {
      localStorage.setItem('graphiql:headers', JSON.stringify({ authorization: `Bearer ${token}` }));
    }, alice.token);
    await page.goto(`${app.url}/graphql?query=${encodeURIComponent('{ viewer { tier } }')}`);
    await page.getByRole('button', { name: /execute/i }).click();
    await page.getByText('ENTERPRISE').waitFor();
    expect(page.complaints).toEqual([]);
  });
});
