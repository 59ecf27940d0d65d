import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { diffSchemas } from '../../scripts/schema-diff.ts';
import { createEmptyDatabase, createTestDatabase } from '../support/database.ts';

// What migrations add by hand, because a Prisma schema cannot say it: partial indexes and indexes on expressions.
const HAND_WRITTEN = [
  'DailySummary_due',
  'Delivery_due',
  'Delivery_destination_due',
  'Delivery_held',
  'Delivery_lease',
  'Endpoint_shape',
  'Payment_authorization',
  'Payment_lease',
];

// Not-null constraints are left out: columns tell, and PostgreSQL's names for them remember former column names.
const DESCRIPTIONS = [
  `SELECT format('column %I.%I %s%s default %s identity %s generated %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
       CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated)
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped`,
  `SELECT format('relation %I of kind %s, partition %s, row security %s', c.relname, c.relkind, pg_get_expr(c.relpartbound, c.oid), c.relrowsecurity)
     FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')`,
  `SELECT format('constraint %I on %s %s', conname, conrelid::regclass, pg_get_constraintdef(oid))
     FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'`,
  `SELECT pg_get_indexdef(indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     WHERE c.relnamespace = 'public'::regnamespace`,
  `SELECT format('enum %I (%s)', t.typname, string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder))
     FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typnamespace = 'public'::regnamespace GROUP BY t.typname`,
  `SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
  'SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal',
  `SELECT format('policy %I on %I', policyname, tablename) FROM pg_policies WHERE schemaname = 'public'`,
];

/** One sentence for each object of the schema `public`, apart from the migrations' own table. */
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

test('the migrations make exactly what schema.prisma describes, and what is listed here', async () => {
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
  const nameOf = (sentence: string) => HAND_WRITTEN.find((name) => sentence.includes(`"${name}"`)) ?? sentence;
  expect(wanted.length).toBeGreaterThan(50);
  expect(wanted.filter((sentence) => !actual.includes(sentence))).toEqual([]);
  expect(surplus.map(nameOf).sort()).toEqual(HAND_WRITTEN.toSorted());
  await migrated.drop();
  await described.drop();
});
