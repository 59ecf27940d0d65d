import pino from 'pino';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestPayments, type TestPayments } from '../../src/sandbox/test-payments.ts';
import { type Rails, SELLER, startRails } from '../gateway/support.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { sendRaw } from '../support/raw-http.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject } from '../support/resources.ts';
import { closeTabs, executablePath, expectAccessible, openSignedIn, openTab } from './browser.ts';
import { useBrowser } from './shared.ts';

describe.skipIf(!executablePath)('test payments in the console', () => {
  useBrowser();
  let rails: Rails;
  let testPayments: TestPayments;
  let api: Receiver;
  let app: TestApp;
  let alice: TestUser;

  beforeAll(async () => {
    rails = await startRails();
    api = await startReceiver();
    const privateKey = generatePrivateKey();
    await rails.chain.giveDollars(privateKeyToAccount(privateKey).address, 1_000_000n);
    testPayments = createTestPayments(privateKey, pino({ level: 'silent' }));
    app = await startTestApp({ env: rails.env, testPayments });
    alice = await app.user('alice');
  });
  afterAll(async () => {
    await closeTabs();
    await app?.stop();
    await testPayments?.close();
    await api?.close();
    await rails?.close();
  });

  test('a seller buys from a new endpoint, and sees the response and the transaction', async () => {
    const { id, base } = await createProject(alice, { walletAddress: SELLER });
    await createEndpoint(alice, base, {
      path: '/echo/:id',
      upstreamUrl: `${api.url}/echo/:id`,
      methods: ['GET', 'POST'],
    });
    api.handle(({ method, path, body }) => ({ body: `${method} ${path} ${body}` }));
    const page = await openTab();
    await openSignedIn(page, app, alice.token, `/console/projects/${id}`);
    const steps = page.getByRole('region', { name: 'Next steps' });
    await steps.getByText('choose “Preview as buyer”, and then “Make a test payment”').waitFor();
    await steps.getByRole('link', { name: 'Endpoints' }).last().click();
    await page.getByRole('button', { name: 'Actions for /echo/:id' }).click();
    await page.getByRole('menuitem', { name: 'Preview as buyer' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Path' }).fill(`/gateway/${id}/echo/7?x=1`);
    await page.getByLabel('Method', { exact: true }).selectOption('POST');
    await page.getByLabel('Request body (JSON)').fill('{"a":1}');
    await page.getByRole('button', { name: 'Make a test payment' }).click();
    await page.getByText('POST /echo/7?x=1 {"a":1}').waitFor();
    await page.getByText('Paid', { exact: true }).waitFor();
    await expectAccessible(page);
    const { body } = await alice.rest<{ data: { transactionHash: string }[] }>('GET', `${base}/payments`);
    expect(body.data).toHaveLength(1);
    await page.getByText(body.data[0]!.transactionHash).waitFor();

    api.handle(() => ({ statusCode: 500 }));
    await page.getByRole('button', { name: 'Make a test payment' }).click();
    await page.getByText('Not charged').waitFor();
    await page.getByRole('link', { name: 'Open payments' }).click();
    await page.getByRole('row', { name: /Settled.*POST \/echo\/:id/ }).waitFor();
    expect(page.complaints).toEqual([]);
  });

  test('a server without a sandbox has no test payments', async () => {
    const other = await startTestApp({ env: { ROLES: 'api' } });
    const { hasTestPayments } = (await (await fetch(`${other.url}/console/config.json`)).json()) as Record<
      string,
      boolean
    >;
    expect(hasTestPayments).toBe(false);
    expect((await fetch(`${other.url}/console/test-payments`, { method: 'POST' })).status).toBe(404);
    await other.stop();
  });

  test.each<[string, string | undefined, object, Record<string, string>, number]>([
    ['without a credential', undefined, {}, {}, 401],
    ['through another host name', 'token', {}, { host: 'evil.example' }, 403],
    ['to a path outside the gateway', 'token', { path: '/api/projects' }, {}, 422],
    ['out of the gateway with `..`', 'token', { path: '/gateway/proj_x/../../api/projects' }, {}, 422],
    ['to another server', 'token', { path: '//evil.example/gateway/' }, {}, 422],
    ['with an impossible method', 'token', { method: 'GET X' }, {}, 422],
  ])('a request %s is rejected', async (_what, credential, changes, headers, status) => {
    const body = JSON.stringify({ path: '/gateway/proj_x/a', method: 'GET', ...changes });
    const lines = {
      host: new URL(app.url).host,
      ...headers,
      ...(credential && { authorization: `Bearer ${alice.token}` }),
      'content-type': 'application/json',
      'content-length': String(body.length),
    };
    const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
    const [response] = await sendRaw(app.url, [`POST /console/test-payments HTTP/1.1\r\n${head.join('')}\r\n${body}`]);
    expect(response!.status).toBe(status);
  });
});
