import { randomBytes } from 'node:crypto';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { startInstalledPostgres } from '../../test/support/installed-postgres.ts';
import { openPool } from './open-pool.ts';
import { cpuMicrosecondsOf } from './processes.ts';

/** Settings with full durability for a server that has the machine to itself. */
const SETTINGS = { shared_buffers: '512MB', max_wal_size: '4GB' };

/**
 * A PostgreSQL server with full durability, whose CPU time can be measured.
 *
 * @param programs the folder of an installed PostgreSQL. Default: the embedded one, which has no `pg_dump`.
 */
export async function openPostgres(programs?: string) {
  const server = programs ? await startInstalledPostgres(programs, SETTINGS) : await startThrowawayPostgres(SETTINGS);
  const admin = openPool({ connectionString: server.url, max: 1 });
  const [{ pid }] = (await admin.query(`SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1) AS pid`)).rows as [
    { pid: string },
  ];
  return {
    async createDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
      const name = `bench_${randomBytes(6).toString('hex')}`;
      await admin.query(`CREATE DATABASE ${name}`);
      const { href } = Object.assign(new URL(server.url), { pathname: `/${name}` });
      return {
        url: href,
        async drop() {
          await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
        },
      };
    },
    /** The CPU time that all of PostgreSQL's processes have used so far. */
    cpuMicroseconds: (): number => cpuMicrosecondsOf(pid),
    async stop(): Promise<void> {
      await admin.end();
      await server.stop();
    },
  };
}
