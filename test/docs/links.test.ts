import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveLink } from '../../docs/.vitepress/links.ts';
import { anchorOf, listSitePages } from '../../docs/.vitepress/pages.ts';
import { listImages, ROOT, readPage } from './pages.ts';

const pages = listSitePages();

test('every link and image in the docs points to an existing file and heading', async () => {
  const broken: string[] = [];
  for (const page of pages) {
    for (const link of linksOf(await readPage(page))) {
      if (!(await isThere(page, link))) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

test('every image in the docs is used', async () => {
  const used = new Set<string>();
  for (const page of pages) {
    for (const link of linksOf(await readPage(page))) used.add(resolveLink(page, link)?.file ?? '');
  }
  const images = await listImages();
  expect(images.length).toBeGreaterThan(10);
  expect(images.filter((image) => !used.has(image))).toEqual([]);
});

/** Returns a page's links and images that point into the repository, in Markdown and HTML, but not in code. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '').replaceAll(/`[^`\n]*`/g, '');
  const links = [...prose.matchAll(/\]\(([^)\s]+)[^)]*\)/g), ...prose.matchAll(/\b(?:src|href)="([^"]+)"/g)];
  return links.map(([, link]) => link!).filter((link) => !/^[a-z]+:/.test(link));
}

async function isThere(page: string, link: string): Promise<boolean> {
  const target = resolveLink(page, link);
  if (!target) return false;
  const file = await stat(join(ROOT, target.file)).catch(() => undefined);
  // The site has no pages for folders.
  if (!file?.isFile() || target.anchor === '') return file?.isFile() ?? false;
  return anchorsOf(await readPage(target.file)).has(target.anchor.slice(1));
}

/** The anchors of headings. If several headings are the same, their anchors are numbered. */
function anchorsOf(text: string): Set<string> {
  const prose = text.replaceAll(/^```.*?^```/gms, '');
  const anchors = new Set<string>();
  for (const [, heading] of prose.matchAll(/^#+ (.+)$/gm)) {
    const anchor = anchorOf(heading!.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'));
    let number = 0;
    while (anchors.has(number === 0 ? anchor : `${anchor}-${number}`)) number++;
    anchors.add(number === 0 ? anchor : `${anchor}-${number}`);
  }
  return anchors;
}
