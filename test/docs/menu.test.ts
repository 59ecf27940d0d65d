import { describe, expect, test } from 'vitest';
import { MENU_PAGE, type MenuItem, pagesIn, readMenu, sidebarOf } from '../../docs/.vitepress/menu.ts';
import { listSitePages, sitePathOf } from '../../docs/.vitepress/pages.ts';
import { readPage } from './pages.ts';

const pages = listSitePages();

test("every page is in the site's menu", async () => {
  const reached = new Set([MENU_PAGE, ...pagesIn(readMenu(await readPage(MENU_PAGE), pages))]);
  expect(pages.filter((page) => !reached.has(page))).toEqual([]);
});

test('every page has its own path on the site', () => {
  const paths = pages.map(sitePathOf);
  expect(new Set(paths).size).toBe(paths.length);
});

test.each([
  ['docs/README.md', ''],
  ['docs/errors.md', 'errors'],
  ['docs/connectors/README.md', 'connectors/'],
  ['README.md', 'project/'],
  ['SECURITY.md', 'project/security'],
  ['packages/sdk/README.md', 'project/packages/sdk/'],
  ['docs/openapi.json', 'openapi.json'],
  ['compose.yaml', 'project/compose.yaml'],
  ['src/app.ts', 'project/src/app.ts.txt'],
])('%s is on the site at /docs/%s', (file, path) => {
  expect(sitePathOf(file)).toBe(path);
});

describe('the menu', () => {
  const outline = (items: readonly MenuItem[]): unknown[] =>
    items.map(({ text, file, items: inner }) => [text, file, ...(inner.length > 0 ? [outline(inner)] : [])]);

  const TEXT = `# Documentation

Start with the [quick start](../README.md#quick-start). Text without a list isn't part of the menu.

## Get started

1. [Sell](gateway.md): paths, and what
   your API [receives](upstream-headers.md)
   - [Import \`openapi\`](import.md)
     - [stream](streaming.md), or [pay](gateway.md#pay-for-a-request)
   - [The document](openapi.json), and [a site](https://example.com)
2. [Events](events.md)

## Reference

### Tables

- Look it up
  - [errors](errors.md)
- No page
`;

  test('has a group for each section, with the links to pages in its lists', () => {
    expect(outline(readMenu(TEXT, []))).toEqual([
      [
        'Get started',
        undefined,
        [
          [
            'Sell',
            'docs/gateway.md',
            [
              ['Receives', 'docs/upstream-headers.md'],
              [
                'Import openapi',
                'docs/import.md',
                [
                  ['Stream', 'docs/streaming.md'],
                  ['Pay', 'docs/gateway.md'],
                ],
              ],
            ],
          ],
          ['Events', 'docs/events.md'],
        ],
      ],
      ['Reference', undefined, [['Tables', undefined, [['Look it up', undefined, [['Errors', 'docs/errors.md']]]]]]],
    ]);
  });

  test('lists the pages in a folder below the page about the folder', () => {
    const [connectors] = readMenu('- [Connectors](connectors/README.md)', pages);
    const inFolder = pages.filter((page) => /^docs\/connectors\/(?!README)/.test(page));
    expect(inFolder.length).toBeGreaterThan(20);
    expect(connectors!.items.map(({ file }) => file)).toEqual(inFolder);
    expect(connectors!.items).toContainEqual({ text: 'Slack', file: 'docs/connectors/slack.md', items: [] });
  });

  test('links to pages on the site, and folds pages below other pages', () => {
    expect(sidebarOf(readMenu('## Sell\n\n- [Pay](gateway.md#pay)\n  - [Errors](errors.md)\n', []))).toEqual([
      {
        text: 'Sell',
        items: [{ text: 'Pay', link: '/gateway#pay', collapsed: true, items: [{ text: 'Errors', link: '/errors' }] }],
      },
    ]);
  });
});
