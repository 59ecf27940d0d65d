/** Writes prisma/custom-objects.sql: applies all migrations to a temporary database, and describes the result. */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pino from 'pino';
import { withConnection } from '../src/database/connection.ts';
import { applyMigrations, MIGRATIONS } from '../src/database/migrations.ts';
import { CUSTOM_OBJECTS_FILE, describeCustomObjects } from './custom-objects.ts';
import { startThrowawayPostgres } from './throwaway-postgres.ts';

const ROOT = resolve(import.meta.dirname, '..');

const server = await startThrowawayPostgres();
try {
  await applyMigrations(server.url, MIGRATIONS, pino({ level: 'silent' }));
  const text = await withConnection(server.url, 'tollgate-generate', describeCustomObjects);
  await writeFile(join(ROOT, CUSTOM_OBJECTS_FILE), text);
} finally {
  await server.stop();
}
