import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { createKey, createProject } from '../support/resources.ts';

let app: TestApp;
let user: TestUser;

beforeAll(async () => {
  app = await startTestApp();
  user = await app.user('alice', 'PRO');
});
afterAll(() => app.stop());

test('whoami prints a token’s user, and GET /api/me returns the same', async () => {
  await createProject(user);
  const env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token };
  const { code, stdout } = await runCli(['whoami'], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^user: +alice \(usr_\w+\), from \S+$/m);
  expect(stdout).toMatch(/^tier: +pro$/m);
  expect(stdout).toMatch(/^projects: +1$/m);
  expect(stdout).toMatch(/^limits: +300 requests per minute, 0 of 5 connectors, /m);
  const { status, body } = await user.rest('GET', '/api/me');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    user: { subject: 'alice' },
    tier: 'PRO',
    apiKeyId: null,
    projectId: null,
    scopes: null,
    projectCount: 1,
    limits: { requestsPerMinute: 300, maxConnectors: 5, connectorCount: 0 },
    isOperator: false,
  });
  expect(JSON.parse((await runCli(['whoami', '--json'], env)).stdout)).toEqual(body);
});

test('whoami shows an API key, its project, and its scopes, no matter what the key can do', async () => {
  const project = await createProject(user);
  const { id, key } = await createKey(user, project.base, { scopes: ['DELIVERIES'] });
  const { code, stdout } = await runCli(['whoami'], { TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key });
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^API key: +${id}$`, 'm'));
  expect(stdout).toMatch(new RegExp(`^project: +${project.id}$`, 'm'));
  expect(stdout).toMatch(/^scopes: +DELIVERIES$/m);
  expect(stdout).toMatch(/^projects: +1$/m);
});
