/** A process that serves the API. */
import pino from 'pino';
import { type App, startApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import { serve } from '../support/child.ts';

let app: App | undefined;

const methods = {
  /** Returns the URL. */
  async open(databaseUrl: string, dataDir: string): Promise<string> {
    const settings = { NODE_ENV: 'test', PORT: '0', DATA_DIR: dataDir, ROLES: 'api', SANDBOX: 'off' };
    app = await startApp({ config: readConfig(settings), databaseUrl, log: pino({ level: 'silent' }) });
    return app.url;
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
