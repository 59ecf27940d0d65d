import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli, startCli } from '../support/cli.ts';
import { startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';

let app: TestApp;
let user: TestUser;
let env: Record<string, string>;

beforeAll(async () => {
  // Long enough that no retry interferes with a test, even on a slow machine.
  app = await startTestApp({ delivery: { retryScheduleSeconds: [3600] } });
  user = await app.user('alice');
});
afterAll(() => app.stop());

async function projectFor(receiverUrl: string) {
  const project = await createProject(user);
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: project.id };
  const webhook = await createWebhook(user, project.base, { url: receiverUrl });
  return { ...project, webhookId: webhook.id };
}

describe('trigger', () => {
  test('sends a test event to every active webhook and shows each result', async () => {
    await using good = await startReceiver();
    const { base } = await projectFor(good.url);
    await createWebhook(user, base, { url: good.url });
    const { code, stdout, stderr } = await runCli(['trigger', 'payment.settled'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Sent payment.settled to 2 webhooks.\n' });
    expect(stdout.match(/payment\.settled +dlv_\w+ +→ wh_\w+ +SUCCEEDED +200 +\d+ ms/g)).toHaveLength(2);
    expect(good.requests.map(({ body }) => JSON.parse(body.toString()).test)).toEqual([true, true]);
  });

  test('exits with 1 when a webhook rejects the event, and prints the time of the next attempt', async () => {
    await using bad = await startReceiver(() => ({ statusCode: 400 }));
    const { webhookId } = await projectFor(bad.url);
    const { code, stdout } = await runCli(['trigger', 'customer.milestone', '--webhook', webhookId], env);
    expect(code).toBe(1);
    expect(stdout).toMatch(/PENDING +400 .*http_status .*next attempt at \d\d:\d\d:\d\d/);
  });

  test('suggests a similar event type for an invalid one, or lists the valid ones if none is similar', async () => {
    const project = await createProject(user);
    const here = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: project.id };
    for (const [type, advice] of [
      ['nonsense', 'Use one of payment.verified, payment.settled'],
      ['payment.setled', 'Did you mean `payment.settled`?'],
    ] as const) {
      expect(await runCli(['trigger', type], here)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(advice),
      });
    }
  });

  test('records an event without delivering it in a project without an active webhook', async () => {
    const project = await createProject(user);
    const here = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: project.id };
    const { code, stdout, stderr } = await runCli(['trigger', 'payment.settled', '--json'], here);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { body } = await user.rest<{ data: unknown[] }>('GET', `${project.base}/events`);
    expect(body.data).toEqual([JSON.parse(stdout)]);
    expect(body.data).toMatchObject([{ type: 'payment.settled', test: true }]);
    const deliveries = await user.rest<{ data: unknown[] }>('GET', `${project.base}/deliveries`);
    expect(deliveries.body.data).toEqual([]);
  });
});

describe('deliveries', () => {
  test('tail shows past deliveries and then new ones, filtered by status and event type', async () => {
    await using receiver = await startReceiver();
    const { base } = await projectFor(receiver.url);
    await createEndpoint(user, base);
    await receiver.waitFor(1);
    const filter = ['--from', '1h', '--status', 'succeeded', '--event-type', 'endpoint.created'];
    const cli = startCli(['deliveries', 'tail', ...filter], env);
    await cli.waitFor(/endpoint\.created +dlv_\w+ +→ wh_\w+ +SUCCEEDED/);
    await createEndpoint(user, base);
    await cli.waitFor(/(SUCCEEDED[\s\S]*){2}/);
    cli.signal('SIGINT');
    const { code, stdout } = await cli.ended;
    expect(code).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(2);
  });

  test('show prints every attempt with its response, and resend prints the new result', async () => {
    await using receiver = await startReceiver(() => ({ statusCode: 422, body: 'no such\norder' }));
    await projectFor(receiver.url);
    const { stdout } = await runCli(['trigger', 'payment.settled', '--json'], env);
    const { id } = JSON.parse(stdout);
    const shown = await runCli(['deliveries', 'show', id], env);
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/1\. +\d{4}-.* +422 +\d+ ms {2}manual\n +response: no such order/);
    expect(shown.stdout).toMatch(/\n {2}why: {3}\S.*\n(.*\n)* {2}next: {2}\S.*\n {2}hint: {2}\S/);
    const curl = await runCli(['deliveries', 'show', id, '--curl'], env);
    expect(curl).toMatchObject({ code: 0, stderr: expect.stringMatching(/^WEBHOOK_SECRET: \S/) });
    expect(curl.stdout).toContain(`curl`);
    expect(curl.stdout).toContain(receiver.url);

    receiver.handle(() => ({ statusCode: 204 }));
    expect(await runCli(['deliveries', 'resend', id], env)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/SUCCEEDED +204/),
    });
    const after = JSON.parse((await runCli(['deliveries', 'show', id, '--json'], env)).stdout);
    expect(after.attempts.map(({ statusCode }: { statusCode: number }) => statusCode)).toEqual([422, 204]);
  });

  test('show prints control characters in a response as escapes, so that they cannot change the terminal', async () => {
    const body = '\u001b]0;owned\u0007\u001b[2J\u009b1mgone\u007f';
    await using receiver = await startReceiver(() => ({ statusCode: 422, body }));
    await projectFor(receiver.url);
    const { id } = JSON.parse((await runCli(['trigger', 'payment.settled', '--json'], env)).stdout);
    const shown = await runCli(['deliveries', 'show', id], env);
    expect(shown.stdout).toContain(String.raw`response: \u001b]0;owned\u0007\u001b[2J\u009b1mgone\u007f`);
    expect(shown.stdout).not.toMatch(/[^\n\P{Cc}]/u);
    const json = await runCli(['deliveries', 'show', id, '--json'], env);
    expect(json.stdout).not.toMatch(/[^\n\P{Cc}]/u);
    expect(JSON.parse(json.stdout).attempts).toMatchObject([{ responseBody: body }]);
  });

  test('show exits with 7 for an ID that does not exist or does not belong to a delivery', async () => {
    const { id } = await projectFor('https://hooks.example.com/');
    for (const wrong of [id, 'dlv_01jc9x2v5qe3w8k4m6n7p9r0st', 'nonsense']) {
      expect(await runCli(['deliveries', 'show', wrong], env)).toMatchObject({ code: 7, stdout: '' });
    }
  });
});

