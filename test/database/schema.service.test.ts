import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { CUSTOM_OBJECTS_FILE, describeCustomObjects } from '../../scripts/custom-objects.ts';
import { diffSchemas } from '../../scripts/schema-diff.ts';
import { createEmptyDatabase, createTestDatabase } from '../support/database.ts';

// A Prisma schema describes this column, but cannot say that the database generates it.
const GENERATED = ['column "Delivery".outcome'];

// Migrations add these manually because a Prisma schema cannot express them: partial indexes, indexes on expressions,
// and everything about partitions.
const HAND_WRITTEN = [
  'Event_customer',
  'Payment_amount',
  'Payment_identifier',
  'Payment_payer_open',
  'Payment_payer_settled',
  'Payment_refused',
  ...GENERATED,
  '"Attempt" is partitioned by RANGE ("deliveryId")',
  '"Delivery" is partitioned by RANGE (id)',
  '"Event" is partitioned by RANGE (id)',
  'Delivery_delete_attempts',
  'Delivery_note_changed',
  'Delivery_note_held',
  'Delivery_note_held_deleted',
  'Delivery_note_deleted',
  'ApiKey_project',
  'Connector_project',
  'Endpoint_project',
  'Invitation_pending',
  'Invitation_project',
  'ProjectMember_project',
  'AuditEntry_account',
  'AuditEntry_all_kept',
  'AuditEntry_kept',
  'Replay_running',
  'keep_audit_entries()',
  'ProjectTransfer_end',
  'ProjectTransfer_offer',
  'ProjectTransfer_pending',
  'ProjectTransfer_project',
  'note_transfer()',
  'Payment_project',
  'Replay_project',
  'Webhook_project',
  'Webhook_trouble',
  'reject_deleted_project()',
  'delete_attempts()',
  'Payment_note_late_settlement',
  'note_late_settlement()',
  'note_changed_delivery()',
  'note_held_delivery()',
  'note_deleted_deliveries()',
  'DailySummary_due',
  'DailySummary_skip_utc_day',
  'skip_utc_day()',
  'Delivery_by_hand',
  'Delivery_connector',
  'Delivery_due',
  'Delivery_parked',
  'Delivery_finished',
  'Delivery_held',
  'Delivery_manual',
  'Delivery_until_resent',
  'Delivery_ordering',
  'Delivery_unfinished',
  'Delivery_waiting',
  'Delivery_webhook',
  'Endpoint_delete',
  'Endpoint_get',
  'Endpoint_head',
  'Endpoint_patch',
  'Endpoint_post',
  'Endpoint_put',
  'Connector_notice',
  'Connector_trouble',
  'DeliveryRollup_failed',
  'NoticeContacts_project',
  'NoticeMessage_due',
  'Notice_closed',
  'Notice_due',
  'Notice_hint',
  'Notice_open',
  'Notice_unread',
  'Project_notice',
  'Webhook_notice',
  'close_notices(subject_id text, types text[])',
  'hint_notice()',
  'new_id(prefix text)',
  'note_destination()',
  'note_lost_host()',
  'note_moment(project text, notice_type text, subject_id text, subject_name text)',
  'open_notice(project text, notice_type text, subject_id text, subject_name text, why text, hold interval)',
  'PaymentAnswer_size',
  'Payment_authorization',
  'Payment_failed',
  'Payment_lease',
];

// Relations in the Prisma schema that have no foreign key, because with a foreign key, the database would search for
// references whenever a partition is dropped.
const WITHOUT_FOREIGN_KEY = ['Attempt_deliveryId_fkey', 'Delivery_eventId_fkey'];
const NOT_AS_DESCRIBED = [...GENERATED, ...WITHOUT_FOREIGN_KEY];

// Partitions are left out because they match their table. Not-null constraints are left out because the columns show
// them, and PostgreSQL names them after former column names.
const DESCRIPTIONS = [
  `SELECT format('column %I.%I %s%s default %s identity %s generated %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated)
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped
       AND NOT c.relispartition`,
  `SELECT format('relation %I of kind %s, row security %s', c.relname, replace(c.relkind::text, 'p', 'r'), c.relrowsecurity)
     FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT c.relispartition`,
  `SELECT format('%I is partitioned by %s', c.relname, pg_get_partkeydef(c.oid)) FROM pg_class c WHERE c.relkind = 'p'`,
  `SELECT format('constraint "%s" on %s %s', conname, conrelid::regclass, pg_get_constraintdef(oid))
     FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
       AND conrelid NOT IN (SELECT oid FROM pg_class WHERE relispartition)`,
  `SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition`,
  `SELECT format('enum %I (%s)', t.typname, string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder))
     FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typnamespace = 'public'::regnamespace GROUP BY t.typname`,
  `SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
  'SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal AND tgparentid = 0',
  `SELECT format('policy %I on %I', policyname, tablename) FROM pg_policies WHERE schemaname = 'public'`,
];

/** Describes each object in the `public` schema, except for the migrations table, in one sentence. */
async function describeDatabase(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const sentences: string[] = [];
  for (const sql of DESCRIPTIONS) {
    const { rows } = await client.query<string[]>({ text: sql, rowMode: 'array' });
    sentences.push(...rows.map(([sentence]) => sentence!));
  }
  await client.end();
  return sentences.filter((sentence) => !sentence.includes('_prisma_migrations'));
}

test('the migrations create exactly what schema.prisma describes and what this file lists', async () => {
  const schema = await readFile(resolve(import.meta.dirname, '../../prisma/schema.prisma'), 'utf8');
  const difference = await diffSchemas(inject('postgresUrl'), undefined, schema);
  const migrated = await createTestDatabase();
  const described = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: described.url });
  await client.connect();
  await client.query(difference!.sql);
  await client.end();

  const actual = await describeDatabase(migrated.url);
  const wanted = await describeDatabase(described.url);
  const surplus = actual.filter((sentence) => !wanted.includes(sentence));
  const missing = wanted.filter((sentence) => !actual.includes(sentence));
  const nameIn = (names: string[]) => (sentence: string) =>
    names.find(
      (name) =>
        sentence === name ||
        sentence.startsWith(`${name} `) ||
        sentence.includes(`"${name}"`) ||
        sentence.includes(`.${name}`),
    ) ?? sentence;
  expect(wanted.length).toBeGreaterThan(50);
  expect(missing.map(nameIn(NOT_AS_DESCRIBED)).sort()).toEqual(NOT_AS_DESCRIBED.toSorted());
  expect(surplus.map(nameIn(HAND_WRITTEN)).sort()).toEqual(HAND_WRITTEN.toSorted());
  await migrated.drop();
  await described.drop();
});

test(`${CUSTOM_OBJECTS_FILE} describes the migrated database; if it doesn't, run \`npm run generate:sql\``, async () => {
  const committed = await readFile(resolve(import.meta.dirname, '../..', CUSTOM_OBJECTS_FILE), 'utf8');
  const migrated = await createTestDatabase();
  const client = new pg.Client({ connectionString: migrated.url });
  await client.connect();
  const described = await describeCustomObjects(client);
  await client.end();
  await migrated.drop();
  expect(committed).toBe(described);
});
