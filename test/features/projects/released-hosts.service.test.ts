import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/database/client.ts';
import { queueForHosts } from '../../../src/features/projects/host-names.ts';
import { startTestApp, type TestApp, type TestUser } from '../../support/app.ts';
import { createProject, GOOD, type Resource, WALLET } from '../../support/resources.ts';
import { openRest, type Rest } from '../../support/rest.ts';
import { waitingStatements } from '../../support/waiting-statements.ts';

const STRANGERS_WALLET = '0x1F98431c8aD98523631AE4a59f267346ea31F984';

let app: TestApp;
let rest: Rest;
let sql: pg.Client;
let alice: TestUser;
let mallory: TestUser;
let made = 0;
let host: string;

beforeAll(async () => {
  app = await startTestApp();
  rest = await openRest(app);
  alice = await app.user('alice');
  mallory = await app.user('mallory', 'ENTERPRISE');
  sql = new pg.Client({ connectionString: app.databaseUrl });
  await sql.connect();
});
afterAll(async () => {
  await sql?.end();
  await app?.stop();
});
beforeEach(() => {
  made += 1;
  host = `shop${made}.example`;
});

const setHost = (user: { token: string }, base: string, gatewayHost: string | null) =>
  rest.send<Resource>(user, 'PATCH', base, { body: { gatewayHost } });
const claim = (user: TestUser, gatewayHost: string) =>
  rest.send<Resource>(user, 'POST', '/api/projects', {
    body: { ...GOOD.project, walletAddress: STRANGERS_WALLET, gatewayHost },
  });
const holders = async () =>
  (await sql.query<{ walletAddress: string }>('SELECT "walletAddress" FROM "Project" WHERE "gatewayHost" = $1', [host]))
    .rows;
const letDaysPass = (days: number) =>
  sql.query(
    `UPDATE "ReleasedHost" SET "reservedUntil" = "reservedUntil" - make_interval(days => $2) WHERE "host" = $1`,
    [host, days],
  );

describe('a host name that was released', () => {
  test.each([
    ['cleared', (base: string) => setHost(alice, base, null)],
    ['changed', (base: string) => setHost(alice, base, `new.${host}`)],
    ['released with its project', (base: string) => rest.send(alice, 'DELETE', base)],
  ])('is unavailable to other accounts over REST and GraphQL after it was %s', async (_how, release) => {
    const shop = await createProject(alice, { gatewayHost: host });
    expect((await release(shop.base)).status).toBeLessThan(300);
    const stall = await createProject(mallory, { walletAddress: STRANGERS_WALLET });
    for (const refused of [await claim(mallory, host), await setHost(mallory, stall.base, host.toUpperCase())]) {
      expect(refused).toMatchObject({
        status: 409,
        body: { code: 'HOST_RESERVED', errors: [{ pointer: '/gatewayHost' }] },
      });
      expect(refused.body.detail).toMatch(/until \d{4}-\d\d-\d\d/);
    }
    const { errors } = await mallory.graphql(
      `mutation { updateProject(input: { id: "${stall.id}", gatewayHost: "${host}" }) { project { id } } }`,
    );
    expect(errors![0]!.extensions.code).toBe('HOST_RESERVED');
    expect(await holders()).toEqual([]);
  });

  test('can be claimed again by its project, and by another project of the same account', async () => {
    const shop = await createProject(alice, { gatewayHost: host });
    await setHost(alice, shop.base, null);
    expect((await setHost(alice, shop.base, host)).status).toBe(200);
    await rest.send(alice, 'DELETE', shop.base);
    expect((await claim(mallory, host)).status).toBe(409);
    const again = await createProject(alice, { gatewayHost: host });
    expect((await setHost(alice, again.base, host)).status).toBe(200);
    expect((await claim(mallory, host)).body.code).toBe('CONFLICT');
  });

  test('is available to everyone after 30 days, and no sooner', async () => {
    const shop = await createProject(alice, { gatewayHost: host });
    await setHost(alice, shop.base, null);
    await letDaysPass(29);
    expect((await claim(mallory, host)).status).toBe(409);
    await letDaysPass(1);
    expect((await claim(mallory, host)).status).toBe(201);
    expect(await holders()).toEqual([{ walletAddress: STRANGERS_WALLET }]);
  });

  test('stays with its project if the change that would release it fails', async () => {
    const shop = await createProject(alice, { gatewayHost: host });
    await createProject(mallory, { gatewayHost: `taken.${host}` });
    expect((await setHost(alice, shop.base, `taken.${host}`)).status).toBe(409);
    expect(await holders()).toEqual([{ walletAddress: WALLET }]);
    const { rows } = await sql.query('SELECT 1 FROM "ReleasedHost" WHERE "host" = $1', [host]);
    expect(rows).toEqual([]);
  });

  test('counts toward the limit of 100 reserved names, at which an account cannot release more', async () => {
    const hoarder = await app.user('hoarder');
    const { base } = await createProject(hoarder, { gatewayHost: host });
    await sql.query(
      `INSERT INTO "ReleasedHost" ("host", "userId", "reservedUntil")
       SELECT 'n' || n || '.hoard.example', (SELECT "userId" FROM "Project" WHERE "gatewayHost" = $1), now() + interval '1 day'
       FROM generate_series(1, 100) n`,
      [host],
    );
    expect(await setHost(hoarder, base, 'one-more.example')).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', errors: [{ pointer: '/gatewayHost' }] },
    });
    expect((await setHost(hoarder, base, 'n7.hoard.example')).status).toBe(200);
  });
});

