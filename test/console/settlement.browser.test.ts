import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { leaseOf } from '../../src/features/payments/lease.ts';
import { claimed, hex, newPayment, openTestLedger, type TestLedger } from '../features/payments/support.ts';
import { createProject } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('in the console, settlement before the request', () => {
  const app = useService('api');
  let ledger: TestLedger;

  beforeAll(async () => {
    ledger = await openTestLedger({ url: app.databaseUrl });
  });
  afterAll(async () => {
    await ledger?.close();
  });

  test('can be chosen for an endpoint with a time limit, and an invalid limit is reported next to its field', async () => {
    const alice = await app.user('alice');
    const { id: projectId, base } = await createProject(alice, { name: 'Chat' });
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}/endpoints`);
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    await page.getByRole('dialog').getByLabel('Path').fill('/chat');
    await page.getByLabel('Upstream URL').fill('https://api.example.com/chat');
    expect(await page.getByLabel('After the response').isChecked()).toBe(true);
    await page.getByLabel('Time limit (seconds)').fill('90');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await expect.poll(() => page.getByLabel('Time limit (seconds)').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Before the request').check();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await page.getByRole('dialog', { name: 'Buyer preview' }).waitFor();
    const listed = await alice.rest<{ data: object[] }>('GET', `${base}/endpoints`);
    expect(listed.body.data).toMatchObject([{ settlement: 'BEFORE_REQUEST', timeoutSeconds: 90 }]);
    expect(page.complaints).toEqual([]);
  });

  test('is shown for a payment, with the reason why it was not served', async () => {
    const bob = await app.user('bob');
    const { id: projectId } = await createProject(bob, { name: 'Chat' });
    const lease = leaseOf(await claimed(ledger.ledger, newPayment(projectId, { settlement: 'BEFORE_REQUEST' })));
    await ledger.ledger.verified(lease);
    await ledger.ledger.settling(lease, 'VERIFIED');
    const { id } = await ledger.ledger.settled(lease, { transactionHash: hex(32), settledAt: new Date() });
    const start = await ledger.ledger.beginCall(id, 60);
    if (start.kind !== 'begun') throw new Error(start.kind);
    await ledger.ledger.endCall(start.call, { unservedReason: 'upstream_timeout', durationMs: 1 });

    const page = await openTab();
    await openSignedIn(page, app, bob.token, `/console/projects/${projectId}/payments`);
    await page.getByRole('link', { name: `Payment ${id}, Settled` }).click();
    await page.getByText('Not served: Your API took too long').waitFor();
    await page.getByRole('row', { name: 'Reason code upstream_timeout' }).waitFor();
    await page.getByRole('row', { name: 'Network Base Sepolia eip155:84532' }).waitFor();
    await page.getByText('Before the request').waitFor();
    await expectAccessible(page);
    expect(page.complaints).toEqual([]);
  });
});
