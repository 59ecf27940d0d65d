import { startApp } from './app.ts';
import { ConfigError, readConfig } from './config.ts';
import { startEmbeddedPostgres } from './database/embedded-postgres.ts';
import { createLog } from './log.ts';

/** After this the process ends, whatever still runs: orchestrators kill it soon after anyway. */
const SHUTDOWN_MILLISECONDS = 28_000;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLog(config.logLevel);
  const postgres = config.databaseUrl ? undefined : await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  const app = await startApp({ config, databaseUrl: config.databaseUrl ?? postgres!.url, log }).catch(async (error) => {
    await postgres?.stop();
    throw error;
  });

  let stopping = false;
  async function shutDown(signal: string): Promise<void> {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'shutting down');
    setTimeout(() => {
      log.error('shutting down took too long');
      process.exit(1);
    }, SHUTDOWN_MILLISECONDS).unref();
    await app.stop();
    await postgres?.stop();
    log.info('stopped');
    process.exit(0);
  }
  process.on('SIGTERM', shutDown);
  process.on('SIGINT', shutDown);

  log.info({ url: app.url, roles: [...config.roles] }, 'listening');
  if (!config.production) welcome(app.url);
}

function welcome(url: string): void {
  process.stdout.write(`
  Tollgate is running.

    GraphQL explorer   ${url}/graphql
    REST               ${url}/api/projects     described at ${url}/api/openapi.json
    Health, metrics    ${url}/readyz  ${url}/metrics

  Get a token:         npm run --silent token -- --sub alice --tier pro

`);
}

main().catch((error) => {
  process.stderr.write(error instanceof ConfigError ? `${error.message}\n` : `${error?.stack ?? error}\n`);
  process.exit(1);
});
