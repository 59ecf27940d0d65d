import type { AddressInfo } from 'node:net';
import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import type { Server, ServerOptions } from './server.ts';

/** Tollgate as it runs with `ROLES=api`, with its log discarded. */
export async function createServer({ databaseUrl, dataDir }: ServerOptions): Promise<Server> {
  const settings = { NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, ROLES: 'api', SANDBOX: 'off' };
  // As in production.
  const config = readConfig({ ...settings, PUBLIC_URL: 'https://api.example' });
  const { http, stop } = await startApp({ config, databaseUrl, log: createLog('info') });
  const { port } = http.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop };
}
