import { resolve } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import type { TestProject } from 'vitest/node';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import type { EmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.ts';
import { applyMigrations } from '../../src/database/migrations.ts';
import { databaseUrl } from './database-url.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

declare global {
  /** The PostgreSQL server that all Vitest projects in a run share. */
  var testPostgres: { server?: Promise<EmbeddedPostgres>; users: number } | undefined;
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
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    delete shared.server;
    await server.stop();
  };
}

async function startServer(): Promise<EmbeddedPostgres> {
  const server = await startThrowawayPostgres();
  try {
    await makeTemplate(server.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query('CREATE DATABASE tollgate_template');
  await admin.end();

  const migrations = resolve(import.meta.dirname, '../../prisma/migrations');
  await applyMigrations(databaseUrl(serverUrl, 'tollgate_template'), migrations, pino({ level: 'silent' }));
}
