import { stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { listPages, ROOT, readPage } from './pages.ts';

test('every link of the documentation leads to a file, and to a heading where it names one', async () => {
  const broken: string[] = [];
  for (const page of await listPages()) {
    const text = (await readPage(page)).replaceAll(/^```.*?^```/gms, '');
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (!/^[a-z]+:/.test(link) && !(await isThere(page, link))) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

async function isThere(page: string, link: string): Promise<boolean> {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  const exists = await stat(join(ROOT, target)).then(
    () => true,
    () => false,
  );
  if (!exists || anchor === undefined) return exists;
  return anchorsOf(await readPage(target)).has(anchor);
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const headings = Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading]) => heading!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}
