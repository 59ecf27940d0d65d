import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli, startCli } from '../support/cli.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createEndpoint, createProject, createWebhook } from '../support/resources.ts';

let app: TestApp;
let database: pg.Client;
let user: TestUser;
let receiver: Receiver;
let project: Awaited<ReturnType<typeof createProject>>;
let env: Record<string, string>;

beforeAll(async () => {
  app = await startTestApp();
  database = new pg.Client({ connectionString: app.databaseUrl });
  await database.connect();
  user = await app.user('alice');
  receiver = await startReceiver();
});
beforeEach(async () => {
  receiver.requests.length = 0;
  project = await createProject(user);
  env = { TOLLGATE_URL: app.url, TOLLGATE_TOKEN: user.token, TOLLGATE_PROJECT: project.id };
});
afterAll(async () => {
  await database?.end();
  await app?.stop();
  await receiver?.close();
});

/** Creates failed deliveries that have no retries left. */
async function failedDeliveries(count: number): Promise<void> {
  await createWebhook(user, project.base, { url: receiver.url });
  for (let made = 0; made < count; made += 1) await createEndpoint(user, project.base);
  await receiver.waitFor(count);
  const isDone = async () => {
    const { rowCount } = await database.query(
      `UPDATE "Delivery" SET status = 'FAILED' WHERE "projectId" = $1 AND status IN ('SUCCEEDED', 'FAILED')`,
      [project.id],
    );
    return rowCount;
  };
  await expect.poll(isDone).toBe(count);
  receiver.requests.length = 0;
}

test('replay --help lists the statuses that can be replayed', async () => {
  const { stdout } = await runCli(['replay', '--help']);
  const text = stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain('pending, succeeded, failed, skipped');
});

test('replay counts the deliveries, asks for confirmation, and sends them if the user confirms', async () => {
  await failedDeliveries(3);
  const cli = startCli(['replay', '--since', '1h', '--event-type', 'endpoint.created'], env, 'y\n');
  const { code, stdout, stderr } = await cli.ended;
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('Resend 3 deliveries, up to 50 per second? [y/N]'),
  });
  expect(stdout).toMatch(/^rpl_\w+ {2}COMPLETED {2}3 of 3 requeued\n$/);
  await receiver.waitFor(3);
});

test('replay sends nothing if the user declines or the terminal is not interactive', async () => {
  await failedDeliveries(1);
  for (const input of ['n\n', '\n', undefined]) {
    expect(await runCli(['replay'], env, input)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Canceled. Nothing was changed. To continue, enter y or pass --yes.'),
    });
  }
  const { rows } = await database.query('SELECT count(*)::int FROM "Replay" WHERE "projectId" = $1', [project.id]);
  expect(rows).toEqual([{ count: 0 }]);
});

test('replay --dry-run prints how many deliveries match the filter', async () => {
  await failedDeliveries(2);
  const count = async (...filter: string[]) => {
    const { code, stdout } = await runCli(['replay', '--dry-run', '--json', ...filter], env);
    return code === 0 ? JSON.parse(stdout) : code;
  };
  expect(await count()).toEqual({ total: 2 });
  expect(await count('--status', 'succeeded,skipped')).toEqual({ total: 0 });
  expect(await count('--until', '1h')).toEqual({ total: 0 });
  expect(await count('--event-type', 'payment.settled')).toEqual({ total: 0 });
  expect(await runCli(['replay', '--dry-run'], env)).toMatchObject({
    code: 0,
    stdout: '2 deliveries would be resent.\n',
  });
});

test('replay --delivery selects deliveries regardless of their status, unless --status is also set', async () => {
  await failedDeliveries(2);
  const { rows } = await database.query<{ id: string }>(
    `SELECT "id" FROM "Delivery" WHERE "projectId" = $1 ORDER BY "id" DESC LIMIT 2`,
    [project.id],
  );
  const ids = rows.map(({ id }) => id);
  await database.query(`UPDATE "Delivery" SET status = 'SUCCEEDED' WHERE "id" = $1`, [ids[0]]);
  const count = async (...filter: string[]) => {
    const { stdout } = await runCli(['replay', '--dry-run', '--json', '--delivery', ids.join(), ...filter], env);
    return JSON.parse(stdout);
  };
  expect(await count()).toEqual({ total: 2 });
  expect(await count('--status', 'failed')).toEqual({ total: 1 });
});

test('replay shows its progress, and Ctrl-C cancels it', async () => {
  // At one per second, the replay would take much longer than this test.
  await failedDeliveries(30);
  const cli = startCli(['replay', '--yes', '--max-per-second', '1'], env);
  await cli.waitFor(/ {2}[1-9]\d* of 30\n/);
  cli.signal('SIGINT');
  const { code, stdout } = await cli.ended;
  expect(code).toBe(130);
  const [, id, done] = /^(rpl_\w+) {2}CANCELED {2}(\d+) of 30 requeued\n$/.exec(stdout) ?? [];
  expect(Number(done)).toBeLessThan(30);
  const { rows } = await database.query('SELECT status FROM "Replay" WHERE id = $1', [id]);
  expect(rows).toEqual([{ status: 'CANCELLED' }]);
});

test('replay exits with 1 when someone else cancels it, and reports the cancellation as JSON', async () => {
  await failedDeliveries(30);
  const cli = startCli(['replay', '--yes', '--json', '--max-per-second', '1'], env);
  const [, id] = await cli.waitFor(/Started (rpl_\w+)\./);
  await user.graphql('mutation($input: CancelReplayInput!) { cancelReplay(input: $input) { replay { id } } }', {
    input: { id },
  });
  const { code, stdout } = await cli.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ id, status: 'CANCELED', total: 30 });
});

test('replay explains an invalid option, and exits with 0 when nothing matches', async () => {
  const stderrOf = async (...args: string[]) => runCli(['replay', ...args], env);
  expect(await stderrOf('--status', 'lost')).toMatchObject({ code: 2, stderr: expect.stringContaining('"lost"') });
  expect(await stderrOf('--since', 'soon')).toMatchObject({ code: 2, stderr: expect.stringContaining('--since') });
  expect(await stderrOf('--max-per-second', 'x')).toMatchObject({ code: 2, stderr: expect.stringContaining('whole') });
  expect(await stderrOf('--webhook', 'wh_1')).toMatchObject({ code: 4, stderr: expect.stringContaining('webhook') });
  expect(await stderrOf()).toEqual({ code: 0, stdout: '', stderr: 'No deliveries match.\n' });
});
