import { resolve } from 'node:path';
import pg from 'pg';
import pino from 'pino';
import type { TestProject } from 'vitest/node';
import { startThrowawayPostgres } from '../../scripts/throwaway-postgres.ts';
import { applyMigrations } from '../../src/database/migrations.ts';
import { databaseUrl } from './database-url.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

/** Starts one PostgreSQL for the whole run and makes the migrated database that test files clone. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startThrowawayPostgres();
  try {
    await makeTemplate(server.url);
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('postgresUrl', server.url);
  return server.stop;
}

async function makeTemplate(serverUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query('CREATE DATABASE tollgate_template');
  await admin.end();

  const pool = new pg.Pool({ connectionString: databaseUrl(serverUrl, 'tollgate_template') });
  await applyMigrations(pool, resolve(import.meta.dirname, '../../prisma/migrations'), pino({ level: 'silent' }));
  await pool.end();
}
