import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { startCli } from '../support/cli.ts';
import { startReceiver } from '../support/receiver.ts';
import { createProject, createWebhook } from '../support/resources.ts';

// Commands say after two seconds that they are waiting, whichever client they use.

let app: TestApp;
let env: Record<string, string>;

beforeAll(async () => {
  // Without a worker, no delivery is sent.
  app = await startTestApp({ env: { ROLES: 'api' } });
  const alice = await app.user('alice');
  const { id, base } = await createProject(alice);
  await createWebhook(alice, base);
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: alice.token, TOLLGATE_PROJECT: id };
});
afterAll(() => app?.stop());

test.each([
  ['GraphQL', ['search', 'weather']],
  ['REST', ['list', 'payments']],
  ['an export', ['export', 'payments']],
])('a slow response to %s is announced on standard error', async (_client, words) => {
  const held = Promise.withResolvers<void>();
  await using service = await startReceiver(async () => {
    await held.promise;
    return { statusCode: 503, body: 'down' };
  });
  const cli = startCli([...words, '--json'], { ...env, TOLLGATE_URL: service.url });
  await cli.waitFor(/^Waiting for a response from http:\/\/127\.0\.0\.1:\d+…$/m);
  held.resolve();
  const { code, stdout, stderr } = await cli.ended;
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  expect(JSON.parse(stderr.trim().split('\n').at(-1)!)).toMatchObject({ exitCode: 3 });
});

test('a command that waits for a delivery says for how long', async () => {
  const cli = startCli(['trigger', 'payment.settled', '--timeout', '600'], env);
  await cli.waitFor(/Waiting up to 600 s for the result\. Press Ctrl-C to stop waiting\./);
  cli.signal('SIGINT');
  expect((await cli.ended).code).toBe(130);
});
