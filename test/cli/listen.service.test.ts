import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CERTIFICATE, PRIVATE_KEY } from '../egress/certificate.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli, startCli } from '../support/cli.ts';
import { startCuttableProxy } from '../support/cuttable-proxy.ts';
import { type ReceivedRequest, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';

let app: TestApp;
let user: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  user = await app.user('alice');
});
afterAll(() => app.stop());

async function projectWithKey() {
  const project = await createProject(user);
  const { key } = await createKey(user, project.base);
  return { ...project, key, env: { TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key } };
}

const idsOf = (requests: ReceivedRequest[]) => requests.map(({ headers }) => headers['webhook-id']);

test('listen forwards the same body that a webhook receives, with a valid signature', async () => {
  const project = await projectWithKey();
  await using local = await startReceiver();
  await using remote = await startReceiver();
  await createWebhook(user, project.base, { url: remote.url });
  const cli = startCli(['listen', '--forward-to', `127.0.0.1:${local.port}/hook`], project.env);
  const [, secret = ''] = await cli.waitFor(/signed with (whsec_\S+)/);
  await createEndpoint(user, project.base, { description: 'Zürich, "today"' });

  const [received] = await local.waitFor(1);
  const [original] = await remote.waitFor(1);
  expect(received!.path).toBe('/hook');
  expect(received!.body.toString()).toBe(original!.body.toString());
  for (const name of ['webhook-id', 'tollgate-payload-version', 'user-agent', 'content-type']) {
    expect(received!.headers[name], name).toBe(original!.headers[name]);
  }
  const headers = received!.headers as Record<string, string>;
  expect(new Webhook(secret).verify(received!.body.toString(), headers)).toMatchObject({ type: 'endpoint.created' });

  await cli.waitFor(/endpoint\.created +evt_\w+ +→ 200 +\d+ ms/);
  cli.signal('SIGINT');
  expect(await cli.ended).toMatchObject({ code: 0, stderr: expect.stringContaining('1 forwarded, 0 failed.') });
});

test('in a project without webhooks, listen forwards the test event that trigger creates', async () => {
  const project = await projectWithKey();
  await using local = await startReceiver();
  const cli = startCli(['listen', '--forward-to', `http://127.0.0.1:${local.port}/hook`], project.env);
  const [, secret = ''] = await cli.waitFor(/signed with (whsec_\S+)/);
  const { code, stdout, stderr } = await runCli(['trigger', 'payment.settled'], project.env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('tollgate listen') });

  const [received] = await local.waitFor(1);
  const headers = received!.headers as Record<string, string>;
  expect(stdout).toContain(headers['webhook-id']);
  expect(new Webhook(secret).verify(received!.body.toString(), headers)).toMatchObject({
    type: 'payment.settled',
    test: true,
    projectId: project.id,
    data: { amountUsd: '0.01' },
  });
  cli.signal('SIGINT');
  await cli.ended;
});

test('after a lost connection, listen forwards every missed event exactly once', async () => {
  const project = await projectWithKey();
  const proxy = await startCuttableProxy(app.url);
  await using local = await startReceiver();
  const cli = startCli(['listen', '--forward-to', local.url], { ...project.env, TOLLGATE_URL: proxy.url });
  await cli.waitFor(/Forwarding to/);
  const created: string[] = [];
  for (const lost of [1, 2]) {
    await expect.poll(proxy.openCount).toBeGreaterThan(0);
    proxy.cut();
    await cli.waitFor(new RegExp(`(Connection lost[\\s\\S]*){${lost}}`));
    for (let made = 0; made < 3; made += 1) created.push((await createEndpoint(user, project.base)).id);
    proxy.mend();
    const requests = await local.waitFor(created.length);
    const endpoints = requests.map(({ body }) => JSON.parse(body.toString()).data.endpointId);
    expect(endpoints).toEqual(created);
    expect(new Set(idsOf(requests)).size).toBe(created.length);
  }
  cli.signal('SIGTERM');
  expect((await cli.ended).code).toBe(0);
  await proxy.close();
});

