import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { createPayment } from '../support/payments.ts';
import { createEndpoint, createKey, createProject } from '../support/resources.ts';

let app: TestApp;
let env: Record<string, string>;
let paymentId: string;
let endpoints: string[];
let project: string;
let apiKey: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api' } });
  const user = await app.user('alice', 'ENTERPRISE');
  const { id: projectId, base } = await createProject(user);
  endpoints = [];
  for (const path of ['/v1/weather', '/v1/tides', '/v2/weather']) {
    endpoints.push((await createEndpoint(user, base, { path })).id);
  }
  ({ paymentId } = await createPayment(app, { projectId, endpointId: endpoints[0]!, mark: 'weather' }));
  project = app.url + base;
  apiKey = (await createKey(user, base, { name: 'alice', scopes: ['READ', 'WRITE'] })).key;
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token };
});
afterAll(() => app?.stop());

describe('list', () => {
  test('prints what matches, newest first', async () => {
    const { code, stdout, stderr } = await runCli(['list', 'endpoints', '--path-prefix', '/v1/'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').filter(Boolean)).toEqual([
      expect.stringMatching(new RegExp(`^${endpoints[1]}  /v1/tides  .*0\\.01  isActive=true$`)),
      expect.stringMatching(new RegExp(`^${endpoints[0]}  /v1/weather  `)),
    ]);
  });

  test('prints complete items as JSON, up to the limit', async () => {
    const { code, stdout } = await runCli(['list', 'endpoints', '--limit', '1', '--json'], env);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: endpoints[2], path: '/v2/weather' });
  });

  test('tells a person’s changes from those of an API key with the same name', async () => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const { status } = await fetch(project, { method: 'PATCH', headers, body: '{"name": "Renamed"}' });
    expect(status).toBe(200);
    const actions = ['project.updated', 'project.created'].join(',');
    const { stdout } = await runCli(['list', 'audit-log', '--action', actions], env);
    expect(stdout.split('\n').filter(Boolean)).toEqual([
      expect.stringMatching(/ project\.updated .* API_KEY {2}alice$/),
      expect.stringMatching(/ project\.created .* USER {2}alice$/),
    ]);
  });

  test('accepts statuses in any case and times as durations', async () => {
    const matching = ['list', 'payments', '--status', 'settled,failed', '--from', '2h', '--min-amount-usd', '0.01'];
    expect((await runCli(matching, env)).stdout).toContain(`${paymentId}  SETTLED  0.01`);
    const older = await runCli(['list', 'payments', '--to', '2h'], env);
    expect(older).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing matches.\n' });
  });

  test('says what is wrong with a filter', async () => {
    const wrong = await runCli(['list', 'payments', '--status', 'setled'], env);
    expect(wrong).toMatchObject({ code: 4, stdout: '' });
    expect(wrong.stderr).toContain('must be one of CLAIMED');
    expect(await runCli(['list', 'payments', '--from', 'tomorrow'], env)).toMatchObject({ code: 2 });
    expect(await runCli(['list', 'payments', '--sttus', 'settled'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--status'),
    });
  });
});

describe('search', () => {
  test('prints what it finds, with its type, ID, name, and status', async () => {
    const { code, stdout } = await runCli(['search', paymentId], env);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `payment      ${paymentId}  $0.01 GET /weather  SETTLED\n` });
    const { stdout: json } = await runCli(['search', 'v2/', '--json'], env);
    expect(JSON.parse(json)).toMatchObject({ type: 'ENDPOINT', id: endpoints[2], label: '/v2/weather' });
  });

  test('says that nothing was found, and why some text can’t be searched for', async () => {
    expect(await runCli(['search', 'nothing like this'], env)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'Nothing found.\n',
    });
    expect(await runCli(['search', '%%'], env)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('must contain a letter or a digit.'),
    });
  });
});