describe('before a command starts, the CLI', () => {
  test('names the variables to set if there is no credential', async () => {
    expect(await runCli(['listen'], { TOLLGATE_URL: app.url })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Set TOLLGATE_API_KEY'),
    });
  });

  test('exits with 5 for a rejected credential, and does not print it', async () => {
    const result = await runCli(['deliveries', 'tail'], { TOLLGATE_URL: app.url, TOLLGATE_API_KEY: 'tg_live_wrong' });
    expect(result).toMatchObject({ code: 5, stderr: expect.stringContaining('Set TOLLGATE_API_KEY') });
    expect(result.stdout + result.stderr).not.toContain('tg_live_wrong');
  });

  test('exits with 3 if the service is unreachable or is not Tollgate', async () => {
    const other = await startReceiver(() => ({ body: '<html>' }));
    const at = (url: string) => runCli(['trigger', 'payment.settled'], { TOLLGATE_URL: url, TOLLGATE_API_KEY: 'x' });
    expect(await at(other.url)).toMatchObject({ code: 3, stderr: expect.stringContaining("isn't from Tollgate") });
    await other.close();
    expect(await at(other.url)).toMatchObject({ code: 3, stderr: expect.stringContaining('connection refused') });
  });

  test('lists the projects if there are several to choose from', async () => {
    const bob = await app.user('bob');
    const projects = [await createProject(bob), await createProject(bob)];
    const { code, stderr } = await runCli(['listen'], { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: bob.token });
    expect(code).toBe(2);
    for (const { id } of projects) expect(stderr).toContain(id);
  });

  test('says that the project was not found', async () => {
    const projectId = 'proj_01jc9x2v5qe3w8k4m6n7p9r0st';
    const here = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: projectId };
    for (const command of [['listen'], ['deliveries', 'tail']]) {
      expect(await runCli(command, here)).toEqual({
        code: 7,
        stdout: '',
        stderr: `Project ${projectId} not found.\n`,
      });
    }
  });

  test.each([
    ['..', ['export', 'payments']],
    ['.', ['list', 'payments']],
    ['../x', ['listen']],
  ])('exits with 2 and a sentence for %j as a project ID', async (projectId, command) => {
    const here = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token };
    expect(await runCli([...command, '--project', projectId], here)).toEqual({
      code: 2,
      stdout: '',
      stderr: `--project must be a project ID such as proj_…, not "${projectId}".\n`,
    });
  });

  test('names each value that the service rejects', async () => {
    const { id } = await createProject(user);
    const here = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: id };
    expect(await runCli(['replay', '--dry-run', '--webhook', 'wh_x', '--max-per-second', '0'], here)).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^Invalid maxPerSecond: must be at least 1\.$/m),
    });
  });

  test('exits with 2 for an invalid number of seconds, before anything is sent', async () => {
    await using receiver = await startReceiver();
    await projectFor(receiver.url);
    for (const seconds of ['soon', '-1', '']) {
      for (const command of [
        ['trigger', 'payment.settled'],
        ['deliveries', 'resend', 'dlv_x'],
      ]) {
        expect(await runCli([...command, '--timeout', seconds], env)).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('--timeout must be a number of seconds'),
        });
      }
    }
    expect(receiver.requests).toEqual([]);
  });

  test('exits with 2 for an unknown option, and with 0 for --help', async () => {
    expect((await runCli(['listen', '--nope'])).code).toBe(2);
    expect(await runCli(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('listen') });
  });
});
