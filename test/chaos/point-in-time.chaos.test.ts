import pg from 'pg';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adopt, followHold, readHold } from '../../src/database/installation.ts';
import { applyMigrations, MIGRATIONS } from '../../src/database/migrations.ts';
import { findInstalledPostgres, type InstalledServer, startInstalledPostgres } from '../support/installed-postgres.ts';

const programs = await findInstalledPostgres();
/** The point in time to recover to. */
const TARGET = 'before_the_mistake';

describe.skipIf(!programs)('physical copies of a server', () => {
  const servers: InstalledServer[] = [];
  const clients: pg.Client[] = [];
  let primary: InstalledServer;

  beforeAll(async () => {
    primary = await start(startInstalledPostgres(programs!));
    const log = pino({ level: 'silent' });
    await applyMigrations(primary.url, MIGRATIONS, log);
    expect(await followHold(await connectTo(primary))).toBeUndefined();
  });

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await Promise.all(servers.map((server) => server.stop()));
  });

  async function start(starting: Promise<InstalledServer>): Promise<InstalledServer> {
    const server = await starting;
    servers.push(server);
    return server;
  }

  async function connectTo({ url }: InstalledServer): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    // A server that stops says so on its connections.
    client.on('error', () => {});
    await client.connect();
    clients.push(client);
    return client;
  }

  async function promoted(server: InstalledServer): Promise<pg.Client> {
    const client = await connectTo(server);
    const isPrimary = async () => (await client.query('SELECT NOT pg_is_in_recovery() AS "is"')).rows[0].is;
    await expect.poll(isPrimary).toBe(true);
    return client;
  }

  test('a server that was recovered to a point in time sends nothing until it is adopted', async () => {
    const sql = await connectTo(primary);
    const { rows } = await sql.query('SHOW data_directory');
    const backup = await primary.backUp();
    await sql.query(`SELECT pg_create_restore_point('${TARGET}')`);
    await sql.query('SELECT pg_switch_wal()');
    const copy = await promoted(
      await start(
        backup.start('recovery.signal', {
          restore_command: `cp ${rows[0].data_directory}/pg_wal/%f %p`,
          recovery_target_name: TARGET,
          recovery_target_action: 'promote',
        }),
      ),
    );
    expect(await followHold(copy)).toBe('recovered');
    expect(await readHold(copy)).toBe('recovered');
    await adopt(copy);
    expect(await readHold(copy)).toBeUndefined();
  });

  test('a standby that is promoted goes on', async () => {
    const backup = await primary.backUp();
    const standby = await start(backup.start('standby.signal', { primary_conninfo: primary.url }));
    const sql = await connectTo(standby);
    await sql.query('SELECT pg_promote()');
    // The next checkpoint, which writes the timeline to the control file, may take minutes.
    expect(await followHold(sql)).toBeUndefined();
    expect((await sql.query('SELECT "timeline" FROM "Installation"')).rows).toEqual([{ timeline: 2 }]);
    expect(await readHold(await connectTo(primary))).toBeUndefined();
  });
});
