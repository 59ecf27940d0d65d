/**
 * Writes a migration with the changes to prisma/schema.prisma since the last migration. New indexes of existing tables get
 * migrations of their own.
 *
 *   npm run migration -- NAME           writes prisma/migrations/<time>_NAME/migration.sql
 *   npm run migration -- NAME --empty   writes an empty file there, for SQL that Prisma schemas can't express
 *   npm run migration -- --check        writes nothing; exits with 1 if a migration is missing
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { dangersIn } from './migration-rules.ts';
import { compareWithMigrations, MIGRATED_SCHEMA, MIGRATIONS, missingMigration } from './schema-diff.ts';
import { splitIndexes } from './split-indexes.ts';
import { startThrowawayPostgres } from './throwaway-postgres.ts';

const ROOT = resolve(import.meta.dirname, '..');
const LOCK_FILE = 'provider = "postgresql"\n';
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean', default: false }, empty: { type: 'boolean', default: false } },
});
process.exitCode = values.check ? await check() : await write(positionals[0] ?? '', values.empty);

async function check(): Promise<number> {
  const { difference } = await compare();
  if (difference) console.error(missingMigration(difference));
  return difference ? 1 : 0;
}

async function write(name: string, isEmpty: boolean): Promise<number> {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    console.error('Name the migration in lowercase with underscores: npm run migration -- add_customer_email');
    return 1;
  }
  const { schema, difference, isFirst } = await compare();
  if (!difference && !isEmpty) {
    console.log('The migrations already match prisma/schema.prisma. Use --empty for custom SQL.');
    return 0;
  }
  const now = Date.now();
  const migrations = difference ? splitIndexes(name, difference.sql) : [{ name, sql: '' }];
  for (const [index, migration] of migrations.entries()) {
    const file = join(MIGRATIONS, `${timestamp(new Date(now + index * 1000))}_${migration.name}`, 'migration.sql');
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, migration.sql);
    console.log(`Wrote ${relative(ROOT, file)}`);
  }
  await writeFile(join(MIGRATIONS, 'migration_lock.toml'), LOCK_FILE);
  await writeFile(MIGRATED_SCHEMA, schema);

  console.log(difference?.summary ?? '');
  const dangers = isFirst ? [] : migrations.flatMap(({ sql }) => dangersIn(sql));
  if (dangers.length > 0) console.log(`Review these statements before you commit:\n\n${dangers.join('\n')}\n`);
  console.log('Migrations run at the next start. You can edit them until then.');
  return 0;
}

async function compare() {
  const server = await startThrowawayPostgres();
  try {
    return await compareWithMigrations(server.url);
  } finally {
    await server.stop();
  }
}

/** YYYYMMDDHHMMSS in UTC, the format of Prisma's migration names. */
function timestamp(time: Date): string {
  return time.toISOString().replaceAll(/\D/g, '').slice(0, 14);
}
