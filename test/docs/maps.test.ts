import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSources } from '../../scripts/folders.ts';
import { createLedger, type LedgerOptions } from '../../src/features/payments/ledger.ts';
import { ID_PREFIXES } from '../../src/ids.ts';
import { ROOT, section } from './pages.ts';

/** Pages that map a folder: which file does what, and what changes which row. */
const MAPS = [
  'prisma/README.md',
  'src/delivery/README.md',
  'src/features/payments/README.md',
  'src/live/README.md',
] as const;
type Map = (typeof MAPS)[number];

const sources = readSources();
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const objects = read('prisma/custom-objects.sql');
const words = new Set(
  [...sources.map(({ text }) => text), objects, read('prisma/schema.prisma')].flatMap((text) => text.match(/[\w-]+/g)!),
);

const PATH = /^[\w-]+(\/[\w-]+)*\/?(\.test|\.service\.test)?(\.(ts|sql|prisma|md))?$/;
const isPath = (span: string) => PATH.test(span) && (span.includes('/') || /\.(ts|sql|prisma)$/.test(span));
const IDENTIFIERS = /^[\w-]+([.][\w-]+)*$/;
/** `a` and `b` in `path` */
const IDENTIFIERS_IN_FILE = /((?:`[\w-]+`(?:, | and |, and | or )?)+) in `([\w./-]+)`/g;

/** A path as a map writes it, from the root of the repository: it starts at the map's folder or at the root. */
function fileOf(map: string, path: string): string {
  const inFolder = join(dirname(map), path);
  return existsSync(join(ROOT, inFolder)) ? inFolder : path;
}

