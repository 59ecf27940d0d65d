import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';

test('every picture in the documentation is shown or linked on a page', () => {
  const pages = [...globSync('docs/**/*.md'), 'README.md'].map((path) => readFileSync(path, 'utf8')).join('\n');
  const pictures = globSync('docs/images/*').map((path) => basename(path));
  expect(pictures.length).toBeGreaterThan(0);
  expect(pictures.filter((name) => !pages.includes(`images/${name}`))).toEqual([]);
});
