import { setImmediate as turn } from 'node:timers/promises';
import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { challengePathOf } from '../../../src/features/projects/hosts/proof.ts';
import { openHostTable } from '../../../src/gateway/routing/host-table.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { createProject } from '../../support/resources.ts';

const DOMAIN = 'pay.test';

let app: TestApp;
let pool: pg.Pool;

beforeAll(async () => {
  app = await startTestApp({ env: { GATEWAY_DOMAIN: DOMAIN, ROLES: 'api' } });
  pool = new pg.Pool({ connectionString: app.databaseUrl });
});
afterAll(async () => {
  await pool?.end();
  await app?.stop();
});

/** Opens a host table whose hints the test gives. `refresh` returns how many hosts are read because of a hint. */
async function openCounted() {
  let hint = () => {};
  let read = Promise.withResolvers<number>();
  const query = async (...args: [never]) => {
    const result = (await pool.query(...args)) as unknown as pg.QueryResult;
    read.resolve(JSON.stringify(result.rows).match(/"projectId"/g)?.length ?? 0);
    return result;
  };
  const table = await openHostTable({
    db: { pool: { query } as unknown as pg.Pool },
    bus: {
      publish() {},
      publishHereFirst() {},
      close: async () => {},
      subscribe(_topic, listener) {
        hint = listener;
        return () => {};
      },
    },
    log: pino({ level: 'silent' }),
    ownHosts: { includes: (host) => host === 'own.example' },
    gatewayDomain: DOMAIN,
  });
  const refresh = async () => {
    read = Promise.withResolvers<number>();
    hint();
    const count = await read.promise;
    // The table uses what it has read in the same turn of the event loop.
    await turn();
    return count;
  };
  return { table, refresh };
}

test('a changed host is read without the hosts that have not changed', async () => {
  await app.user('alice');
  await pool.query(
    `INSERT INTO "Project" ("id", "userId", "name", "walletAddress", "slug")
     SELECT new_id('proj'), (SELECT "id" FROM "User" LIMIT 1), 'Many', '0x1', 'many-' || n FROM generate_series(1, 5000) n`,
  );
  const { rows } = await pool.query<{ id: string }>(
    `SELECT "id" FROM "Project" WHERE "slug" IN ('many-1', 'many-2') ORDER BY "slug"`,
  );
  const [first, second] = rows.map(({ id }) => id) as [string, string];
  const { table, refresh } = await openCounted();
  const refreshed = async (change: string, ...values: string[]) => {
    await pool.query(change, values);
    expect(await refresh()).toBeLessThan(100);
  };
  const projectsOf = (...hosts: string[]) => hosts.map((host) => table.projectOfHost(host));
  expect(projectsOf(`many-1.${DOMAIN}`, `many-5000.${DOMAIN}`)).toEqual([first, expect.stringMatching(/^proj/)]);
  expect(await refresh()).toBe(0);

  const rename = 'UPDATE "Project" SET "slug" = $2 WHERE "id" = $1';
  await refreshed(rename, first, 'renamed');
  expect(projectsOf(`renamed.${DOMAIN}`, `many-1.${DOMAIN}`)).toEqual([first, 'nobody']);
  await refreshed(rename, second, 'many-1');
  expect(projectsOf(`many-1.${DOMAIN}`, `many-2.${DOMAIN}`)).toEqual([second, 'nobody']);

  const setHost = 'UPDATE "Project" SET "gatewayHost" = $2 WHERE "id" = $1';
  await refreshed(setHost, first, 'own.example');
  await refreshed(setHost, second, 'Custom.example');
  expect(projectsOf('own.example', 'custom.example')).toEqual([undefined, second]);
  await refreshed(
    `WITH freed AS (UPDATE "Project" SET "gatewayHost" = NULL WHERE "id" = $1)
     INSERT INTO "HostClaim" ("projectId", "host", "token") VALUES ($1, 'moved.example', 'token-of-the-claim')`,
    second,
  );
  await refreshed(setHost, second, 'moved.example');
  expect(projectsOf('custom.example', 'moved.example')).toEqual([undefined, second]);
  const path = challengePathOf('token-of-the-claim');
  expect(table.challengeOf('moved.example', path)).toBe('token-of-the-claim');
  await refreshed('DELETE FROM "Project" WHERE "id" = $1', second);
  expect(projectsOf('moved.example', `many-1.${DOMAIN}`)).toEqual([undefined, 'nobody']);
  expect(table.challengeOf('moved.example', path)).toBeUndefined();
  table.close();
});

test('a change of a project causes a hint about hosts only if a host has changed', async () => {
  const owner = await app.user('owner');
  const listener = new pg.Client({ connectionString: app.databaseUrl });
  await listener.connect();
  const hints: string[] = [];
  await listener.query('LISTEN tollgate');
  listener.on('notification', ({ payload }) => hints.push(...payload!.split('\n')));
  const shop = await createProject(owner, { name: 'Same' });
  await expect.poll(() => hints).toContain('hosts');
  const patch = (changes: object) => owner.rest('PATCH', shop.base, changes);
  const hintsAfter = async (changes: object) => {
    hints.length = 0;
    expect((await patch(changes)).status).toBe(200);
    expect((await patch({ name: 'Last' })).status).toBe(200);
    await expect.poll(() => hints.filter((hint) => hint === `routes:${shop.id}`).length).toBe(2);
    return hints.filter((hint) => hint === 'hosts').length;
  };
  expect(await hintsAfter({ slug: 'same' })).toBe(0);
  expect(await hintsAfter({ gatewayHost: null })).toBe(0);
  expect(await hintsAfter({ slug: 'other' })).toBe(1);
  await listener.end();
});
