import type { Logger } from 'pino';
import { startApp } from './app.ts';
import { type Config, ConfigError, readConfig } from './config/config.ts';
import { UnusableDatabaseError } from './database/connection.ts';
import { startEmbeddedPostgres } from './database/embedded/embedded-postgres.ts';
import { OccupiedDatabaseError } from './database/migrations.ts';
import { PoolerSettingsError } from './database/pooler.ts';
import { HOW_TO_RUN } from './how-to-run.ts';
import { createLog, openTextDestination } from './log.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { startTracing } from './tracing/start.ts';

/** After this time, the process exits even if work is still running. Orchestrators would kill it soon anyway. */
const SHUTDOWN_MILLISECONDS = 28_000;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const tracing = await startTracing(process.env);
  const isText = config.logFormat === 'text';
  if (isText) process.stdout.write('\n  Tollgate is starting …\n\n');
  const text = isText ? await openTextDestination() : undefined;
  const log = createLog(config.logLevel, text);
  const postgres = config.databaseUrl ? undefined : await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  const sandbox = config.sandbox ? await runSandbox(config, log) : undefined;
  const app = await startApp({
    config,
    databaseUrl: config.databaseUrl ?? postgres!.url,
    log,
    overrides: sandbox && { rails: sandbox.rails, testPayments: sandbox.testPayments },
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
  if (!config.production) welcome(app.url, config.sandbox, sandbox);
  text?.release();
}

/** Loads the sandbox only where it runs, because it needs a chain client. */
async function runSandbox({ networks: served, dataDir }: Config, log: Logger): Promise<Sandbox | undefined> {
  const { startSandbox } = await import('./sandbox/sandbox.ts');
  const networks = served.map(({ network }) => network);
  return startSandbox({ networks, dataDir, log });
}

function welcome(url: string, wantsSandbox: boolean, sandbox: Sandbox | undefined): void {
  process.stdout.write(`
  Tollgate is running.

    Console            ${url}/console/
    GraphQL explorer   ${url}/graphql
    REST               ${url}/api/projects     reference: ${url}/api/openapi.json
    Health, metrics    ${url}/readyz  ${url}/metrics

  Get a token:         ${HOW_TO_RUN.token} --sub alice --tier pro
${sandbox ? describe(sandbox) : wantsSandbox ? NO_SANDBOX : ''}
`);
}

const NO_SANDBOX = `
  The sandbox is off, so the demo can't run and payments go to the public test network. The log says why.
`;

function describe({ chains, upstreamUrl, demoPort, wallet }: Sandbox): string {
  const lines = chains.map(
    ({ network, rpcUrl }) => `    Chain              ${rpcUrl}     with the chain ID and USDC of ${network.title}`,
  );
  return `
  Sandbox, on this machine only:

${lines.join('\n')}
    Demo API           ${upstreamUrl ?? `off, because port ${demoPort} is taken`}
    Wallet             ${wallet.address}, 1000 USDC${chains.length > 1 ? ' on each chain' : ''}

  ${upstreamUrl ? `See a demo:          ${HOW_TO_RUN.demo}` : `To run the demo, free port ${demoPort} and restart.`}
`;
}

main().catch((error) => {
  process.stderr.write(`${explain(error)}\n`);
  process.exit(1);
});

/** Errors whose messages say what to do. */
const FOR_OPERATORS = [ConfigError, OccupiedDatabaseError, PoolerSettingsError, UnusableDatabaseError];

function explain(error: NodeJS.ErrnoException & { port?: number }): string {
  if (FOR_OPERATORS.some((kind) => error instanceof kind)) return error.message;
  if (error.code === 'EADDRINUSE')
    return `Port ${error.port} is already in use. Stop the program that uses it, or set PORT to another port.`;
  return error.stack ?? String(error);
}
