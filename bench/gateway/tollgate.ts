import type { AddressInfo } from 'node:net';
import { startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { countStatements } from '../support/statements.ts';
import type { Server, ServerOptions } from './server.ts';

/** Tollgate as it runs with `ROLES=gateway`, with its log discarded. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { network, facilitatorUrl, databaseUrl, dataDir, publicUrl } = options;
  const counts = countStatements();
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATA_DIR: dataDir,
    ROLES: 'gateway',
    PUBLIC_URL: publicUrl,
    SANDBOX: 'off',
    NETWORK: network,
    FACILITATOR_URL: facilitatorUrl,
    RPC_URL: facilitatorUrl,
    EGRESS_ALLOW: '127.0.0.1/32:*',
  });
  const app = await startApp({ config, databaseUrl, log: createLog('info') });
  const { port } = app.http.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: app.stop, counts };
}
