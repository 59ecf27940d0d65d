import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listSitePages, sitePathOf } from '../../docs/.vitepress/pages.ts';
import { ERRORS } from '../../src/errors.ts';
import { ROOT } from './pages.ts';

const FOLDER = join(ROOT, 'dist/docs');
const BASE = '/docs/';

const files = new Set(globSync('**/*.*', { cwd: FOLDER }).concat(globSync('**/LICENSE', { cwd: FOLDER })));
const pages = new Map(
  listSitePages().map((page) => {
    const file = `${sitePathOf(page).replace(/(^|\/)$/, '$1index')}.html`;
    return [file, readFileSync(join(FOLDER, file), 'utf8')];
  }),
);
const anchorsOf = (html: string) => new Set(Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id]) => id));
const anchors = new Map(Array.from(pages, ([file, html]) => [file, anchorsOf(html)]));

/** The file that the server sends for a path on the site. */
function fileOf(path: string): string | undefined {
  const candidates = [path, `${path}.html`, `${path}index.html`];
  return candidates.find((candidate) => files.has(candidate));
}

describe('the built site', () => {
  test('has every page, file, and heading that its pages link to', () => {
    const broken: string[] = [];
    for (const [page, html] of pages) {
      for (const [, href] of html.matchAll(/ (?:href|src)="(?!https?:|mailto:|data:)([^"]+)"/g)) {
        const [path = '', anchor] = decodeURI(href!.replaceAll('&amp;', '&')).split('#');
        const file = path === '' ? page : path.startsWith(BASE) ? fileOf(path.slice(BASE.length)) : undefined;
        const hasAnchor = !anchor || file === undefined || anchors.get(file)?.has(anchor);
        if (file === undefined || !hasAnchor) broken.push(`${page}: ${href}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test('has no inline scripts, and loads nothing from other sites', () => {
    for (const [page, html] of pages) {
      expect(html.match(/<script(?![^>]*\ssrc=)/g), page).toBeNull();
      expect(html.match(/<(script|img|link|iframe)[^>]*\s(src|href)="(?!\/docs\/)/g), page).toBeNull();
    }
    const styles = globSync('assets/*.css', { cwd: FOLDER }).map((file) => readFileSync(join(FOLDER, file), 'utf8'));
    expect(styles.join('').match(/url\((?!["']?data:|\/docs\/)/g)).toBeNull();
  });

  test('has no pages that are not in the repository', () => {
    const built = [...files].filter((file) => file.endsWith('.html'));
    expect(built.sort()).toEqual([...pages.keys(), '404.html'].sort());
  });

  test('has a heading for every error code', () => {
    const headings = anchors.get('errors.html')!;
    expect(Object.keys(ERRORS).filter((code) => !headings.has(code.toLowerCase()))).toEqual([]);
  });
});
