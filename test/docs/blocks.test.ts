import { readdir, readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { buildSchema, parse, validate } from 'graphql';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/variables.ts';
import { NOT_RUN } from './not-run.ts';
import { allBlocks, listPages, ROOT, readPage, section } from './pages.ts';

/** Languages for text and HTTP examples, and languages with blocks that another test checks or runs. */
const OTHERS = ['http', 'text', 'nginx', 'ini', 'sql', 'yaml', 'python', 'py', 'go', 'java', 'php', 'ruby'];

const blocks = (
  await Promise.all(
    (
      await listPages()
    ).map(async (page) =>
      allBlocks(await readPage(page)).map((block) => ({ page, ...block, first: block.code.split('\n')[0]! })),
    ),
  )
).flat();
const inLanguage = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));
const commands = inLanguage('bash');
const notRun = inLanguage('sh');

test('every code block in the docs is in a language that a test checks', () => {
  const known = ['bash', 'sh', 'graphql', 'json', 'jsonl', 'ts', 'js', 'dotenv', ...OTHERS];
  expect(blocks.filter(({ language }) => !known.includes(language))).toEqual([]);
});

test('shell blocks in the docs either run as written (bash), or are marked with no-run (sh)', () => {
  expect(commands.filter(({ info }) => info !== '')).toEqual([]);
  expect(notRun.filter(({ info }) => info !== 'no-run')).toEqual([]);
});

test('every block in the docs that is marked with no-run has a reason, and there are no other reasons', () => {
  const keysOf = (all: { page: string; first: string }[]) => [
    ...new Set(all.map((one) => `${one.page}: ${one.first}`)),
  ];
  const reasons = Object.entries(NOT_RUN).flatMap(([page, byFirst]) =>
    Object.keys(byFirst).map((first) => ({ page, first })),
  );
  expect(keysOf(reasons).sort()).toEqual(keysOf(notRun).sort());
});

test('commands in the docs use only variables that docs/examples.md explains or that their own page sets', async () => {
  const explained = Array.from((await readPage('docs/examples.md')).matchAll(/`([A-Z_]+)`/g), ([, name]) => name!);
  const foreign = commands.flatMap(({ page, code }) => {
    const ofPage = blocks.filter((block) => block.page === page && ['bash', 'sh'].includes(block.language));
    const set = ofPage.flatMap((block) => Array.from(block.code.matchAll(/\b([A-Z_]+)=/g), ([, name]) => name!));
    const used = Array.from(code.matchAll(/\$\{?([A-Z_]+)/g), ([, name]) => name!);
    return used.filter((name) => !explained.includes(name) && !set.includes(name)).map((name) => `${page}: $${name}`);
  });
  expect(foreign).toEqual([]);
});

const schema = buildSchema(await readFile(join(ROOT, 'schema.graphql'), 'utf8'));

test.each(inLanguage('graphql'))('$page: the document "$first" fits the schema', ({ code }) => {
  expect(validate(schema, parse(code))).toEqual([]);
});

test.each(inLanguage('json'))('$page: the block "$first" is JSON', ({ code }) => {
  JSON.parse(code);
});

test.each(inLanguage('jsonl'))('$page: each line of the block "$first" is JSON', ({ code }) => {
  for (const line of code.trim().split('\n')) JSON.parse(line);
});

test.each(inLanguage('ts', 'js'))('$page: the program "$first" can be parsed', ({ code }) => {
  stripTypeScriptTypes(code);
});

const [issuers] = allBlocks(section(await readPage('docs/authentication.md'), '### Auth0'));

test.each(inLanguage('dotenv'))('$page: the service accepts the settings "$first"', ({ code }) => {
  // Quotes belong to the shell, or to the file with the settings.
  const settings = Array.from(code.matchAll(/^([A-Z_]+)='?(.*?)'?$/gm), ([, name, value]) => [name!, value!] as const);
  expect(settings).toHaveLength(code.trim().split('\n').length);
  expect(settings.filter(([name]) => !Object.keys(VARIABLES).includes(name))).toEqual([]);
  const complete = settings.filter(([, value]) => value !== '…');
  readConfig({ AUTH_ISSUERS: issuers!.code, ...Object.fromEntries(complete) });
});

test('every message on the troubleshooting page comes from the service or the stock client', async () => {
  const tables = (await readPage('docs/troubleshooting.md')).split('\n').filter((line) => line.startsWith('| '));
  const cells = tables.map((line) => line.split(' | ')[0]!);
  const quoted = cells.flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, text]) => text!));
  const parts = quoted.flatMap((text) => text.split('…')).filter((text) => text.trim() !== '');
  expect(parts.length).toBeGreaterThan(40);
  const code = (
    await Promise.all(['src', 'node_modules/@x402/core/dist/esm', 'node_modules/@x402/evm/dist/esm'].map(textOf))
  ).join('\n');
  const known = plain(code);
  expect(parts.filter((text) => !known.includes(plain(text)))).toEqual([]);
});

/** Ignores how a string is quoted, and the case of its first letter. */
const plain = (text: string) => text.replaceAll(/[`\\]/g, '').replaceAll('’', "'").toLowerCase();

async function textOf(folder: string): Promise<string> {
  const paths = (await readdir(join(ROOT, folder), { recursive: true })).filter((path) =>
    /\.(ts|mjs|prisma)$/.test(path),
  );
  return (await Promise.all(paths.map((path) => readFile(join(ROOT, folder, path), 'utf8')))).join('\n');
}

test('the documentation lists every page, and has a section for each kind of page', async () => {
  const index = await readPage('docs/README.md');
  for (const heading of ['## Get started', '## How-to', '## Reference', '## Explanation'])
    expect(section(index, heading)).toMatch(/^- /m);
  const linked = Array.from(index.matchAll(/\]\(([^)#]+\.md)\)/g), ([, path]) => path!);
  const flat = (await listPages()).filter((path) => /^docs\/[^/]+\.md$/.test(path) && path !== 'docs/README.md');
  expect(flat.filter((path) => !linked.includes(path.replace('docs/', '')))).toEqual([]);
});
