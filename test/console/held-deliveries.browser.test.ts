import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleConfig } from '../connectors/support/configs.ts';
import type { TestUser } from '../support/app.ts';
import { createEndpoint, createProject, type Resource } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

const REASON = "Reopen the books for 2026-01-02, then resend this delivery: 12.34 USD for 2026-01-02 isn't booked.";

describe.skipIf(!executablePath)('held deliveries in the console', () => {
  const app = useService('service');
  let pool: pg.Pool;
  let alice: TestUser;
  let shop: Resource & { base: string };

  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: app.databaseUrl });
    alice = await app.user('alice', 'ENTERPRISE');
    shop = await createProject(alice);
  });
  afterAll(async () => {
    await pool?.end();
  });

  test('have that status in the list and in the drawer, which says what to do, and their notice links there', async () => {
    const body = { type: 'slack', config: sampleConfig('slack', 'required', 'mark'), eventTypes: ['*'] };
    const { body: connector } = await alice.rest<Resource>('POST', `${shop.base}/connectors`, body);
    const path = `${shop.base}/connectors/${connector.id}`;
    expect((await alice.rest('PATCH', path, { isPaused: true })).status).toBe(200);
    await createEndpoint(alice, shop.base);
    const {
      rows: [delivery],
    } = await pool.query<{ id: string }>(
      'UPDATE "Delivery" SET "reason" = $2 WHERE "connectorId" = $1 RETURNING "id"',
      [connector.id, REASON],
    );
    expect((await alice.rest('PATCH', path, { isPaused: false })).status).toBe(200);

    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${shop.id}/deliveries?status=PENDING`);
    const row = page.getByRole('row').filter({ hasText: 'endpoint.created' });
    await row.getByText('Held', { exact: true }).waitFor();
    await page.goto(`${app.url}/console/projects/${shop.id}/notices`);
    await page.getByText(REASON).first().waitFor();
    await page.getByRole('link', { name: 'A delivery to Slack is held' }).click();
    await page.waitForURL((url) => url.pathname.endsWith(`/deliveries/${delivery!.id}`));
    const drawer = page.getByRole('dialog', { name: 'Delivery' });
    await drawer.getByText('Held', { exact: true }).waitFor();
    await drawer.getByText(`Slack doesn’t accept this event as it is: ${REASON}`).waitFor();
    await drawer.getByText('The delivery is held until you resend it.').waitFor();
    await expectAccessible(page);
    expect(await drawer.getByRole('button', { name: 'Resend' }).isEnabled()).toBe(true);
  });
});
