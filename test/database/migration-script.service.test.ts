import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const GENERATOR = 'datasource db {\n  provider = "postgresql"\n}\n';
const NOTE = 'model Note {\n  id String @id\n}\n';
const NOTE_WITH_TEXT = 'model Note {\n  id String @id\n  text String\n}\n';

let project: string;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'tollgate-migration-script-'));
  await mkdir(join(project, 'prisma/migrations'), { recursive: true });
  await mkdir(join(project, 'src'));
  await cp(join(REPOSITORY, 'scripts'), join(project, 'scripts'), { recursive: true });
  await cp(join(REPOSITORY, 'src/database'), join(project, 'src/database'), { recursive: true });
  await cp(join(REPOSITORY, 'package.json'), join(project, 'package.json'));
  await symlink(join(REPOSITORY, 'node_modules'), join(project, 'node_modules'));
});

afterEach(() => rm(project, { recursive: true }));

async function writeSchema(models: string): Promise<void> {
  await writeFile(join(project, 'prisma/schema.prisma'), GENERATOR + models);
}

function runScript(...args: string[]): Promise<{ code: number; output: string }> {
  const node = join(project, 'node_modules/.bin/node');
  return new Promise((done) => {
    execFile(node, [join(project, 'scripts/migration.ts'), ...args], (error, stdout, stderr) => {
      done({ code: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}

async function migrations(): Promise<Record<string, string>> {
  const entries = await readdir(join(project, 'prisma/migrations'), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const read = (name: string) => readFile(join(project, 'prisma/migrations', name, 'migration.sql'), 'utf8');
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name.replace(/^\d{14}_/, ''), await read(name)])),
  );
}

test('each run writes the changes since the last one, and points out what to review', async () => {
  await writeSchema(NOTE);
  expect(await runScript('init')).toMatchObject({ code: 0, output: expect.not.stringContaining('Look at these') });
  expect(await migrations()).toEqual({ init: expect.stringContaining('CREATE TABLE "Note"') });

  await writeSchema(NOTE_WITH_TEXT);
  expect(await runScript('--check')).toMatchObject({ code: 1, output: expect.stringContaining('Added column `text`') });
  expect(await runScript('add_text')).toMatchObject({
    code: 0,
    output: expect.stringMatching(
      /Review these statements.*rejects rows that old processes write: ALTER TABLE "Note" ADD COLUMN "text" TEXT NOT NULL/s,
    ),
  });
  expect((await migrations()).add_text).toBe(
    '-- AlterTable\nALTER TABLE "Note" ADD COLUMN     "text" TEXT NOT NULL;\n',
  );
  expect(await runScript('--check')).toMatchObject({ code: 0 });
  expect(await readFile(join(project, 'prisma/migrations/migration_lock.toml'), 'utf8')).toContain('"postgresql"');
});

test('without changes, the script writes a migration only with --empty', async () => {
  await writeSchema(NOTE);
  await runScript('init');
  expect(await runScript('nothing')).toMatchObject({ code: 0 });
  expect(Object.keys(await migrations())).toEqual(['init']);
  await runScript('by_hand', '--empty');
  expect((await migrations()).by_hand).toBe('');
});

test('nothing is written if the name or the schema is invalid', async () => {
  await writeSchema('model Note {\n  id Nothing @id\n}\n');
  expect((await runScript('init')).code).toBe(1);
  await writeSchema(NOTE);
  expect((await runScript('Init!')).code).toBe(1);
  expect(await migrations()).toEqual({});
});
