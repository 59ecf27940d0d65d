import { spawnSync } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { codeBlocks, listPages, ROOT, readPage } from './pages.ts';

const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};

// Blocks marked `bash` run in this project as written. `sh` is for other places, like a vendor's API or other machines.
const pages = await Promise.all(
  (await listPages()).map(async (path) => ({ path, blocks: codeBlocks(await readPage(path), 'bash') })),
);
const blocks = pages.flatMap(({ path, blocks }) => blocks.map((code) => ({ path, code, first: code.split('\n')[0]! })));

test("code blocks with commands are marked as bash, or as sh if they aren't for this project", async () => {
  for (const { path } of pages)
    expect(await readPage(path), path).not.toMatch(/^```(shell|console|zsh|shell-session)$/m);
});

test.each(blocks)('$path: "$first" is valid bash', ({ code }) => {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
});

test.each(blocks)('$path: "$first" names scripts and files that exist', async ({ code }) => {
  for (const [, name] of code.matchAll(/\bnpm (?:run (?:--silent )?|(?=start\b|test\b))([\w:-]+)/g))
    expect(Object.keys(scripts)).toContain(name);
  for (const [, path] of code.matchAll(/(?:^|\s)((?:scripts|src|bench|test)\/[\w./-]+\.(?:m?js|ts))\b/gm))
    await access(join(ROOT, path!));
});
