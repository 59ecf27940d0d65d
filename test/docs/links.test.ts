import { stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { listPages, ROOT, readPage } from './pages.ts';

test('every link and image in the docs points to an existing file and heading', async () => {
  const broken: string[] = [];
  for (const page of await listPages()) {
    for (const link of linksOf(await readPage(page))) {
      if (!(await isThere(page, link))) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

test('every page can be reached from the README by following links', async () => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    for (const link of linksOf(await readPage(page))) {
      const target = targetOf(page, link);
      if (target.endsWith('.md')) reached.add(target);
    }
  }
  expect((await listPages()).filter((page) => !reached.has(page))).toEqual([]);
});

/** The links and images of a page that stay in the repository, in Markdown and HTML, except those in code. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '').replaceAll(/`[^`\n]*`/g, '');
  const links = [...prose.matchAll(/\]\(([^)\s]+)[^)]*\)/g), ...prose.matchAll(/\b(?:src|href)="([^"]+)"/g)];
  return links.map(([, link]) => link!).filter((link) => !/^[a-z]+:/.test(link));
}

function targetOf(page: string, link: string): string {
  const path = link.replace(/#.*/, '');
  return path === '' ? page : normalize(join(dirname(page), path));
}

async function isThere(page: string, link: string): Promise<boolean> {
  const [, anchor] = link.split('#');
  const target = targetOf(page, link);
  const exists = await stat(join(ROOT, target)).then(
    () => true,
    () => false,
  );
  if (!exists || anchor === undefined) return exists;
  return anchorsOf(await readPage(target)).has(anchor);
}

/** The anchors that GitHub gives to headings. */
function anchorsOf(text: string): Set<string> {
  const prose = text.replaceAll(/^```.*?^```/gms, '');
  const headings = Array.from(prose.matchAll(/^#+ (.+)$/gm), ([, heading]) => heading!);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}
