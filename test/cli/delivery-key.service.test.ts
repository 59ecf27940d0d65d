import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXIT_CODES } from '../../src/cli/failure.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli, startCli } from '../support/cli.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createConnector, createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';

describe('with an API key that has only the scope DELIVERIES', () => {
  let app: TestApp;
  let alice: TestUser;
  let receiver: Receiver;
  let projectId: string;
  let base: string;
  let webhookId: string;
  let deliveryId: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    app = await startTestApp();
    alice = await app.user('alice');
    receiver = await startReceiver();
    ({ id: projectId, base } = await createProject(alice));
    ({ id: webhookId } = await createWebhook(alice, base, { url: receiver.url, eventTypes: ['endpoint.created'] }));
    await createConnector(alice, base, { eventTypes: ['payment.settled'] });
    const { key } = await createKey(alice, base, { scopes: ['DELIVERIES'] });
    env = { TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key };
    await createEndpoint(alice, base);
    await receiver.waitFor(1);
    const { body } = await alice.rest<{ data: { id: string }[] }>('GET', `${base}/deliveries`);
    deliveryId = body.data[0]!.id;
  });
  afterAll(async () => {
    await receiver?.close();
    await app?.stop();
  });

  /** Runs a command that must succeed. @returns what it prints. */
  async function output(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runCli(args, env);
    expect({ args, code, stderr }).toMatchObject({ code: 0 });
    return stdout;
  }

  test('deliveries tail prints earlier deliveries and new ones', async () => {
    const cli = startCli(['deliveries', 'tail', '--since', '1h'], env);
    await cli.waitFor(new RegExp(`${deliveryId}.*SUCCEEDED`));
    await createEndpoint(alice, base);
    await expect.poll(() => new Set(cli.lines().map((line) => line.match(/dlv_\w+/)?.[0])).size).toBe(2);
    cli.signal('SIGINT');
    expect(await cli.ended).toMatchObject({ code: 0, stderr: expect.stringContaining(projectId) });
  });

  test('deliveries show, resend, trigger, and replay work', async () => {
    expect(await output('deliveries', 'show', deliveryId)).toContain('why:');
    expect(await output('deliveries', 'resend', deliveryId)).toMatch(/SUCCEEDED/);
    expect(await output('trigger', 'endpoint.created')).toMatch(new RegExp(`→ ${webhookId} .*SUCCEEDED`));
    expect(await output('replay', '--status', 'succeeded', '--since', '1h', '--yes')).toMatch(/COMPLETED/);
  });

  test('listen forwards events', async () => {
    await using local = await startReceiver();
    const cli = startCli(['listen', '--webhook', webhookId, '--forward-to', local.url], env);
    await cli.waitFor(/Forwarding to/);
    await createEndpoint(alice, base);
    await local.waitFor(1);
    await cli.waitFor(/endpoint\.created +evt_\w+ +→ 200/);
    cli.signal('SIGINT');
    expect((await cli.ended).code).toBe(0);
  });

  test.each(['deliveries', 'events', 'webhooks', 'connectors', 'replays'])('list %s prints items', async (path) => {
    expect(await output('list', path)).not.toBe('');
  });

  test.each(['deliveries', 'events'])('export %s prints a file', async (what) => {
    expect(await output('export', what)).toMatch(/dlv_|evt_/);
  });

  test.each([
    ['list', 'payments'],
    ['list', 'endpoints'],
    ['list', 'audit-log'],
    ['export', 'payments'],
    ['search', 'weather'],
  ])('%s %s is rejected with an error that names the required scope', async (...args) => {
    expect(await runCli(args, env)).toMatchObject({
      code: EXIT_CODES.forbidden,
      stdout: '',
      stderr: expect.stringMatching(/This API key does not have the scope READ( or PAYMENTS)?\./),
    });
  });

  test('payments need the scope PAYMENTS, which is enough to list and export them', async () => {
    const { key } = await createKey(alice, base, { scopes: ['PAYMENTS'] });
    const own = { ...env, TOLLGATE_API_KEY: key };
    for (const args of [
      ['list', 'payments'],
      ['list', 'customers'],
      ['export', 'payments'],
      ['export', 'customers'],
      ['export', 'revenue'],
    ]) {
      expect({ args, ...(await runCli(args, own)) }).toMatchObject({ args, code: 0 });
    }
    expect(await runCli(['list', 'deliveries'], own)).toMatchObject({ code: EXIT_CODES.forbidden });
  });
});
