import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { dangersIn } from '../../scripts/migration-rules.ts';
import { splitIndexes } from '../../scripts/split-indexes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MIGRATIONS = join(ROOT, 'prisma/migrations');
const { lastMigration } = JSON.parse(readFileSync(join(ROOT, 'test/compatibility/released/release.json'), 'utf8')) as {
  lastMigration: string;
};

/** In later migrations, comments say why a statement is safe. Databases remember earlier ones, so they can't be changed. */
const LAST_WITHOUT_COMMENTS = '20261129151000_audit_log_always_kept';

/**
 * The earlier migrations that have been examined, with the number of dangers in each. The comment says why the last
 * release can run alongside it, or where operators are told. Remove this after a release.
 */
const EXAMINED: Record<string, number> = {
  // A unique index on a new column, of a small table.
  '20261124080000_gateway_options': 2,
  // Six unique indexes replace two. They are equally strict for rows that the last release writes, and the table
  // is small.
  '20261124082000_endpoint_methods': 14,
  // A unique index on a new column. It is partial, and empty when it is built.
  '20261124083000_settle_first': 2,
  // Entries with the new actor and without a project are written only for operators; see the changelog.
  '20261124090000_operators': 2,
  // Indexes on large tables: docs/operations.md says that they block writes.
  '20261124091000_customers_by_creation': 1,
  '20261124092000_list_filters': 8,
  '20261124093000_list_orders': 3,
  '20261124101000_project_transfers': 1,
  // Indexes on small tables, or with few rows.
  '20261127100000_running_replays': 1,
  '20261129150500_account_health': 3,
  // Triggers that keep entries from being changed or deleted. The last release only adds and reads them.
  '20261126110000_audit_log_kept': 2,
  // A block that lets these triggers also run in sessions that turn triggers off.
  '20261129151000_audit_log_always_kept': 1,
  // An index on a large table: docs/operations.md says that it blocks writes.
  '20261128101000_manual_deliveries': 1,
  // The same, and triggers that write notices about deliveries that only this version holds.
  '20261128110000_held_deliveries': 3,
  // A scope for API keys. The last release has no scopes.
  '20261129121500_payments_scope': 1,
  // A trigger that notes late settlements for rollups that only this version reads. It must run for old processes, too.
  '20261129010000_revenue_rollups': 1,
  // A trigger that keeps days out of a queue, for projects that only this version can have changed.
  '20261129122134_time_zones': 1,
};

const unreleased = readdirSync(MIGRATIONS).filter((name) => /^\d{14}_/.test(name) && name > lastMigration);

test.each(unreleased)('every dangerous statement in the migration %s has been reviewed', (name) => {
  const dangers = dangersIn(readFileSync(join(MIGRATIONS, name, 'migration.sql'), 'utf8'));
  const expected = name > LAST_WITHOUT_COMMENTS ? 0 : (EXAMINED[name] ?? 0);
  expect(dangers, dangers.join('\n')).toHaveLength(expected);
});

