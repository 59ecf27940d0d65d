import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REMOVALS, type Removal } from './tenant-filters.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
/** The line that ends a function or a statement in a file, or a method in a service. */
const END_OF_FUNCTION = /^( {4}\},?| {2}\},?|\}\)?;?|\);)$/;

/** Declares a service that some of the files use. */
const SERVICES = 'src/live/feed.ts';

type Place = { path: string; first: number; last: number };

let folder: string;
let places: Map<Removal, Place>;
let errors: { path: string; line: number; text: string }[];

/** Turns off checks that don't concern the filters' types: removing a filter can leave an import unused. */
const OPTIONS = { noUnusedLocals: false, noUnusedParameters: false };

// One run of the compiler checks a copy of the code in which all filters have been removed, each from a different
// function.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-wall-'));
  await cp(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
  // The types of all statements.
  await cp(join(ROOT, 'prisma/statements.ts'), join(folder, 'prisma/statements.ts'));
  places = new Map();
  const files = Map.groupBy(REMOVALS, ({ file }) => `src/${file}`);
  for (const [path, removals] of files) {
    let text = await readFile(join(folder, path), 'utf8');
    for (const removal of removals) text = withoutFilter(text, removal);
    await writeFile(join(folder, path), text);
    for (const removal of removals) places.set(removal, placeOf(path, text, removal));
  }
  const { compilerOptions } = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8'));
  const config = { compilerOptions: { ...compilerOptions, ...OPTIONS }, files: [...files.keys(), SERVICES] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
  errors = await compile();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function compile() {
  const tsc = promisify(execFile)(process.execPath, [TSC, '--pretty', 'false', '--checkers', '1'], {
    cwd: folder,
    maxBuffer: 2 ** 26,
  });
  const output = await tsc.then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
  return [...output.matchAll(/^(\S+?)\((\d+),\d+\): (error .*)$/gm)].map(([, path, line, text]) => ({
    path: relative(folder, resolve(folder, path!)),
    line: Number(line),
    text: text!,
  }));
}

function withoutFilter(text: string, { file, within, filter, without }: Removal): string {
  const start = text.indexOf(within);
  const at = text.indexOf(filter, start);
  if (start === -1 || at === -1) throw new Error(`src/${file} no longer has ${filter} after ${within}`);
  return text.slice(0, at) + without + text.slice(at + filter.length);
}

/** The lines from the function's name to its end. */
function placeOf(path: string, text: string, { within }: Removal): Place {
  const first = text.slice(0, text.indexOf(within)).split('\n').length;
  const length = text
    .split('\n')
    .slice(first)
    .findIndex((line) => END_OF_FUNCTION.test(line));
  return { path, first, last: first + 1 + length };
}

const isIn = ({ path, first, last }: Place, error: { path: string; line: number }) =>
  error.path === path && error.line >= first && error.line <= last;

describe('without its tenant filter, this does not compile:', () => {
  test.each(REMOVALS.map((removal) => [`${removal.file} ${removal.what}`, removal] as const))('%s', (_, removal) => {
    expect(errors.filter((error) => isIn(places.get(removal)!, error))).not.toEqual([]);
  });
});

test('at least 20 filters are removed, and the code has no other compile errors', () => {
  expect(REMOVALS.length).toBeGreaterThanOrEqual(20);
  expect(errors.filter((error) => ![...places.values()].some((place) => isIn(place, error)))).toEqual([]);
});
