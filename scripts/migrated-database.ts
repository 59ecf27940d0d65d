import type pg from 'pg';
import pino from 'pino';
import { withConnection } from '../src/database/connection.ts';
import { applyMigrations, MIGRATIONS } from '../src/database/migrations.ts';

/** Applies all migrations to a server's database, and runs work on a connection to it. */
export async function withMigratedDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  await applyMigrations(url, MIGRATIONS, pino({ level: 'silent' }));
  return withConnection(url, 'tollgate-generate', work);
}
