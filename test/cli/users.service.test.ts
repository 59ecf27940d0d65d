import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { type OperatorUser, operatorsEnv, userIdOf } from '../support/operator.ts';
import { createEndpoint, createKey, createProject, createWebhook } from '../support/resources.ts';

let app: TestApp;
let olga: TestUser;
let env: Record<string, string>;
let id: string;

beforeAll(async () => {
  app = await startTestApp({ env: { ROLES: 'api', ...operatorsEnv('olga') } });
  olga = await app.user('olga', 'ENTERPRISE');
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: olga.token };
  const alice = app.caller(await app.issuer.sign({ subject: 'idp|alice' }));
  id = await userIdOf(alice);
});
afterAll(() => app?.stop());

const stored = async () => (await olga.rest<OperatorUser>('GET', `/api/operator/users/${id}`)).body;
const users = (...args: string[]) => runCli(['users', ...args], env);

test('list prints the users that match, one per line', async () => {
  const { code, stdout, stderr } = await users('list', '--tier', 'starter,pro', '--active');
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${id}  idp|alice  STARTER\n`, stderr: '' });
  const all = await users('list', '--json');
  const lines = all.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  // Olga sent her first request after Alice.
  expect(lines).toMatchObject([{ subject: 'olga', isOperator: true }, { subject: 'idp|alice' }]);
  expect((await users('list', '--blocked')).stdout).toBe('');
});

test('get prints a user, found by ID or by subject, and the account’s resource counts', async () => {
  for (const user of [id, 'idp|alice']) {
    const { code, stdout } = await users('get', user);
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      `${id}  idp|alice  STARTER`,
      `  issuer:   ${app.issuer.config.issuer}`,
    ]);
    expect(stdout).toContain('  has:      0 projects, 0 connectors, 0 waiting deliveries');
  }
});

test('set-tier and set-rate change the user, and after set-tier issuer, tokens set the tier again', async () => {
  expect(await users('set-tier', 'idp|alice', 'enterprise')).toMatchObject({
    code: 0,
    stdout: `${id}  idp|alice  ENTERPRISE  unlimited requests per minute  set by an operator\n`,
  });
  expect((await users('set-rate', id, '5000')).stdout).toContain('ENTERPRISE  5000 requests per minute');
  expect(await stored()).toMatchObject({ tier: 'ENTERPRISE', requestsPerMinute: 5000, tierSetBy: 'OPERATOR' });
  expect((await users('set-rate', id, 'unlimited')).code).toBe(0);
  expect((await stored()).requestsPerMinute).toBeNull();
  const { stdout } = await users('set-tier', id, 'issuer', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ id, tier: 'ENTERPRISE', tierSetBy: 'ISSUER' });
});

test('block and unblock take effect immediately', async () => {
  const { code, stdout } = await users('block', 'idp|alice', '--reason', 'Unpaid invoice.');
  expect([code, stdout]).toEqual([0, expect.stringMatching(/blocked since \S+: Unpaid invoice\.\n$/)]);
  const alice = app.caller(await app.issuer.sign({ subject: 'idp|alice' }));
  expect((await alice.rest('GET', '/api/projects')).status).toBe(403);
  expect((await users('list', '--blocked')).stdout).toContain(id);
  expect((await users('unblock', id)).code).toBe(0);
  expect((await alice.rest('GET', '/api/projects')).status).toBe(200);
});

test('health prints the accounts that need attention, and requeue resends their failed deliveries', async () => {
  expect(await users('health')).toEqual({ code: 0, stdout: '', stderr: 'Nothing needs attention.\n' });
  const alice = app.caller(await app.issuer.sign({ subject: 'idp|alice' }));
  const { base, id: projectId } = await createProject(alice);
  const webhook = await createWebhook(alice, base);
  await createEndpoint(alice, base);
  const sql = new pg.Client({ connectionString: app.databaseUrl });
  await sql.connect();
  await sql.query(`UPDATE "Webhook" SET "failingSince" = now() WHERE id = $1`, [webhook.id]);
  await sql.query(`UPDATE "Delivery" SET status = 'FAILED', "nextAttemptAt" = NULL WHERE "projectId" = $1`, [
    projectId,
  ]);
  await sql.end();
  expect((await users('health')).stdout).toBe(`${id}  idp|alice  failing destinations: 1\n`);
  expect(JSON.parse((await users('health', '--json')).stdout)).toMatchObject({
    userId: id,
    failingDestinationCount: 1,
  });
  expect((await users('requeue', 'idp|alice', '--dry-run')).stdout).toBe('failed deliveries: 1\n');
  expect((await users('requeue', id, '--from', '1h', '--rate', '5')).stdout).toBe(
    'failed deliveries: 1  replays started: 1\n',
  );
  const { body } = await alice.rest<{ data: object[] }>('GET', `${base}/replays`);
  expect(body.data).toMatchObject([{ startedBy: 'operator', maxPerSecond: 5, total: 1 }]);
});

test('invalid input gets a helpful error', async () => {
  const { base } = await createProject(olga);
  const { key } = await createKey(olga, base);
  const mallory = await app.user('mallory');
  const without = { TOLLGATE_URL: app.url, TOLLGATE_API_KEY: key };
  for (const [args, settings, code, message] of [
    [['set-tier', id, 'gold'], env, 2, 'Unknown tier "gold". Use one of starter, pro, business, enterprise.'],
    [['set-rate', id, 'many'], env, 2, 'The rate limit must be a number'],
    [['block', id], env, 2, "required option '--reason <text>'"],
    [['get', 'nobody'], env, 4, 'There is no user with the subject nobody.'],
    [['list', '--blocked', '--active'], env, 2, 'Use either --blocked or --active.'],
    [['list'], without, 2, 'Missing token. Set TOLLGATE_TOKEN to the token of an operator.'],
    [['list'], { ...without, TOLLGATE_TOKEN: mallory.token }, 4, 'Only operators can do this'],
    [['unblock', id], { ...env, TOLLGATE_TOKEN: mallory.token }, 7, 'Not found.'],
  ] as const) {
    const result = await runCli(['users', ...args], settings);
    expect([args, result.code, result.stdout]).toEqual([args, code, '']);
    expect(result.stderr).toContain(message);
  }
});
