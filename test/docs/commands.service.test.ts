import { spawnSync } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allBlocks, listPages, ROOT, readPage } from './pages.ts';

const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

const pages = await Promise.all(
  (await listPages()).map(async (path) => ({ path, blocks: allBlocks(await readPage(path)) })),
);
const blocks = pages.flatMap(({ path, blocks }) =>
  blocks
    .filter(({ language }) => ['bash', 'sh'].includes(language))
    .map(({ code }) => ({ path, code, first: code.split('\n')[0]! })),
);

test.each(blocks)('$path: "$first" is valid bash', ({ code }) => {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
});

test.each(blocks)('$path: "$first" refers only to scripts and files that exist', async ({ code }) => {
  for (const [, name] of code.matchAll(/\bnpm (?:run (?:--silent )?|(?=start\b|test\b))([\w:-]+)/g))
    expect(Object.keys(scripts)).toContain(name);
  for (const [, path] of code.matchAll(/(?:^|\s)((?:scripts|src|bench|test)\/[\w./-]+\.(?:m?js|ts))\b/gm))
    await access(join(ROOT, path!));
});
