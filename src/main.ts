import type { Logger } from 'pino';
import { startApp } from './app.ts';
import { type Config, ConfigError, readConfig } from './config/config.ts';
import { startEmbeddedPostgres } from './database/embedded/embedded-postgres.ts';
import { createLog } from './log.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { startTracing } from './tracing/start.ts';

/** After this, the process exits even if work is still running. Orchestrators would kill it soon anyway. */
const SHUTDOWN_MILLISECONDS = 28_000;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const tracing = await startTracing(process.env);
  const log = createLog(config.logLevel);
  const postgres = config.databaseUrl ? undefined : await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  const sandbox = config.sandbox ? await runSandbox(config, log) : undefined;
  const app = await startApp({
    config,
    databaseUrl: config.databaseUrl ?? postgres!.url,
    log,
    overrides: sandbox && { rails: sandbox.rails },
  }).catch(async (error) => {
    await sandbox?.stop();
    await postgres?.stop();
    throw error;
  });

  let stopping = false;
  async function shutDown(signal: string): Promise<void> {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'shutting down');
    setTimeout(() => {
      log.error('shutdown took too long');
      process.exit(1);
    }, SHUTDOWN_MILLISECONDS).unref();
    await app.stop();
    await sandbox?.stop();
    await postgres?.stop();
    await tracing?.stop();
    log.info('stopped');
    process.exit(0);
  }
  process.on('SIGTERM', shutDown);
  process.on('SIGINT', shutDown);

  log.info({ url: app.url, roles: [...config.roles] }, 'listening');
  if (!config.production) welcome(app.url, sandbox);
}

/** Loads the sandbox only where it runs: the built server doesn't have it. */
async function runSandbox({ network, dataDir }: Config, log: Logger): Promise<Sandbox | undefined> {
  const { startSandbox } = await import('./sandbox/sandbox.ts').catch(explainMissing);
  return startSandbox({ network, dataDir, log });
}

function explainMissing(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  throw new ConfigError([
    'SANDBOX: the sandbox needs the source and the development packages. Use `npm start`, or set SANDBOX=off',
  ]);
}

function welcome(url: string, sandbox: Sandbox | undefined): void {
  process.stdout.write(`
  Tollgate is running.

    Console            ${url}/console/
    GraphQL explorer   ${url}/graphql
    REST               ${url}/api/projects     reference: ${url}/api/openapi.json
    Health, metrics    ${url}/readyz  ${url}/metrics

  Get a token:         npm run --silent token -- --sub alice --tier pro
${sandbox ? describe(sandbox) : ''}
`);
}

function describe({ rpcUrl, upstreamUrl, wallet }: Sandbox): string {
  return `
  Sandbox, on this machine only:

    Chain              ${rpcUrl}     with the chain ID and USDC of Base Sepolia
    Demo API           ${upstreamUrl ?? 'off, because it could not start (see the log)'}
    Wallet             ${wallet.address}, 1000 USDC

  See a demo:          npm run demo
`;
}

main().catch((error) => {
  process.stderr.write(error instanceof ConfigError ? `${error.message}\n` : `${error?.stack ?? error}\n`);
  process.exit(1);
});
