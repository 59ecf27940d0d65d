import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { dangersIn } from '../../scripts/migration-rules.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MIGRATIONS = join(ROOT, 'prisma/migrations');
const { lastMigration } = JSON.parse(readFileSync(join(ROOT, 'test/compatibility/released/release.json'), 'utf8')) as {
  lastMigration: string;
};

/**
 * The migrations that have been examined, with the number of dangers in each. The comment says why the last release can
 * run alongside it, or where operators are told. Empty this after a release.
 */
const EXAMINED: Record<string, number> = {
  // A unique index on a new column.
  '20261124080000_gateway_options': 1,
  // Six unique indexes replace two. They are equally strict for rows that the last release writes.
  '20261124082000_endpoint_methods': 8,
  // A unique index on a new column. It is partial, and empty when it is built.
  '20261124083000_settle_first': 2,
  // Entries with the new actor and without a project are written only for operators; see the changelog.
  '20261124090000_operators': 2,
  // Indexes on large tables: docs/operations.md says that they block writes.
  '20261124091000_customers_by_creation': 1,
  '20261124092000_list_filters': 8,
  '20261124093000_list_orders': 1,
  '20261124101000_project_transfers': 1,
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
  expect(dangers, dangers.join('\n')).toHaveLength(EXAMINED[name] ?? 0);
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
  ['CREATE INDEX "i" ON "Payment" ("payer")', 'blocks writes'],
  [`UPDATE "Delivery" SET "reason" = 'old'`, 'changes many rows'],
])('a migration is dangerous if it contains %s', (sql, danger) => {
  expect(dangersIn(`-- A comment.\n${sql};`).join()).toContain(danger);
});

test.each([
  ['ALTER TABLE "Webhook" ADD COLUMN "name" TEXT'],
  [`ALTER TABLE "Webhook" ADD COLUMN "tier" TEXT NOT NULL DEFAULT 'STARTER', ADD COLUMN "n" INTEGER`],
  ['CREATE INDEX "i" ON "Webhook" ("url")'],
  ['CREATE TABLE "New" ("id" TEXT NOT NULL); CREATE UNIQUE INDEX "i" ON "New" ("id")'],
  ['CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE sql AS $$ DELETE FROM "Event"; $$'],
  ['-- DROP TABLE "Webhook"'],
])('a migration is safe if it contains only %s', (sql) => {
  expect(dangersIn(sql)).toEqual([]);
});
