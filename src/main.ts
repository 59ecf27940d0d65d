import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { startApp } from './app.ts';
import { type Config, ConfigError, readConfig } from './config/config.ts';
import { UnusableDatabaseError } from './database/connection.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './database/embedded/embedded-postgres.ts';
import { PostgresSetupError } from './database/embedded/setup-error.ts';
import { OccupiedDatabaseError } from './database/migrations.ts';
import { PoolerSettingsError } from './database/pooler.ts';
import { HOW_TO_RUN } from './how-to-run.ts';
import { explainListenError, requireListenable } from './http/listening.ts';
import { createLog, openTextDestination } from './log.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { startTracing } from './tracing/start.ts';
import { welcome } from './welcome.ts';

/** After this time, the process exits even if work is still running. Orchestrators would kill it soon anyway. */
const SHUTDOWN_MILLISECONDS = 28_000;

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const tracing = await startTracing(process.env);
  const isText = config.logFormat === 'text';
  if (isText) process.stdout.write('\n  Tollgate is starting …\n\n');
  const text = isText ? await openTextDestination() : undefined;
  const log = createLog(config.logLevel, text);
  // A server that can't listen must not disturb one that is running in the same folder.
  await requireListenable(config);
  const postgres = config.databaseUrl ? undefined : await startDatabase(config, log);
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
    // Leaves out the message and the response, because a collector can quote the headers that it got.
    await tracing?.stop().catch(({ name, code }) => log.warn({ name, code }, "couldn't export the last traces"));
    log.info('stopped');
    process.exit(0);
  }
  process.on('SIGTERM', shutDown);
  process.on('SIGINT', shutDown);

  await sandbox?.publish(app.url);
  log.info({ url: app.url, roles: [...config.roles] }, 'listening');
  // Standard output has only JSON if the log is JSON.
  if (!config.production) (isText ? process.stdout : process.stderr).write(welcome(app.url, config, sandbox));
  text?.release();
}

/** In a terminal, says what takes so long on the first start. */
function startDatabase({ dataDir, logFormat }: Config, log: Logger): Promise<EmbeddedPostgres> {
  const tell = (what: string) => process.stdout.write(`    ${what} …\n`);
  return startEmbeddedPostgres({ dataDir, log, ...(logFormat === 'text' && { onStep: tell }) });
}

/** Loads the sandbox only where it runs, because it needs a chain client. */
async function runSandbox({ networks: served, dataDir }: Config, log: Logger): Promise<Sandbox | undefined> {
  const { startSandbox } = await import('./sandbox/sandbox.ts');
  const networks = served.map(({ network }) => network);
  return startSandbox({ networks, dataDir, log });
}

main().catch(async (error) => {
  process.stderr.write(`${await explain(error)}\n`);
  process.exit(1);
});

/** Errors whose messages say what to do. */
const FOR_OPERATORS = [
  ...[ConfigError, OccupiedDatabaseError, PoolerSettingsError, PostgresSetupError, UnusableDatabaseError],
];

async function explain(error: NodeJS.ErrnoException): Promise<string> {
  if (FOR_OPERATORS.some((kind) => error instanceof kind)) return error.message;
  if (error.syscall === 'listen')
    return (await explainListenError(error, readConfig(process.env), HOW_TO_RUN.start)) ?? error.message;
  return explainDataDir(error, resolve(process.env.DATA_DIR || '.data')) ?? error.stack ?? String(error);
}

const UNWRITABLE = new Set(['EACCES', 'EEXIST', 'ENOSPC', 'ENOTDIR', 'EPERM', 'EROFS']);

/** Explains errors of the file system in the data directory, or in a folder that would contain it. */
function explainDataDir({ code, path, message }: NodeJS.ErrnoException, dataDir: string): string | undefined {
  if (code === undefined || path === undefined || !UNWRITABLE.has(code)) return undefined;
  const place = resolve(path);
  if (!`${place}/`.startsWith(`${dataDir}/`) && !`${dataDir}/`.startsWith(`${place}/`)) return undefined;
  return `Tollgate can't write to its data directory ${dataDir}: ${message}.\nStart it in a folder that you can write to, or set DATA_DIR to one.`;
}
