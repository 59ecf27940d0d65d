import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { firstIdAt, newId } from '../../src/ids.ts';
import { newPayment, openTestLedger, settled, type TestLedger } from '../features/payments/support.ts';
import type { TestUser } from '../support/app.ts';
import { insertPayment } from '../support/payments.ts';
import { createConnector, createEndpoint, createProject, createWebhook, WALLET } from '../support/resources.ts';
import { executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useService } from './shared.ts';

describe.skipIf(!executablePath)('the project pages of the console', () => {
  const app = useService('api');
  let alice: TestUser;
  let ledger: TestLedger;
  let projectId: string;
  let base: string;

  beforeAll(async () => {
    ledger = await openTestLedger({ url: app.databaseUrl });
  });
  afterAll(async () => {
    await ledger?.close();
  });

  async function open(path: string) {
    alice = await app.user('alice');
    ({ id: projectId, base } = await createProject(alice, { name: 'Weather' }));
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${projectId}${path}`);
    return page;
  }

  test('an endpoint can be created with a buyer preview, disabled, and deleted, and its form marks invalid fields', async () => {
    const page = await open('/endpoints');
    await page.getByText('Create your first paid endpoint').waitFor();
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    await page.getByRole('dialog').getByLabel('Path').fill('weather');
    await page.getByLabel('Upstream URL').fill('https://api.example.com/now');
    await page.getByLabel('Price (USD)').fill('2.5');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    await expect.poll(() => page.getByRole('dialog').getByLabel('Path').getAttribute('aria-invalid')).toBe('true');
    await expectAccessible(page);

    await page.getByRole('dialog').getByLabel('Path').fill('/weather/:city');
    await page.getByRole('button', { name: 'Create endpoint' }).click();
    const preview = page.getByRole('dialog', { name: 'Buyer preview' });
    await preview.getByText('$2.50').waitFor();
    await preview.getByRole('link', { name: `${app.url}/gateway/${projectId}/weather/1` }).waitFor();
    await preview.getByText('x402-fetch (0.10 USD) and @x402/fetch (1 USD)').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Warning for /weather/:city' }).press('Enter');
    await page.getByRole('dialog').getByText('x402-fetch (0.10 USD) and @x402/fetch (1 USD)').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Actions for /weather/:city' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByText('Disabled', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Actions for /weather/:city' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('Create your first paid endpoint').waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('the methods of an endpoint can be chosen, and a price of 0 makes it free', async () => {
    const page = await open('/endpoints');
    await page.getByRole('button', { name: 'Add endpoint' }).first().click();
    const form = page.getByRole('dialog', { name: 'New endpoint' });
    const isChecked = (method: string) => form.getByRole('checkbox', { name: method, exact: true }).isChecked();
    expect([await isChecked('GET'), await isChecked('POST'), await isChecked('PUT')]).toEqual([true, true, false]);
    await form.getByLabel('Path').fill('/status');
    await form.getByLabel('Upstream URL').fill('https://api.example.com/status');
    await form.getByLabel('Price (USD)').fill('0');
    for (const method of ['GET', 'HEAD', 'PUT'])
      await form.getByRole('checkbox', { name: method, exact: true }).click();
    await expectAccessible(page);
    await form.getByRole('button', { name: 'Create endpoint' }).click();
    const preview = page.getByRole('dialog', { name: 'Buyer preview' });
    await preview.getByText('This endpoint is free').waitFor();
    await preview.getByText(`curl -i -X POST '${app.url}/gateway/${projectId}/status'`).waitFor();
    expect(await preview.getByText('402 Payment Required').count()).toBe(0);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    const row = page.getByRole('row').filter({ hasText: '/status' });
    await row.getByText('Free', { exact: true }).waitFor();
    await row.getByText('POST, PUT', { exact: true }).waitFor();

    await row.getByRole('button', { name: '/status', exact: true }).click();
    const change = page.getByRole('dialog', { name: 'Edit endpoint' });
    for (const method of ['POST', 'PUT']) await change.getByRole('checkbox', { name: method, exact: true }).click();
    await change.getByRole('button', { name: 'Save changes' }).click();
    await change.getByText('Must have at least one method.').waitFor();
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
      await change.getByRole('checkbox', { name: method, exact: true }).click();
    await change.getByRole('button', { name: 'Save changes' }).click();
    await row.getByText('All methods').waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('what agents read about an endpoint is edited as JSON, and the form shows what is invalid', async () => {
    const page = await open('/endpoints');
    const { id } = await createEndpoint(alice, base, { path: '/weather', exampleResponse: { city: 'Bern' } });
    await page.reload();
    await page.getByRole('button', { name: 'Actions for /weather' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    expect(JSON.parse(await page.getByLabel('Example response').inputValue())).toEqual({ city: 'Bern' });
    await page.getByLabel('Input schema').fill('{"query":');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Invalid JSON.').waitFor();
    await page.getByLabel('Input schema').fill('{"query": {"type": "object", "properties": {"city": 1}}}');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('query.properties.city: Must be an object.').waitFor();
    await expectAccessible(page);

    await page.getByLabel('Input schema').fill('{"query": {"type": "object"}}');
    await page.getByLabel('Example response').fill('');
    await page.getByLabel('Media type').fill('text/csv');
    await page.getByRole('combobox', { name: 'Tags' }).fill('weather');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await alice.rest('GET', `${base}/endpoints/${id}`)).body).toMatchObject({
      inputSchema: { query: { type: 'object' } },
      exampleResponse: null,
      mimeType: 'text/csv',
      tags: ['weather'],
    });
    expect(page.complaints).toEqual([]);
  });

  test('the overview lists the next steps until all are done', async () => {
    const page = await open('');
    const steps = page.getByRole('region', { name: 'Next steps' });
    await expect.poll(() => steps.getByRole('img', { name: 'To do' }).count()).toBe(3);
    await page
      .getByRole('img', { name: /^Revenue/ })
      .getByText('$0.00', { exact: true })
      .waitFor();
    await createEndpoint(alice, base, { path: '/weather' });
    await page.reload();
    await steps.getByText(`${app.url}/gateway/${projectId}/weather`, { exact: true }).waitFor();
    expect(await steps.getByRole('link', { name: 'a buyer’s client' }).getAttribute('href')).toBe('/docs/buyers');
    expect(await steps.getByRole('img', { name: 'Done' }).count()).toBe(1);
    await createWebhook(alice, base);
    await settled(ledger.ledger, newPayment(projectId));
    await steps.waitFor({ state: 'detached' });
  });

  test('the charts count the days of the time zone that is chosen in the settings', async () => {
    const page = await open('/settings');
    await settled(ledger.ledger, newPayment(projectId));
    await page.getByRole('combobox', { name: 'Time zone' }).fill('St_Johns');
    await page.getByRole('option', { name: 'America/St_Johns' }).click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Changes saved').waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page
      .getByText('Days begin at midnight in America/St_Johns. For deliveries, they begin at midnight UTC.')
      .click();
    const revenue = page.getByRole('row', { name: /so far/ }).getByRole('link', { name: /^Revenue, / });
    expect(await revenue.textContent()).toContain('$0.01');
    expect(await revenue.getAttribute('href')).toMatch(/finishedFrom=[\dT-]+(02|03)%3A30%3A00.000Z/);
    await page.getByText('UTC', { exact: true }).click();
    await page.getByText(/^Days begin at midnight in America\/St_Johns, which is 0[23]:30 in UTC\./).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('an API key is shown once, works, and can be revoked', async () => {
    const page = await open('/keys');
    await page.getByRole('button', { name: 'Create API key' }).first().click();
    await page.getByLabel('Name').fill('Deployment');
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new API key' });
    const key = await dialog.locator('pre').innerText();
    const ask = () => fetch(`${app.url}${base}`, { headers: { authorization: `Bearer ${key}` } });
    expect((await ask()).status).toBe(200);
    await expectAccessible(page);
    await dialog.getByLabel('I’ve stored it in a safe place').check();
    await dialog.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('button', { name: 'Revoke Deployment' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('Create your first API key').waitFor();
    expect((await ask()).status).toBe(401);
    expect(await page.content()).not.toContain(key);
  });

  test('a payment appears without a reload, with its amount, customer, and transaction', async () => {
    const page = await open('/payments');
    await page.getByText('No payments yet').waitFor();
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    const payment = await settled(ledger.ledger, newPayment(projectId, { amountAtomic: 1_250_000n }));
    await page.getByText('$1.25').first().waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: `Payment ${payment.id}, Settled` }).click();
    const transaction = page.getByRole('link', { name: payment.transactionHash! });
    expect(await transaction.getAttribute('href')).toBe(`https://sepolia.basescan.org/tx/${payment.transactionHash}`);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('link', { name: 'Customers' }).click();
    const denied = async () =>
      (await alice.rest<{ deniedWallets: string[] }>('GET', `${base}/buyer-rules`)).body.deniedWallets;
    for (const [action, count] of [
      ['Deny', 1],
      ['Allow', 0],
    ] as const) {
      await page.getByRole('button', { name: /^Actions for 0x/ }).click();
      await page.getByRole('menuitem', { name: action }).click();
      await expect.poll(() => page.getByText('Can’t pay', { exact: true }).count()).toBe(count);
      expect(await denied()).toHaveLength(count);
    }
    await page.getByRole('link', { name: /^Payments from 0x/ }).click();
    await page.waitForURL('**/payments?status=SETTLED&payer=0x*');
    await page.getByText('$1.25').first().waitFor();
    // No open payment matches the filter.
    expect(await page.getByRole('main').getByRole('link', { name: 'Open', exact: true }).count()).toBe(0);
    await page.getByRole('link', { name: 'Customers' }).click();
    await page.getByRole('main').getByRole('link', { name: 'Settled payments' }).click();
    await page.waitForURL('**/payments?status=SETTLED');
    await page.getByText('$1.25').first().waitFor();
    await page.getByRole('link', { name: 'Payments', exact: true }).click();
    await page.getByRole('main').getByRole('link', { name: 'Open', exact: true }).click();
    await page.waitForURL('**/payments?status=CLAIMED&status=VERIFIED&*');
    await page.getByText('No matching payments').waitFor();

    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('1 settled payment', { exact: true }).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('every card and row of the overview links to the list of the items that it counts', async () => {
    const page = await open('');
    const { id: endpointId } = await createEndpoint(alice, base, { path: '/weather' });
    const payment = await settled(ledger.ledger, newPayment(projectId, { endpointId, amountAtomic: 1_250_000n }));
    // A payment that was received before the period, and settled in it, counts.
    const { paymentId } = await insertPayment(ledger.db.pool, {
      projectId,
      endpointId: newId('Endpoint'),
      mark: 'slow',
    });
    const tenDaysAgo = firstIdAt('Payment', Date.now() - 10 * 24 * 3_600_000);
    await ledger.db.pool.query('UPDATE "Payment" SET id = $2 WHERE id = $1', [paymentId, tenDaysAgo]);
    // The period is in the URL: it is still there on reload, and on going back from a list.
    await page.getByRole('radiogroup', { name: 'Period' }).getByText('7 days').click();
    await page.waitForURL('**?period=7d');
    const overview = page.url();
    await page.reload();
    const isChosen = () => page.getByRole('radio', { name: '7 days' }).isChecked();
    await expect.poll(isChosen).toBe(true);
    await page.getByRole('main').getByRole('link', { name: 'Revenue', exact: true }).click();
    await page.waitForURL('**/payments?*');
    await page.goBack();
    await expect.poll(isChosen).toBe(true);
    const ways: [string | RegExp, RegExp, string][] = [
      ['Revenue', /payments\?status=SETTLED&finishedFrom=/, '2'],
      ['Payment success rate', /payments\?from=/, '1'],
      ['Payments for /slow', /payments\?status=SETTLED&endpointId=ep_.*&finishedFrom=/, '1'],
      ['Payments for /weather', new RegExp(`payments\\?status=SETTLED&endpointId=${endpointId}&finishedFrom=`), '1'],
      [/^Payments from 0x/, new RegExp(`payments\\?status=SETTLED&customerId=${payment.customerId}&finished`), '1'],
      ['Delivery success rate', /deliveries\?status=SUCCEEDED&status=FAILED&finishedFrom=/, ''],
    ];
    for (const [name, address, count] of ways) {
      await page.goto(overview);
      const link = typeof name === 'string' ? { name, exact: true } : { name };
      await page.getByRole('main').getByRole('link', link).first().click();
      await page.waitForURL(address);
      if (count) await expect.poll(() => page.getByRole('definition').nth(1).innerText()).toBe(count);
    }
    await page.goto(overview);
    await expectAccessible(page);
    await page.getByRole('main').getByRole('link', { name: 'Customers', exact: true }).click();
    await page.waitForURL(/customers\?from=/);
    await expect.poll(() => page.getByRole('definition').allInnerTexts()).toEqual(['2', '2', '$1.26']);
    await page.getByLabel('Spent at least (USD)').fill('1');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('definition').allInnerTexts()).toEqual(['1', '1', '$1.25']);
    expect(page.complaints).toEqual([]);
  });

  test('the limits page shows the remaining requests and the connectors in use', async () => {
    const page = await open('/limits');
    await createConnector(alice, base);
    await page.reload();
    await page.getByText('of 5', { exact: true }).waitFor();
    const left = page.getByRole('definition').filter({ hasText: /^2\d\d$/ });
    await left.waitFor();
    expect(Number(await left.innerText())).toBeLessThan(300);
    expect(page.complaints).toEqual([]);
  });

  test('a changed wallet or custom domain is saved only after the user types the new value', async () => {
    const page = await open('/settings');
    const wallet = '0x1F98431c8aD98523631AE4a59f267346ea31F984';
    const project = async () =>
      (await alice.rest<{ name: string; walletAddress: string; gatewayHost: string | null }>('GET', base)).body;
    await page.getByLabel('Name').fill('Climate');
    await page.getByLabel('Wallet address').fill(wallet.toLowerCase());
    await page.getByRole('button', { name: 'Save changes' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change wallet' });
    await dialog.getByText(WALLET, { exact: true }).waitFor();
    await dialog.getByText(wallet.toLowerCase(), { exact: true }).waitFor();
    expect(await project()).toMatchObject({ name: 'Weather', walletAddress: WALLET });
    const change = dialog.getByRole('button', { name: 'Change' });
    await dialog.getByRole('textbox').fill(WALLET);
    expect(await change.isDisabled()).toBe(true);
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Save changes' }).click();
    expect(await dialog.getByRole('textbox').inputValue()).toBe('');
    await dialog.getByRole('textbox').fill(wallet.toLowerCase());
    await change.click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Changes saved').first().waitFor();
    expect(await project()).toMatchObject({ name: 'Climate', walletAddress: wallet });
    await expect.poll(() => page.getByLabel('Wallet address').inputValue()).toBe(wallet);

    const both = page.getByRole('dialog', { name: 'Change wallet and custom domain' });
    await page.getByLabel('Wallet address').fill(WALLET);
    await page.getByRole('textbox', { name: 'Custom domain' }).fill('pay.climate.example');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await both.getByRole('textbox').nth(0).fill(WALLET);
    expect(await both.getByRole('button', { name: 'Change' }).isDisabled()).toBe(true);
    await both.getByRole('textbox').nth(1).fill('pay.climate.example');
    await both.getByRole('button', { name: 'Change' }).click();
    await expect.poll(project).toMatchObject({ walletAddress: WALLET, gatewayHost: 'pay.climate.example' });

    await both.waitFor({ state: 'detached' });
    await page.getByRole('textbox', { name: 'Custom domain' }).fill('');
    await page.getByRole('button', { name: 'Save changes' }).click();
    const removal = page.getByRole('dialog', { name: 'Change custom domain' });
    await removal.getByText('reserved for your account for 30 days').waitFor();
    await removal.getByLabel('Type pay.climate.example to confirm').fill('pay.climate.example');
    await removal.getByRole('button', { name: 'Change' }).click();
    await expect.poll(project).toMatchObject({ gatewayHost: null });
    expect(page.complaints).toEqual([]);
  });

  test('the upstream secret can be rotated, and the page says how long the previous one works', async () => {
    const page = await open('/settings');
    const secret = page.locator('input[aria-label="Upstream secret"]');
    const first = await secret.inputValue();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'Rotate upstream secret' });
    await dialog.getByText(/^The current secret works until .+\.$/).waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByText('Secret rotated').waitFor();
    await page.getByText(/^The previous secret works until .+\.$/).waitFor();
    await expect.poll(() => secret.inputValue()).not.toBe(first);
    const { body } = await alice.rest<{ upstreamSecret: string }>('GET', `${base}/upstream-secret`);
    expect(await secret.inputValue()).toBe(body.upstreamSecret);
    expect(page.complaints).toEqual([]);
  });

  test('an invalid wallet is marked in the form, and nothing is saved', async () => {
    const page = await open('/settings');
    await page.getByLabel('Wallet address').fill('0x0');
    await page.getByRole('button', { name: 'Save changes' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change wallet' });
    await dialog.getByRole('textbox').fill('0x0');
    await dialog.getByRole('button', { name: 'Change' }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByLabel('Wallet address').getAttribute('aria-invalid')).toBe('true');
    expect((await alice.rest('GET', base)).body).toMatchObject({ walletAddress: WALLET });
  });

  test('settings are saved, and a project is deleted only after the user types its name', async () => {
    const page = await open('/settings');
    await page.getByLabel('Name').fill('Climate');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Changes saved').waitFor();

    const rules = async () => (await alice.rest('GET', `${base}/buyer-rules`)).body;
    const denied = page.getByLabel('Denied wallets');
    const save = page.getByRole('button', { name: 'Save buyer access' });
    await denied.fill(`${WALLET.toLowerCase()}, 0x0`);
    await page.getByLabel('Requests per wallet').fill('5');
    await save.click();
    await expect.poll(() => denied.getAttribute('aria-invalid')).toBe('true');
    await denied.fill(WALLET.toLowerCase());
    await save.click();
    await expect.poll(() => denied.inputValue()).toBe(WALLET);
    expect(await rules()).toMatchObject({ deniedWallets: [WALLET], maxRequests: 5, maxSpendUsd: null });
    await page.getByLabel('Requests per wallet').fill('');
    await page.getByLabel('Spend per wallet (USD)').fill('2.50');
    await save.click();
    await expect.poll(() => page.getByLabel('Spend per wallet (USD)').inputValue()).toBe('2.5');
    expect(await rules()).toMatchObject({ deniedWallets: [WALLET], maxRequests: null, maxSpendUsd: '2.5' });
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Delete project' }).click();
    const confirm = page.getByRole('button', { name: 'Delete permanently' });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel('Type Climate to confirm').fill('Climate');
    await confirm.click();
    await page.waitForURL('**/console/');
    expect((await alice.rest('GET', base)).status).toBe(404);
  });
});
