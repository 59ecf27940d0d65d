import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import type { Server, ServerOptions } from './server.ts';

/** Tollgate as it runs with `ROLES=api`, with its log discarded. */
export async function createServer({ databaseUrl, dataDir }: ServerOptions): Promise<Server> {
  const config = readConfig({ NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, ROLES: 'api', SANDBOX: 'off' });
  const { url, stop } = await startApp({ config, databaseUrl, log: createLog('info') });
  return { url, stop };
}
