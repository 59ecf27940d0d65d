import { resolve } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import type { TestProject } from 'vitest/node';
import { FAST_SETTINGS, startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { applyMigrations } from '../../src/database/migrations.ts';
import { SESSION_SETTINGS } from '../../src/database/session-settings.ts';
import { runOnServer } from './database.ts';
import { databaseUrl } from './database-url.ts';
import { findInstalledPostgres, type InstalledServer, startInstalledPostgres } from './installed-postgres.ts';
import { type PgBouncer, startPgBouncer } from './pgbouncer.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    /** PgBouncer in front of it, in transaction mode, if `TEST_POOLER` is set. */
    poolerUrl: string | undefined;
  }
}

type TestServer = { url: string; poolerUrl: string | undefined; stop(): Promise<void> };

declare global {
  /** The PostgreSQL server that all Vitest projects in a run share. */
  var testPostgres: { server?: Promise<TestServer>; users: number } | undefined;
}

// Vitest sets up each project with a separate copy of this module.
globalThis.testPostgres ??= { users: 0 };
const shared = globalThis.testPostgres;

/** Starts one PostgreSQL for the whole run, with the migrated database that test files clone. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.server ??= startServer();
  const server = await shared.server;
  shared.users++;
  project.provide('postgresUrl', server.url);
  project.provide('poolerUrl', server.poolerUrl);
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    delete shared.server;
    await server.stop();
  };
}

async function startServer(): Promise<TestServer> {
  const server = process.env.TEST_POSTGRES === 'installed' ? await startInstalled() : await startThrowawayPostgres();
  try {
    await makeTemplate(server.url);
    const pooler = process.env.TEST_POOLER ? await startPooler(server.url) : undefined;
    return {
      url: server.url,
      poolerUrl: pooler?.url,
      async stop() {
        await pooler?.stop();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Debian's PostgreSQL, in a time zone other than UTC. */
async function startInstalled(): Promise<InstalledServer> {
  const programs = await findInstalledPostgres();
  if (!programs) throw new Error('TEST_POSTGRES=installed needs the packages postgresql and postgresql-client');
  return startInstalledPostgres(programs, { ...FAST_SETTINGS, TimeZone: 'America/St_Johns' });
}

async function startPooler(serverUrl: string): Promise<PgBouncer> {
  const defaults = Object.entries(SESSION_SETTINGS).map(([name, value]) => `SET ${name} = '${value}'`);
  for (const setting of defaults) await runOnServer(serverUrl, `ALTER ROLE ${new URL(serverUrl).username} ${setting}`);
  return startPgBouncer(serverUrl, { ofServer: true });
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query('CREATE DATABASE tollgate_template');
  await admin.end();

  const migrations = resolve(import.meta.dirname, '../../prisma/migrations');
  await applyMigrations(databaseUrl(serverUrl, 'tollgate_template'), migrations, pino({ level: 'silent' }));
}