const spansIn = (text: string) => Array.from(withoutBlocks(text).matchAll(/`([^`\n]+)`/g), ([, span]) => span!);
const withoutBlocks = (text: string) => text.replaceAll(/^```.*?^```/gms, '');

/** All paths in a map, in its text and its diagrams, from the root of the repository. */
function pathsIn(map: string): string[] {
  const text = read(map);
  const blocks = [...text.matchAll(/^```.*?^```/gms)].flatMap(([block]) => block.match(/[\w/-]+\.(ts|sql)\b/g) ?? []);
  return [...spansIn(text).filter(isPath), ...blocks].map((path) => fileOf(map, path));
}

describe.each(MAPS)('%s', (map) => {
  test('fits on a page, and has a table or a diagram before any longer text', () => {
    const text = read(map);
    expect(text.split('\n').length).toBeLessThanOrEqual(121);
    expect(text.split(/^(?:\||```)/m)[0]!.length).toBeLessThan(700);
  });

  test('names only files and folders that exist', () => {
    const paths = pathsIn(map);
    expect(paths.length).toBeGreaterThan(3);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('names only identifiers that exist, in the file where it says they are', () => {
    const text = withoutBlocks(read(map));
    const placed = [...text.matchAll(IDENTIFIERS_IN_FILE)].flatMap(([, names, path]) =>
      names!.match(/[\w-]+(?=`)/g)!.map((name) => ({ name, file: fileOf(map, path!) })),
    );
    const missing = placed.filter(({ name, file }) => !new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(read(file)));
    expect(missing).toEqual([]);
    const names = spansIn(text).filter((span) => !isPath(span) && IDENTIFIERS.test(span));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !name.split('.').every((part) => words.has(part)))).toEqual([]);
  });
});

test.each<[Map, string]>([
  ['src/delivery/README.md', 'src/delivery/**/*.ts'],
  ['src/features/payments/README.md', 'src/features/payments/**/*.ts'],
  ['src/live/README.md', 'src/live/*.ts'],
])('%s names every file in its folder', (map, files) => {
  const named = new Set(pathsIn(map));
  expect(globSync(files, { cwd: ROOT }).filter((file) => !named.has(file))).toEqual([]);
});

describe('what the database contains is on its map', () => {
  const map = read('prisma/README.md');
  const namesIn = (pattern: RegExp) => Array.from(objects.matchAll(pattern), ([, name]) => name!);
  const TRIGGERS = /^CREATE TRIGGER "(\w+)"/gm;
  const FUNCTIONS = /^CREATE OR REPLACE FUNCTION public\.(\w+)/gm;

  test.each([
    ['triggers', TRIGGERS, 20],
    ['functions', FUNCTIONS, 10],
  ])('all %s', (_what, pattern, atLeast) => {
    const names = namesIn(pattern);
    expect(names.length).toBeGreaterThan(atLeast);
    expect(names.filter((name) => !map.includes(`\`${name}\``))).toEqual([]);
  });

  test('each trigger is in a row with its function', () => {
    const rows = map.split('\n').filter((line) => line.startsWith('|'));
    const pairs = [...objects.matchAll(/^CREATE TRIGGER "(\w+)" .* EXECUTE FUNCTION (\w+)\(/gm)];
    expect(pairs.length).toBe(namesIn(TRIGGERS).length);
    const together = (a: string, b: string) => rows.some((row) => row.includes(`\`${a}\``) && row.includes(`\`${b}\``));
    expect(pairs.filter(([, trigger, name]) => !together(trigger!, name!)).map(([, trigger]) => trigger)).toEqual([]);
  });

  test('each function has a reason', () => {
    const [, reasons] = map.split('## Why they aren');
    expect(namesIn(FUNCTIONS).filter((name) => !reasons!.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('the map of deliveries', () => {
  const map = read('src/delivery/README.md');

  test('names every index of some deliveries', () => {
    const indexes = Array.from(objects.matchAll(/^CREATE INDEX "(\w+)" ON public\."Delivery"/gm), ([, name]) => name!);
    expect(indexes.length).toBeGreaterThan(8);
    expect(indexes.filter((name) => !map.includes(`\`${name}\``))).toEqual([]);
  });

  test('names every file with a statement that changes deliveries', () => {
    const named = new Set(pathsIn('src/delivery/README.md'));
    const changing = sources.filter(({ code }) => /(UPDATE|INSERT INTO|DELETE FROM) "Delivery"/.test(code));
    expect(changing.length).toBeGreaterThan(7);
    expect(changing.map(({ path }) => path).filter((path) => !named.has(path))).toEqual([]);
  });
});

describe('the map of payments', () => {
  /** The rows of its tables. “The same” stands for the cell above. */
  const rows: string[][] = [];
  for (const line of withoutBlocks(read('src/features/payments/README.md')).split('\n')) {
    if (!line.startsWith('| ')) continue;
    const above = rows.at(-1) ?? [];
    const cells = line.split('|').slice(1, -1);
    rows.push(cells.map((cell, index) => cell.replace(/^ the same\b/, () => ` ${above[index] ?? ''}`)));
  }
  const texts = rows.map((cells) => cells.join('|'));
  const isIn = (method: string, file: string) =>
    texts.some((row) => row.includes(`\`${method}\``) && row.includes(`\`${file}\``));

  test('has every method of the ledger, with every file of the gateway that calls it', () => {
    const methods = Object.keys(createLedger({ db: {}, batcher: { step: () => {} } } as unknown as LedgerOptions));
    expect(methods.length).toBeGreaterThan(12);
    const callers = sources
      .filter(({ path }) => path.startsWith('src/gateway/'))
      .flatMap(({ path, code }) =>
        Array.from(code.matchAll(/\bledger\.(\w+)\(/g), ([, method]) => [method!, path] as const),
      );
    expect(new Set(callers.map(([method]) => method))).toEqual(new Set(methods));
    expect(callers.filter(([method, file]) => !isIn(method, file))).toEqual([]);
  });

  test('has every status and every stage of a failure', () => {
    const text = texts.join('\n');
    const enums = /^enum Payment(?:Status|Stage) \{(.*?)^\}/gms;
    const values = [...read('prisma/schema.prisma').matchAll(enums)].flatMap(([, body]) => body!.match(/\b[A-Z]+\b/g)!);
    expect(values.length).toBeGreaterThan(8);
    expect(values.filter((value) => !text.includes(`\`${value}\``))).toEqual([]);
  });
});

/** Files that pass others to each other. They run when the service starts. */
const TOGETHER =
  /^src\/(app|roles\/\w+|database\/client|gateway\/chain\/rails|graphql\/schema|rest\/routes|schema\/builder)\.ts$/;

describe.each(['A price change, file by file', 'A paid request, file by file'])('the walk “%s”', (heading) => {
  const [intro, ...rows] = section(read('docs/architecture.md'), `## ${heading}`).split(/^(?=\|)/m);
  const files = [...rows.join('').matchAll(/`(src\/[\w./-]+)`/g)].map(([, path]) => path!);

  test('names each file once, and says how many there are', () => {
    expect(files.length).toBeGreaterThan(30);
    expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
    expect(intro).toContain(`${files.length} files`);
  });

  test('names only files that another of them, or a file that puts them together, imports', () => {
    const importers = sources.filter(({ path }) => files.includes(path) || TOGETHER.test(path));
    const imported = new Set(
      importers.flatMap(({ imports }) => imports.filter(({ isType }) => !isType).map(({ target }) => target)),
    );
    expect(files.filter((file) => !imported.has(file) && !file.endsWith('.graphql'))).toEqual([]);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

test('the docs list the prefix of every ID', () => {
  const names = section(read('docs/concepts.md'), '## Names');
  expect(Object.values(ID_PREFIXES).filter((prefix) => !names.includes(`\`${prefix}_\``))).toEqual([]);
});
