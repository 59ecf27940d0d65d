import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { runCli } from '../support/cli.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { isPgBouncerInstalled, type PgBouncer, setSessionDefaults, startPgBouncer } from '../support/pgbouncer.ts';

let dataDir: string;
let database: TestDatabase;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tollgate-doctor-connections-'));
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
