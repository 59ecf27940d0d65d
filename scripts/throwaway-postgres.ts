import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/database/embedded/embedded-postgres.ts';

/** These settings favor speed over durability. Many services share the server. */
export const FAST_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
};

/**
 * Starts a separate PostgreSQL server in a temporary directory. `stop` removes it with all its data.
 *
 * @param settings pass `{}` for a server as durable as a real one.
 */
export async function startThrowawayPostgres(
  settings: Record<string, string> = FAST_SETTINGS,
): Promise<EmbeddedPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-'));
  try {
    // If this process runs as root, the server runs under another account, which needs access.
    await chmod(dataDir, 0o711);
    const server = await startEmbeddedPostgres({ dataDir, log: pino({ level: 'silent' }), settings });
    return {
      ...server,
      async stop() {
        await server.stop();
        await rm(server.dataDir, { recursive: true, force: true });
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  }
}
