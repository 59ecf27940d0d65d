import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const FOLDER = resolve(import.meta.dirname, '../../src/console');

test('the console copies text only in a way that works over plain HTTP and notices refusals', () => {
  const files = globSync('**/*.{ts,tsx}', { cwd: FOLDER });
  const copying = files.filter((file) =>
    /navigator\.clipboard|\bCopyButton\b|\buseClipboard\b/.test(readFileSync(resolve(FOLDER, file), 'utf8')),
  );
  expect(copying).toEqual(['parts/copy-text.ts']);
});
