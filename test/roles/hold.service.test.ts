import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { followHold, readHold } from '../../src/database/installation.ts';
import { startTestApp, type TestApp, type TestUser } from '../support/app.ts';
import { runCli } from '../support/cli.ts';
import { copyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createConnector, createEndpoint, createProject, createWebhook } from '../support/resources.ts';

let original: TestDatabase;
let copy: TestDatabase;
let receiver: Receiver;
let base: string;
let token: string;
let dataDir: string;
let app: TestApp | undefined;
let owner: TestUser;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-hold-'));
  original = await createTestDatabase();
  receiver = await startReceiver(() => ({ statusCode: 503 }));
  const first = await startTestApp({ databaseUrl: original.url, dataDir });
  const seller = await first.user('alice');
  token = seller.token;
  ({ base } = await createProject(seller));
  await createWebhook(seller, base, { url: receiver.url });
  await createEndpoint(seller, base);
  await receiver.waitFor(1);
  await vi.waitFor(async () => expect(await read(seller)).toEqual([['PENDING', null]]), { timeout: 60_000 });
  await first.stop();
  copy = await copyDatabase(original.url);
});

afterAll(async () => {
  await app?.stop();
  await receiver?.close();
  await original?.drop();
  await copy?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** The status and the reason of each delivery. */
async function read(user: TestUser): Promise<(string | null)[][]> {
  const { body } = await user.rest<{ data: { status: string; reason: string | null }[] }>('GET', `${base}/deliveries`);
  return body.data.map(({ status, reason }) => [status, reason]);
}

const cli = (...args: string[]) =>
  runCli([...args, '--json'], { NODE_ENV: 'test', DATABASE_URL: copy.url, DATA_DIR: dataDir });
const stateOf = async (): Promise<string> =>
  ((await (await fetch(`${app!.url}/readyz`)).json()) as { status: string }).status;

test('the database that the service runs on is no copy, even after a failover', async () => {
  const pool = new pg.Pool({ connectionString: original.url });
  onTestFinished(() => pool.end());
  await pool.query('UPDATE "Installation" SET "timeline" = "timeline" - 1');
  expect(await followHold(pool)).toBeUndefined();
  const { rows } = await pool.query(
    `SELECT "timeline" = (pg_control_checkpoint()).timeline_id AS "isCurrent" FROM "Installation"`,
  );
  expect(rows).toEqual([{ isCurrent: true }]);
});

test('a dump that is restored into the same database is a copy', async () => {
  const pool = new pg.Pool({ connectionString: original.url });
  onTestFinished(() => pool.end());
  await pool.query(`BEGIN; CREATE TABLE dumped AS TABLE "Installation"; DROP TABLE "Installation";
    ALTER TABLE dumped RENAME TO "Installation"; COMMIT`);
  expect(await readHold(pool)).toBe('copied');
});

test('a server that hides its identity can still be used', async () => {
  const options = '-c role=pg_read_all_data';
  const [pool, restricted] = [{}, { options }].map((more) => new pg.Pool({ connectionString: copy.url, ...more }));
  onTestFinished(async () => {
    await pool!.query('GRANT EXECUTE ON FUNCTION pg_control_checkpoint() TO PUBLIC');
    await Promise.all([pool!.end(), restricted!.end()]);
  });
  expect(await readHold(restricted!)).toBe('copied');
  await pool!.query('REVOKE EXECUTE ON FUNCTION pg_control_checkpoint() FROM PUBLIC');
  expect(await readHold(restricted!)).toBeUndefined();
});

test('a copy can be adopted without its deliveries, which is refused once it sends', async () => {
  expect(JSON.parse((await cli('adopt', '--skip-older-deliveries')).stdout)).toEqual({
    isOnHold: false,
    wasOnHold: 'copied',
    skippedDeliveries: 1,
  });
  const again = await cli('adopt', '--skip-older-deliveries');
  expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 4, stdout: '' });
  receiver.handle(() => ({}));
  receiver.requests.length = 0;
  app = await startTestApp({ databaseUrl: copy.url, dataDir });
  owner = app.caller(token);
  expect(await stateOf()).toBe('ready');
  const { id } = await createEndpoint(owner, base);
  const [sent] = await receiver.waitFor(1);
  expect(JSON.parse(sent!.body.toString())).toMatchObject({ data: { endpointId: id } });
  await expect
    .poll(() => read(owner))
    .toEqual([
      ['SUCCEEDED', null],
      ['SKIPPED', 'restored'],
    ]);
  expect(receiver.requests).toHaveLength(1);
});

test('a running service can be put on hold, and then adopted', async () => {
  receiver.requests.length = 0;
  const connector = await createConnector(owner, base, { eventTypes: ['payment.failed'] });
  const testConnector = () => owner.rest('POST', `${base}/connectors/${connector.id}/test`);
  const isOnHold = async () => (await owner.graphql('{ isOnHold }')).data?.isOnHold;
  expect(await isOnHold()).toBe(false);
  expect(JSON.parse((await cli('hold')).stdout)).toEqual({ isOnHold: true });
  await expect.poll(stateOf).toBe('on hold');
  expect(await isOnHold()).toBe(true);
  expect(await testConnector()).toMatchObject({
    status: 503,
    body: { code: 'UNAVAILABLE', detail: expect.stringContaining('on hold') },
  });
  await createEndpoint(owner, base);
  expect((await read(owner))[0]).toEqual(['PENDING', null]);
  expect(receiver.requests).toEqual([]);
  expect(JSON.parse((await cli('adopt')).stdout)).toMatchObject({ wasOnHold: 'requested' });
  await receiver.waitFor(1);
  await expect.poll(async () => (await read(owner))[0]).toEqual(['SUCCEEDED', null]);
  expect(await stateOf()).toBe('ready');
});