test("listen forwards only the given event types, or only the given webhook's event types", async () => {
  const project = await projectWithKey();
  const { id: webhookId } = await createWebhook(user, project.base, { eventTypes: ['endpoint.pricing_changed'] });
  for (const choice of [
    ['--events', 'endpoint.pricing_changed'],
    ['--webhook', webhookId],
  ]) {
    await using local = await startReceiver();
    const cli = startCli(['listen', '--forward-to', local.url, '--json', ...choice], project.env);
    await cli.waitFor(/Forwarding to/);
    const endpoint = await createEndpoint(user, project.base);
    await user.rest('PATCH', `${project.base}/endpoints/${endpoint.id}`, { priceUsd: '0.07' });
    await cli.waitFor(/"durationMs"/);
    expect(cli.lines().map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ type: 'endpoint.pricing_changed', statusCode: 200 }),
    ]);
    expect(local.requests).toHaveLength(1);
    cli.signal('SIGINT');
    await cli.ended;
  }
});

test('listen prints a line for each event that it cannot forward, and keeps running', async () => {
  const project = await projectWithKey();
  const closed = await startReceiver();
  await closed.close();
  const cli = startCli(['listen', '--forward-to', closed.url], project.env);
  await cli.waitFor(/Forwarding to/);
  await createEndpoint(user, project.base);
  await cli.waitFor(/→ Cannot reach http:\/\/127\.0\.0\.1:\d+: connection refused/);
  await createEndpoint(user, project.base);
  await cli.waitFor(/(connection refused[\s\S]*){2}/);
  cli.signal('SIGINT');
  expect((await cli.ended).stderr).toContain('0 forwarded, 2 failed.');
});

test('listen exits with 2 for an address that is not a valid http or https URL', async () => {
  const { env } = await projectWithKey();
  for (const address of ['ftp://localhost:3000/hook', 'localhost:99999', '']) {
    expect(await runCli(['listen', '--forward-to', address], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('such as localhost:3000/hook'),
    });
  }
});

test('listen --print-secret always prints the same secret for an API key', async () => {
  const [one, other] = [await projectWithKey(), await projectWithKey()];
  const secretOf = async (env: Record<string, string>) => (await runCli(['listen', '--print-secret'], env)).stdout;
  const secret = await secretOf(one.env);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
  expect(await secretOf(one.env)).toBe(secret);
  expect(await secretOf(other.env)).not.toBe(secret);
});

test('listen exits with 5 when its API key is revoked', async () => {
  const project = await createProject(user);
  const { id, key } = await createKey(user, project.base);
  const cli = startCli(['listen'], { TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key });
  await cli.waitFor(/Listening/);
  await user.rest('DELETE', `${project.base}/keys/${id}`);
  expect(await cli.ended).toMatchObject({ code: 5, stderr: expect.stringContaining('TOLLGATE_API_KEY') });
});

describe('listen with an https address', () => {
  const seen: string[] = [];
  const server = createServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, (request, response) => {
    seen.push(request.url!);
    response.end();
  });
  let address: string;
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    address = `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));

  async function outcomeOf(target: string, ...flags: string[]) {
    const project = await projectWithKey();
    const cli = startCli(['listen', '--forward-to', target, ...flags], project.env);
    await cli.waitFor(/signed with/);
    await createEndpoint(user, project.base);
    const [, outcome = ''] = await cli.waitFor(/endpoint\.created +evt_\w+ +→ (.+)/);
    cli.signal('SIGINT');
    await cli.ended;
    return outcome;
  }

  test('says how to accept a self-signed certificate', async () => {
    expect(await outcomeOf(address)).toMatch(/self-signed.*To accept it anyway, add --skip-verify\./);
    expect(seen).toEqual([]);
  });

  test('accepts any certificate with --skip-verify', async () => {
    expect(await outcomeOf(address, '--skip-verify')).toMatch(/^200 /);
    expect(seen).toEqual(['/hook']);
  });

  test('says that a server without TLS needs an http address', async () => {
    await using plain = await startReceiver();
    expect(await outcomeOf(`https://127.0.0.1:${plain.port}`)).toContain('use http:// instead of https://');
  });

  test.each(['localhost:3000', 'http://localhost:3000'])('refuses --skip-verify with %s', async (target) => {
    const { env } = await projectWithKey();
    const { code, stderr } = await runCli(['listen', '--forward-to', target, '--skip-verify'], env);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('needs an https:// address') });
  });
});
