import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeStatements, findUnchecked, loadStatements, staleStatements } from '../../scripts/statements.ts';
import { uncheckedSql } from '../../scripts/unchecked-sql.ts';
import { isChange } from '../../src/database/changes.ts';
import { namedText } from '../../src/database/statement.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const ROOT = resolve(import.meta.dirname, '../..');

let database: TestDatabase;
let client: pg.Client;
let texts: ReadonlyMap<string, string>;

beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client(database.url);
  await client.connect();
  texts = await loadStatements();
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

const only = (name: string, change = (text: string) => text) => new Map([[name, change(texts.get(name)!)]]);

describe('the check of statements against the schema', () => {
  test('accepts every statement in the source code', async () => {
    const { problems } = await describeStatements(client, texts);
    expect(problems).toEqual([]);
    expect(texts.size).toBeGreaterThan(150);
  });

  test('names the file and the statement with a renamed column', async () => {
    const planted = only('payment-settling', (text) => text.replace('"failureReason"', '"failReason"'));
    const { problems } = await describeStatements(client, planted);
    expect(problems).toEqual([
      'src/features/payments/steps/move.ts: payment-settling: column "failReason" of relation "Payment" does not exist',
    ]);
  });

  test('names the file and the statement whose column has changed its type', async () => {
    const before = await describeStatements(client, only('installation-read'));
    await client.query('BEGIN; ALTER TABLE "Installation" ALTER "timeline" TYPE bigint');
    const after = await describeStatements(client, only('installation-read'));
    await client.query('ROLLBACK');
    expect(before.text).toContain('"timeline": number;');
    expect(after.text).toContain('"timeline": Int8;');
    expect(staleStatements(before.text, after.text)).toEqual(['src/database/installation.ts: installation-read']);
    expect(staleStatements(before.text, before.text)).toEqual([]);
  });

  test('names the file and the statement of a variant', async () => {
    const planted = only('project-visible-own', (text) => text.replace('"timeZone"', '"zone"'));
    const { problems } = await describeStatements(client, planted);
    expect(problems).toEqual(['src/features/projects/find.ts: project-visible-own: column "zone" does not exist']);
  });
});

test('every statement is sent with its name, and still recognized as a change', () => {
  for (const [name, text] of texts) {
    const sent = namedText(name, text);
    expect(sent).toMatch(new RegExp(`^\\(*\\w+ /\\* ${name} \\*/\\s`));
    expect(isChange(sent), sent).toBe(isChange(text));
  }
});

test('finds SQL that is sent without being a statement', () => {
  const text =
    'const rows = await pool.query<Row>(\'SELECT 1 FROM "Project"\');\nawait tx.$executeRaw`DELETE FROM "Project"`;';
  expect(uncheckedSql('src/features/planted.ts', text)).toEqual([
    expect.stringContaining("src/features/planted.ts:1 sends SQL that isn't a statement"),
    expect.stringContaining("src/features/planted.ts:2 sends SQL that isn't a statement"),
  ]);
  expect(findUnchecked()).toEqual([]);
});

/** Compiles code that uses statements. @returns the compiler's errors. */
async function compile(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-statements-'));
  try {
    const compilerOptions = { rewriteRelativeImportExtensions: false, types: [] };
    const config = { extends: join(ROOT, 'tsconfig.json'), include: ['planted.ts'], compilerOptions };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(join(folder, 'planted.ts'), code);
    const compiler = join(ROOT, 'node_modules/.bin/tsc');
    return await new Promise((done) => {
      execFile(compiler, ['--project', folder], { cwd: folder }, (_error, stdout) => done(stdout));
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const PLANTED = `import type { Queryable } from '${ROOT}/src/database/client.ts';
import { runStatement, statement } from '${ROOT}/src/database/statement.ts';
declare const db: Queryable;
const READ = statement('installation-read', '');
const RECORD = statement('installation-record-keep', '');
export const right = await runStatement<{ timeline: number; isRequested: boolean }>(db, READ());
await runStatement(db, RECORD('system', 7));
export const wrongType = await runStatement<{ timeline: string }>(db, READ());
export const missingColumn = await runStatement<{ timelines: number }>(db, READ());
await runStatement(db, RECORD('system'));
await runStatement(db, RECORD('system', new Date()));
statement('unknown', '');
`;

test('the compiler names the file and the line of each use of a statement that does not match the schema', async () => {
  const errors = await compile(PLANTED);
  const lines = [...errors.matchAll(/^planted\.ts\((\d+),/gm)].map(([, line]) => Number(line));
  expect([...new Set(lines)], errors).toEqual([8, 9, 10, 11, 12]);
  expect(errors).toContain("Type 'number' is not assignable to type 'string");
  expect(errors).toContain('Expected 2 arguments, but got 1');
});
