import { Webhook as StandardWebhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { createConnector, createEndpoint, createWebhook } from '../support/resources.ts';
import { executablePath, expectAccessible } from './browser.ts';
import { useDestinationStage } from './destination-stage.ts';

describe.skipIf(!executablePath)('the webhooks and connectors pages of the console', () => {
  const stage = useDestinationStage();

  type List = { data: { id: string; config: object; filter: object | null; eventTypes: string[] }[] };

  test('a new webhook’s secret is shown once and verifies a test event sent from the page', async () => {
    const page = await stage.open('/webhooks');
    await page.getByRole('button', { name: 'Add webhook' }).first().click();
    await page.getByLabel('URL').fill('example.com/hook');
    await page.getByText('JSON', { exact: true }).click();
    await page.getByLabel('Filter', { exact: true }).fill('{');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByText('Invalid JSON').waitFor();
    await page.getByLabel('Filter', { exact: true }).fill('{"data.amountUsd": {"gte": "1.00"}}');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await expect.poll(() => page.getByLabel('URL').getAttribute('aria-invalid')).toBe('true');
    await expectAccessible(page);

    await page.getByLabel('URL').fill(`${stage.receiver.url}/hook`);
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your signing secret' });
    const secret = await dialog.locator('pre').innerText();
    await expectAccessible(page);
    await dialog.getByLabel('I’ve stored it in a safe place').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    const [webhook] = (await stage.alice.rest<List>('GET', `${stage.base}/webhooks`)).body.data;
    expect(webhook!.filter).toEqual({ 'data.amountUsd': { gte: '1.00' } });

    await page.getByRole('button', { name: `Actions for ${stage.receiver.url}/hook` }).click();
    await expectAccessible(page);
    await page.getByRole('menuitem', { name: 'Send test event' }).click();
    await expect.poll(() => stage.receiver.requests.length).toBe(1);
    const [request] = stage.receiver.requests;
    const headers = request!.headers as Record<string, string>;
    expect(new StandardWebhook(secret).verify(request!.body, headers)).toMatchObject({ test: true });
    expect(page.complaints).toEqual([]);
  });

  test('a webhook’s ordering, payload version, and rate limit can be set, validated, and changed', async () => {
    const page = await stage.open('/webhooks');
    await page.getByRole('button', { name: 'Add webhook' }).first().click();
    await page.getByLabel('URL').fill(`${stage.receiver.url}/ordered`);
    await page.getByRole('combobox', { name: 'Ordering' }).click();
    await page.getByRole('option', { name: /^By payment/ }).click();
    await page.getByLabel('Failed attempts before skipping ahead').fill('101');
    await page.getByLabel('Payload version').fill('1');
    await page.getByLabel('Rate limit (requests per second)').fill('0.5');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await expect
      .poll(() => page.getByLabel('Failed attempts before skipping ahead').getAttribute('aria-invalid'))
      .toBe('true');
    await expectAccessible(page);
    await page.getByLabel('Failed attempts before skipping ahead').fill('7');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your signing secret' });
    await dialog.getByLabel('I’ve stored it in a safe place').check();
    await dialog.getByRole('button', { name: 'Done' }).click();
    const ordered = async () =>
      (await stage.alice.rest<{ data: object[] }>('GET', `${stage.base}/webhooks`)).body.data[0];
    expect(await ordered()).toMatchObject({
      ordering: 'PAYMENT',
      orderingEscapeAfterAttempts: 7,
      payloadVersion: 1,
      maxPerSecond: 0.5,
    });

    await page.getByRole('button', { name: `${stage.receiver.url}/ordered`, exact: true }).click();
    expect(await page.getByLabel('Failed attempts before skipping ahead').inputValue()).toBe('7');
    await page.getByRole('combobox', { name: 'Ordering' }).click();
    await page.getByRole('option', { name: /^None/ }).click();
    await page.getByLabel('Rate limit (requests per second)').fill('');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await expect.poll(ordered).toMatchObject({ ordering: 'NONE', orderingEscapeAfterAttempts: 7, maxPerSecond: null });
    expect(page.complaints).toEqual([]);
  });

  test('a webhook whose server is down is marked as down', async () => {
    const page = await stage.open('/webhooks');
    stage.receiver.handle(() => ({ statusCode: 500 }));
    const { id } = (
      await stage.alice.rest<{ id: string }>('POST', `${stage.base}/webhooks`, {
        url: `${stage.receiver.url}/down`,
        eventTypes: ['*'],
      })
    ).body;
    for (let count = 0; count < 5; count += 1) await stage.alice.rest('POST', `${stage.base}/webhooks/${id}/test`, {});
    const circuit = async () =>
      (
        await stage.alice.graphql<{ node: { circuitOpenUntil: string | null } }>(
          'query ($id: ID!) { node(id: $id) { ... on Webhook { circuitOpenUntil } } }',
          { id },
        )
      ).data!.node.circuitOpenUntil;
    await expect.poll(circuit).not.toBeNull();
    await page.reload();
    await page.getByText('Down', { exact: true }).waitFor();
    await page.getByText('Deliveries are on hold after repeated failures').waitFor();
    await expectAccessible(page);
    stage.receiver.handle(() => ({}));
  });

  test('disabling a webhook requires confirmation, explains that events are skipped, and makes test events unavailable', async () => {
    const page = await stage.open('/webhooks');
    const { id } = await createWebhook(stage.alice, stage.base, { url: `${stage.receiver.url}/off` });
    await page.reload();
    const act = async (action: string) => {
      await page.getByRole('button', { name: `Actions for ${stage.receiver.url}/off` }).click();
      await page.getByRole('menuitem', { name: action, exact: true }).click();
    };
    await act('Delete');
    const deletion = page.getByRole('dialog', { name: 'Delete webhook' });
    await deletion.getByText('events that happen while it’s disabled are skipped').waitFor();
    await deletion.getByRole('button', { name: 'Cancel' }).click();
    await act('Disable');
    const dialog = page.getByRole('dialog', { name: 'Disable webhook' });
    await dialog.getByText('Events that happen while it’s disabled are skipped').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const isActive = async () =>
      (await stage.alice.rest<{ isActive: boolean }>('GET', `${stage.base}/webhooks/${id}`)).body.isActive;
    expect(await isActive()).toBe(true);
    await act('Disable');
    await dialog.getByText('To hold events and send them later, pause the webhook instead.').waitFor();
    await dialog.getByRole('button', { name: 'Pause instead' }).click();
    await page.getByText('Paused manually. Deliveries are held until you resume the destination.').waitFor();
    expect(await isActive()).toBe(true);
    await act('Disable');
    expect(await dialog.getByRole('button', { name: 'Pause instead' }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await act('Resume');
    await page.getByText('Active', { exact: true }).waitFor();
    await act('Disable');
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Events are skipped').waitFor();
    expect(await isActive()).toBe(false);

    await page.getByRole('button', { name: `Actions for ${stage.receiver.url}/off` }).click();
    const testItem = page.getByRole('menuitem', { name: 'Send test event' });
    await testItem.getByText('Enable it first').waitFor();
    expect(await testItem.isDisabled()).toBe(true);
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await testItem.waitFor({ state: 'detached' });

    // Once the webhook is enabled, a replay sends the skipped delivery.
    await createEndpoint(stage.alice, stage.base, { path: '/while-off' });
    await act('Enable');
    await page.getByText('Active', { exact: true }).waitFor();
    const skipped = { filter: { status: ['SKIPPED'], webhookId: id } };
    expect((await stage.alice.rest('POST', `${stage.base}/replays`, skipped)).status).toBe(200);
    await expect
      .poll(() => stage.receiver.requests.some(({ body }) => body.toString().includes('/while-off')))
      .toBe(true);
    expect(page.complaints).toEqual([]);
  });

  test.each([
    ['webhook', () => createWebhook(stage.alice, stage.base, { url: `${stage.receiver.url}/paused` })],
    ['connector', () => createConnector(stage.alice, stage.base)],
  ] as const)('a %s can be paused and resumed, and its status says that deliveries are held', async (kind, create) => {
    const page = await stage.open(`/${kind}s`);
    const { id } = await create();
    await page.reload();
    const act = async (action: string) => {
      await page.getByRole('button', { name: /^Actions for/ }).click();
      await page.getByRole('menuitem', { name: action, exact: true }).click();
    };
    const isPaused = async () =>
      (await stage.alice.rest<{ isPaused: boolean }>('GET', `${stage.base}/${kind}s/${id}`)).body.isPaused;
    await act('Pause');
    await page.getByText('Paused manually. Deliveries are held until you resume the destination.').waitFor();
    expect(await isPaused()).toBe(true);
    await expectAccessible(page);
    await act('Resume');
    await page.getByText('Active', { exact: true }).waitFor();
    expect(await isPaused()).toBe(false);
  });

  test('a test event for a webhook that someone else just disabled is reported as not sent', async () => {
    const page = await stage.open('/webhooks');
    const { id } = await createWebhook(stage.alice, stage.base, { url: `${stage.receiver.url}/quiet` });
    await page.reload();
    await page.getByText('Active', { exact: true }).waitFor();
    await stage.alice.rest('PATCH', `${stage.base}/webhooks/${id}`, { isActive: false });
    await page.getByRole('button', { name: `Actions for ${stage.receiver.url}/quiet` }).click();
    await page.getByRole('menuitem', { name: 'Send test event' }).click();
    await page.getByText('Test event not sent').waitFor();
    expect(await page.getByText('Test event queued').count()).toBe(0);
    expect(stage.receiver.requests.some(({ path }) => path === '/quiet')).toBe(false);
  });

  test('a disabled connector’s menu says why it can’t send a test event', async () => {
    const page = await stage.open('/connectors');
    const config = { webhookUrl: 'https://n8n.example.com/webhook/off' };
    const { id } = await createConnector(stage.alice, stage.base, { type: 'n8n', config });
    await stage.alice.rest('PATCH', `${stage.base}/connectors/${id}`, { isActive: false });
    await page.reload();
    await page.getByRole('button', { name: /^Actions for n8n/ }).click();
    const testItem = page.getByRole('menuitem', { name: 'Send test event' });
    await testItem.getByText('Enable it first').waitFor();
    expect(await testItem.isDisabled()).toBe(true);
    await expectAccessible(page);
  });

  test('a signing secret can be rotated, and the page explains how to verify signatures', async () => {
    const page = await stage.open('/webhooks');
    const { id } = (
      await stage.alice.rest<{ id: string }>('POST', `${stage.base}/webhooks`, {
        url: `${stage.receiver.url}/rotated`,
        eventTypes: ['payment.settled'],
      })
    ).body;
    await page.reload();
    await page.getByText('payment.settled').waitFor();
    await page.getByRole('button', { name: `Actions for ${stage.receiver.url}/rotated` }).click();
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
    await page.getByLabel('Overlap (hours)').fill('2');
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await page
      .getByRole('dialog', { name: 'Your signing secret' })
      .getByText(/^whsec_/)
      .waitFor();
    const { body } = await stage.alice.rest<{ previousSecretExpiresAt: string }>('GET', `${stage.base}/webhooks/${id}`);
    expect(body.previousSecretExpiresAt).not.toBeNull();
    await page.reload();
    await page.getByRole('button', { name: 'Verify signatures' }).click();
    await page.getByText('standardwebhooks').first().waitFor();
    await expectAccessible(page);
  });

  test('a connector’s form matches its type, marks invalid fields, and never shows a secret again', async () => {
    const page = await stage.open('/connectors');
    await page.getByRole('button', { name: 'Add connector' }).first().click();
    await page.getByLabel('Search connectors').fill('slack');
    await expectAccessible(page);
    await page.getByRole('button', { name: /^Slack/ }).click();
    const field = page.getByRole('dialog', { name: 'Slack' }).getByRole('textbox').first();
    await field.fill('https://example.com/not-slack');
    await page.getByRole('button', { name: 'Create connector' }).click();
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true');
    await expectAccessible(page);
    const url = 'https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx';
    await field.fill(url);
    await page.getByRole('button', { name: 'Create connector' }).click();
    await page.getByRole('button', { name: 'Slack', exact: true }).click();
    await expect.poll(() => field.inputValue()).toMatch(/^••••/);
    expect(await page.content()).not.toContain(url);

    // Saving the masked value keeps the secret.
    await page.getByLabel('Rate limit (requests per second)').fill('1001');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await expect
      .poll(() => page.getByLabel('Rate limit (requests per second)').getAttribute('aria-invalid'))
      .toBe('true');
    await page.getByLabel('Rate limit (requests per second)').fill('3');
    await page.getByText('JSON', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Filter' }).fill('{"data.path": {"exists": true}}');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('dialog', { name: 'Slack' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^Actions for Slack/ }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    const dialog = page.getByRole('dialog', { name: 'Disable connector' });
    await dialog.getByText('Events that happen while it’s disabled are skipped').waitFor();
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('Disabled', { exact: true }).waitFor();
    await page.getByText('Events are skipped').waitFor();
    expect(page.complaints).toEqual([]);
  });
});
