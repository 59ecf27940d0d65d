import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import type { EmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { runCli } from '../support/cli.ts';
import { createTestDatabase, runOnServer, type TestDatabase } from '../support/database.ts';
import { databaseUrl } from '../support/database-url.ts';
import { freePort } from '../support/free-port.ts';
import { isPgBouncerInstalled, type PgBouncer, setSessionDefaults, startPgBouncer } from '../support/pgbouncer.ts';
import { type Standby, startStandby } from '../support/standby.ts';

let dataDir: string;
let database: TestDatabase;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-doctor-ways-'));
  database = await createTestDatabase();
  await setSessionDefaults(database.url);
});
afterAll(async () => {
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

/** The doctor's findings about the database. None of the other services that it checks are reachable. */
async function examine(env: Record<string, string>): Promise<Record<string, Finding>> {
  const base = { NODE_ENV: 'test', DATA_DIR: dataDir, ROLES: 'api', DATABASE_POOL_SIZE: '5' };
  const { stdout } = await runCli(['doctor', '--json'], { ...base, ...env });
  const findings = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Finding);
  return Object.fromEntries(findings.map((finding) => [finding.check, finding]));
}

const unreachable = async () => `postgres://tollgate:hunter2@127.0.0.1:${await freePort()}/tollgate`;

/** Allows for several processes that start at the same time on a slow machine and wait for up to 10 s. */
const timeout = 90_000;

// Each run spends most of its time waiting, so the tests in a group run at the same time.
describe.concurrent('for DATABASE_DIRECT_URL, doctor', { timeout }, () => {
  test('accepts the same database', async () => {
    const direct = Object.assign(new URL(database.url), { hostname: 'localhost' }).href;
    const found = await examine({ DATABASE_URL: database.url, DATABASE_DIRECT_URL: direct });
    expect(found.DATABASE_DIRECT_URL).toMatchObject({ status: 'ok' });
    // Only LISTEN needs its own connection.
    expect(found['database connections']!.message).toMatch(/^1 needed/);
  });

  test('rejects another database, and one that is unreachable', async () => {
    const other = await createTestDatabase();
    const wrong = await examine({ DATABASE_URL: database.url, DATABASE_DIRECT_URL: other.url });
    expect(wrong.DATABASE_DIRECT_URL).toMatchObject({ status: 'failed', message: expect.stringMatching(/different/) });
    await other.drop();
    const away = await examine({ DATABASE_URL: database.url, DATABASE_DIRECT_URL: await unreachable() });
    expect(away.DATABASE_DIRECT_URL).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/ECONNREFUSED/),
    });
    expect(JSON.stringify(away)).not.toContain('hunter2');
  });

  test("reports the settings that the pooler's sessions lack", async () => {
    const bare = await createTestDatabase();
    const direct = Object.assign(new URL(bare.url), { hostname: 'localhost' }).href;
    const found = await examine({ DATABASE_URL: bare.url, DATABASE_DIRECT_URL: direct });
    expect(found.DATABASE_URL).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(/statement_timeout is 0/),
      advice: expect.stringMatching(/ALTER ROLE tollgate IN DATABASE test_\w+ SET statement_timeout = '15s';/),
    });
    await bare.drop();
  });
});

describe.skipIf(!isPgBouncerInstalled).concurrent('behind PgBouncer in transaction mode, doctor', { timeout }, () => {
  let bouncer: PgBouncer;

  beforeAll(async () => {
    bouncer = await startPgBouncer(database.url);
  });
  afterAll(() => bouncer?.stop());

  test('finds nothing wrong if DATABASE_DIRECT_URL bypasses it', async () => {
    const found = await examine({ DATABASE_URL: bouncer.url, DATABASE_DIRECT_URL: database.url });
    expect(found.DATABASE_DIRECT_URL).toMatchObject({ status: 'ok' });
    expect(found['database LISTEN']).toMatchObject({ status: 'ok' });
  });

  test.each([
    ['is missing', () => ({})],
    ['points to it too', () => ({ DATABASE_DIRECT_URL: bouncer.url.replace('127.0.0.1', 'localhost') })],
  ])('reports that notifications get lost if DATABASE_DIRECT_URL %s', async (_title, env) => {
    const found = await examine({ DATABASE_URL: bouncer.url, ...env() });
    expect(found['database LISTEN']).toMatchObject({
      status: 'failed',
      advice: expect.stringMatching(/set DATABASE_DIRECT_URL/),
    });
  });
});

describe.concurrent('for DATABASE_READ_URL, doctor', { timeout }, () => {
  let primary: EmbeddedPostgres;
  let standby: Standby;
  let url: string;

  beforeAll(async () => {
    primary = await startThrowawayPostgres();
    await runOnServer(primary.url, 'CREATE DATABASE tollgate');
    url = databaseUrl(primary.url, 'tollgate');
    await applyMigrations(url, MIGRATIONS, pino({ level: 'silent' }));
    standby = await startStandby(primary);
  });
  afterAll(async () => {
    await standby?.remove();
    await primary?.stop();
  });

  const replicaFinding = async (readUrl: string) =>
    (await examine({ DATABASE_URL: url, DATABASE_READ_URL: readUrl })).DATABASE_READ_URL;

  test('reports how far a standby is behind', async () => {
    const readUrl = standby.urlOf('tollgate');
    expect(await replicaFinding(readUrl)).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/^a standby, less than \d s behind$/),
    });
    await runOnServer(readUrl, 'SELECT pg_wal_replay_pause()');
    await runOnServer(url, 'CREATE TABLE later ()');
    expect(await replicaFinding(readUrl)).toMatchObject({
      status: 'warning',
      message: 'It is more than 10 s behind.',
    });
    await runOnServer(readUrl, 'SELECT pg_wal_replay_resume()');
  });

  test('rejects anything but a standby of this database, and warns if it is unreachable', async () => {
    const wrong = await Promise.all([url, database.url, standby.urlOf('postgres')].map(replicaFinding));
    for (const finding of wrong)
      expect(finding).toMatchObject({
        status: 'failed',
        message: 'It does not point to a standby of this database.',
      });
    expect(await replicaFinding(await unreachable())).toMatchObject({
      status: 'warning',
      message: expect.stringMatching(/ECONNREFUSED/),
    });
  });
});