test.each([
  ['ALTER TABLE "Webhook" DROP COLUMN "url"', 'drops a column'],
  ['DROP TABLE "Webhook"', 'drops a table'],
  ['ALTER TABLE "Webhook" RENAME COLUMN "url" TO "address"', 'renames'],
  ['ALTER TABLE "Webhook" ALTER COLUMN "maxPerSecond" SET DATA TYPE INTEGER', 'changes a type'],
  ['ALTER TABLE "Webhook" ALTER COLUMN "name" SET NOT NULL', 'rejects rows'],
  ['ALTER TABLE "Webhook" ADD COLUMN "a" INTEGER, ADD COLUMN "b" TEXT NOT NULL', 'rejects rows'],
  ['CREATE UNIQUE INDEX "i" ON "Webhook" ("url")', 'rejects rows'],
  ['ALTER TABLE "Webhook" ADD CONSTRAINT "u" UNIQUE ("url")', 'rejects rows'],
  ['ALTER TABLE "Webhook" ADD CONSTRAINT "f" FOREIGN KEY ("projectId") REFERENCES "Project"("id")', 'rejects rows'],
  [
    'CREATE TRIGGER "t" BEFORE UPDATE ON "Webhook" FOR EACH ROW EXECUTE FUNCTION f()',
    'changes how rows from old processes are handled',
  ],
  ['DO $$ BEGIN DELETE FROM "Event"; END $$', 'runs code'],
  ['ALTER TABLE "Webhook" ALTER COLUMN "secret" DROP NOT NULL', 'stores nulls'],
  [`ALTER TYPE "Tier" ADD VALUE 'PLUS'`, 'stores values'],
  ['DROP INDEX "Webhook_url_key"', 'drops an index'],
  ['DROP TRIGGER "t" ON "Webhook"', 'drops something'],
  ['ALTER TABLE "Webhook" DROP CONSTRAINT "c"', 'drops something'],
  ['ALTER TABLE "Webhook" ADD COLUMN "a" UUID DEFAULT gen_random_uuid()', 'the whole table'],
  ['ALTER TABLE "Webhook" ADD COLUMN "a" INTEGER GENERATED ALWAYS AS (1) STORED', 'the whole table'],
  ['CREATE INDEX "i" ON "Payment" ("payer")', 'blocks writes'],
  ['CREATE INDEX "i" ON ONLY "Webhook"("url")', 'blocks writes'],
  ['CREATE UNIQUE INDEX CONCURRENTLY "i" ON "Webhook"("url")', 'rejects rows'],
  ['CREATE INDEX CONCURRENTLY "i" ON "Webhook"("url"); SELECT 1', 'can’t be applied'],
  ['CREATE INDEX CONCURRENTLY IF NOT EXISTS "i" ON "Webhook"("url")', 'can’t be applied'],
  [`UPDATE "Delivery" SET "reason" = 'old'`, 'changes many rows'],
  ['-- Safe: no reason is needed.\nALTER TABLE "Webhook" ADD COLUMN "name" TEXT', 'needs no comment'],
  ['-- Safe: about another table.\nDROP TABLE "Old";\nDROP TABLE "Webhook"', 'use: DROP TABLE "Webhook"'],
  ['-- Safe:\nDROP TABLE "Webhook"', 'drops a table'],
])('a migration is dangerous if it contains %s', (sql, danger) => {
  expect(dangersIn(`-- A comment.\n${sql};`).join()).toContain(danger);
});

test.each([
  ['ALTER TABLE "Webhook" ADD COLUMN "name" TEXT'],
  [`ALTER TABLE "Webhook" ADD COLUMN "tier" TEXT NOT NULL DEFAULT 'STARTER', ADD COLUMN "n" INTEGER`],
  ['-- CreateIndex\nCREATE INDEX CONCURRENTLY "i" ON "Webhook" ("url")'],
  ['-- Why.\n-- Safe: every URL is unique already.\nCREATE UNIQUE INDEX CONCURRENTLY "i" ON "Webhook" ("url")'],
  ['-- Safe: no process has used it\n-- since 1.2.0.\nDROP TABLE "Webhook"'],
  ['-- Safe: it changes few rows.\nDO $$ BEGIN DELETE FROM "Event"; END $$'],
  ['CREATE TABLE "New" ("id" TEXT NOT NULL); CREATE UNIQUE INDEX "i" ON "New" ("id")'],
  ['CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE sql AS $$ DELETE FROM "Event"; $$'],
  ['-- DROP TABLE "Webhook"'],
])('a migration is safe if it contains only %s', (sql) => {
  expect(dangersIn(sql)).toEqual([]);
});

test('a new index of an existing table gets a migration of its own', () => {
  const create = '-- CreateTable\nCREATE TABLE "New" (\n    "id" TEXT NOT NULL,\n\n    PRIMARY KEY ("id")\n);';
  const indexOfNew = '-- CreateIndex\nCREATE INDEX "New_id_idx" ON "New"("id");';
  const index = '-- CreateIndex\nCREATE INDEX "Webhook_url_idx" ON "Webhook"("url");';
  const unique = '-- CreateIndex\nCREATE UNIQUE INDEX "Webhook_name_key" ON "Webhook"("name");';
  const built = '-- CreateIndex\nCREATE INDEX CONCURRENTLY "Webhook_url_idx" ON "Webhook"("url");\n';
  const uniquelyBuilt = '-- CreateIndex\nCREATE UNIQUE INDEX CONCURRENTLY "Webhook_name_key" ON "Webhook"("name");\n';
  expect(splitIndexes('urls', `${index}\n`)).toEqual([{ name: 'urls', sql: built }]);
  expect(splitIndexes('new', `${create}\n\n${index}\n\n${indexOfNew}\n\n${unique}\n`)).toEqual([
    { name: 'new', sql: `${create}\n\n${indexOfNew}\n` },
    { name: 'new_index_1', sql: built },
    { name: 'new_index_2', sql: uniquelyBuilt },
  ]);
});