describe('concurrent releases and claims of host names', () => {
  test('never give a released name to another account that claims it', async () => {
    for (let round = 0; round < 20; round += 1) {
      host = `race${round}.example`;
      const shop = await createProject(alice, { gatewayHost: host });
      const release = round % 2 ? setHost(alice, shop.base, null) : rest.send(alice, 'DELETE', shop.base);
      const [released, ...claims] = await Promise.all([release, ...[1, 2, 3].map(() => claim(mallory, host))]);
      expect(released.status).toBeLessThan(300);
      expect(claims.map(({ status }) => status)).toEqual([409, 409, 409]);
      expect(await holders()).toEqual([]);
    }
  });

  test('wait for other locks only briefly, because all accounts wait for them', async () => {
    const db = await openDatabase({ url: app.databaseUrl, poolSize: 1, log: pino({ level: 'silent' }) });
    const timeouts = await db.prisma.$transaction(async (tx) => {
      const read = () => tx.$queryRaw<{ timeout: string }[]>`SELECT current_setting('lock_timeout') AS "timeout"`;
      const [before] = await read();
      await queueForHosts(tx);
      const [after] = await read();
      return [before!.timeout, after!.timeout];
    });
    expect(timeouts).toEqual(['10s', '1s']);
    // Someone holds the lock of a project, and several changes wait for it. The others wait for at most one of them.
    const shop = await createProject(mallory);
    await sql.query('BEGIN');
    await sql.query('SELECT FROM "Project" WHERE "id" = $1 FOR UPDATE', [shop.id]);
    let ended = 0;
    const changes = [1, 2].map(async () => {
      const { status } = await mallory.rest('PATCH', shop.base, { gatewayHost: host });
      ended += 1;
      return status;
    });
    await expect.poll(() => waitingStatements(db.pool)).toBe(2);
    expect((await createProject(alice, { gatewayHost: `other.${host}` })).gatewayHost).toBe(`other.${host}`);
    expect(ended).toBeLessThan(2);
    expect(await Promise.all(changes)).toEqual([503, 503]);
    await sql.query('ROLLBACK');
    await db.close();
  });

  test('a claim that waits for a release to commit is then rejected', async () => {
    const shop = await createProject(alice, { gatewayHost: host });
    // Blocks the release before its commit.
    await sql.query('BEGIN');
    await sql.query('LOCK TABLE "AuditEntry" IN ACCESS EXCLUSIVE MODE');
    const release = setHost(alice, shop.base, null);
    const waiting = async () =>
      (
        await sql.query(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
      ).rows.length;
    await expect.poll(waiting).toBe(1);
    const claimed = claim(mallory, host);
    await expect.poll(waiting).toBe(2);
    await sql.query('COMMIT');
    expect((await release).status).toBe(200);
    expect(await claimed).toMatchObject({ status: 409, body: { code: 'HOST_RESERVED' } });
  });

  test('if many projects claim a host name that is available again, one succeeds', async () => {
    const shop = await createProject(alice, { gatewayHost: host });
    await setHost(alice, shop.base, null);
    await letDaysPass(30);
    const bob = await app.user('bob');
    const responses = await Promise.all([alice, bob, mallory, bob, mallory, alice].map((user) => claim(user, host)));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    expect(await holders()).toHaveLength(1);
  });

  test('two projects that each claim the other’s host name are both rejected', async () => {
    const one = await createProject(alice, { gatewayHost: host });
    const two = await createProject(mallory, { gatewayHost: `two.${host}` });
    for (let round = 0; round < 5; round += 1) {
      const responses = await Promise.all([setHost(alice, one.base, `two.${host}`), setHost(mallory, two.base, host)]);
      expect(responses.map(({ body }) => body.code)).toEqual(['CONFLICT', 'CONFLICT']);
    }
  });
});

test('expired host name reservations are deleted, and others are kept', async () => {
  const { sweepReleasedHosts } = await import('../../../src/features/projects/host-names.ts');
  const shop = await createProject(alice, { gatewayHost: host });
  await setHost(alice, shop.base, `kept.${host}`);
  await setHost(alice, shop.base, null);
  await letDaysPass(31);
  const pool = new pg.Pool({ connectionString: app.databaseUrl, max: 1 });
  expect(await sweepReleasedHosts(pool)).toBeGreaterThanOrEqual(1);
  await pool.end();
  const { rows } = await sql.query('SELECT "host" FROM "ReleasedHost" WHERE "host" IN ($1, $2)', [
    host,
    `kept.${host}`,
  ]);
  expect(rows).toEqual([{ host: `kept.${host}` }]);
});
