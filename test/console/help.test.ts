import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { docsSectionOf } from '../../src/console/api/problem.ts';
import { PAGES_BY_SHORTCUT } from '../../src/console/layout/pages-by-shortcut.ts';
import { HELP_TOPICS } from '../../src/console/pages/help-topics.ts';
import { docsUrl } from '../../src/console/parts/docs-link.ts';
import type { HelpTopic } from '../../src/console/parts/help-topic.ts';
import { ERRORS } from '../../src/errors.ts';

const DOCS = resolve(import.meta.dirname, '../../docs');

/** Reads the table of pages as text, because it imports JSX, which Node can't load. */
const ROUTES = readFileSync(resolve(import.meta.dirname, '../../src/console/pages/routes.tsx'), 'utf8');

/** The anchors of a page's headings, as GitHub generates them. */
function anchorsIn(page: string): string[] {
  const text = readFileSync(resolve(DOCS, page.endsWith('/') ? `${page}README.md` : `${page}.md`), 'utf8');
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('links from the console to the documentation', () => {
  test.each(Object.entries<HelpTopic>(HELP_TOPICS))(
    'the page “%s” links to a page and a section that exist',
    (_label, { page, section }) => {
      const anchors = anchorsIn(page);
      if (section !== undefined) expect(anchors).toContain(section);
    },
  );

  test('every service error has a section, and the console’s own errors have no link', () => {
    const anchors = anchorsIn('errors');
    const sections = Object.keys(ERRORS).map((code) => docsSectionOf({ code }));
    expect(sections.filter((section) => !section || !anchors.includes(section))).toEqual([]);
    expect(docsSectionOf({ code: 'NO_RESPONSE' })).toBeUndefined();
    expect(docsSectionOf({ code: 'PAGE_FAILED' })).toBeUndefined();
  });

  test('a URL contains the page and the section', () => {
    expect(docsUrl('errors', 'rate_limited')).toBe('/docs/errors#rate_limited');
    expect(docsUrl('connectors/')).toBe('/docs/connectors/');
  });

  test('every “Go to” shortcut goes to a page in the navigation, and every page has one', () => {
    const paths = [...ROUTES.matchAll(/^ {4}path: '([^':]*?)(?:\/:.*)?',$/gm)].map(([, path]) => path);
    expect(paths.length).toBeGreaterThan(10);
    expect(Object.values<string>(PAGES_BY_SHORTCUT).sort()).toEqual(paths.sort());
  });
});
