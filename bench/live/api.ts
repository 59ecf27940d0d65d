/** A process that serves the API. */
import type { AddressInfo } from 'node:net';
import { type App, startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { createLog } from '../../src/log.ts';
import { serve } from '../support/child.ts';

let app: App | undefined;

const methods = {
  /** Returns the URL. */
  async open(databaseUrl: string, dataDir: string): Promise<string> {
    const settings = { NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, ROLES: 'api', SANDBOX: 'off' };
    // As in production.
    const config = readConfig({ ...settings, PUBLIC_URL: 'https://api.example' });
    app = await startApp({ config, databaseUrl, log: createLog('info') });
    const { port } = app.http.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  },
  cpuMicroseconds(): number {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
  async stop(): Promise<void> {
    await app?.stop();
  },
};

export type ApiMethods = typeof methods;
serve(methods);
