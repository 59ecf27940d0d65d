import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig, type MarkdownRenderer } from 'vitepress';
import { listPackages } from '../../scripts/bundled-packages.ts';
import { repositoryLinks } from './links.ts';
import { MENU_PAGE, readMenu, sidebarOf } from './menu.ts';
import { anchorOf, listOtherMarkdown, listSitePages, ROOT, sitePathOf } from './pages.ts';
import { SEARCH } from './search.ts';

const BASE = '/docs/';
const pages = listSitePages();
const linkedFiles = new Set<string>();
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

/** Builds the documentation to dist/docs; the server serves it from there. */
export default defineConfig({
  base: BASE,
  title: 'Tollgate',
  description: 'A payment gateway in front of paid HTTP APIs, and the service that manages it',
  // Without a link, browsers look for /favicon.ico.
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${BASE}favicon.svg` }]],
  srcDir: ROOT,
  // VitePress would read any config.ts as its own.
  srcExclude: ['**/node_modules/**', 'dist/**', '**/config.ts', ...listOtherMarkdown()],
  rewrites: (page) => `${sitePathOf(page).replace(/(^|\/)$/, '$1index')}.md`,
  outDir: join(ROOT, 'dist/docs'),
  cacheDir: join(ROOT, 'node_modules/.cache/vitepress'),
  cleanUrls: true,
  // A test checks links. A dead one shouldn't stop `npm start`.
  ignoreDeadLinks: true,
  markdown: {
    anchor: { slugify: anchorOf },
    // Allow only what GitHub shows in the same way.
    attrs: false,
    emoji: false,
    snippet: false,
    toc: false,
    math: false,
    config(md) {
      repositoryLinks(md, linkedFiles);
      plainBraces(md);
      breakableCode(md);
    },
  },
  themeConfig: {
    nav: [{ text: `Version ${version}`, link: `/${sitePathOf('CHANGELOG.md')}` }],
    sidebar: sidebarOf(readMenu(readFileSync(join(ROOT, MENU_PAGE), 'utf8'), pages)),
    outline: [2, 3],
    search: { provider: 'local', options: { miniSearch: SEARCH } },
  },
  vite: {
    configFile: false,
    plugins: [listPackages('.vite/packages.json')],
    // The content security policy allows `data:` URLs only for images.
    build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 2000 },
  },
  transformHtml: (html, _page, { siteConfig }) => moveScripts(html, siteConfig.outDir),
  buildEnd({ outDir }) {
    copyFileSync(join(ROOT, 'src/console/public/favicon.svg'), join(outDir, 'favicon.svg'));
    for (const file of linkedFiles) {
      const copy = join(outDir, sitePathOf(file));
      mkdirSync(dirname(copy), { recursive: true });
      copyFileSync(join(ROOT, file), copy);
    }
  },
});

/** Keeps Vue from evaluating the text in `{{ }}`. */
function plainBraces({ renderer: { rules } }: MarkdownRenderer): void {
  for (const name of ['text', 'code_inline'] as const) {
    const render = rules[name]!;
    rules[name] = (...args) => (render(...args) as string).replaceAll('{{', '&#123;&#123;');
  }
}

/** Allows line breaks in paths and long names after a slash or an underscore, for example, in tables. */
function breakableCode({ renderer: { rules } }: MarkdownRenderer): void {
  const render = rules.code_inline!;
  rules.code_inline = (...args) =>
    (render(...args) as string).replace(/(?<=>)[^<]+(?=<)/, (text) => text.replaceAll(/[/_]+(?=[\w:{&])/g, '$&<wbr>'));
}

/** Moves inline scripts to files, because the content security policy refuses them. */
function moveScripts(html: string, folder: string): string {
  return html.replaceAll(/<script id="([\w-]+)">(.*?)<\/script>/gs, (_, id: string, code: string) => {
    const hash = createHash('sha256').update(code).digest('hex').slice(0, 8);
    writeFileSync(join(folder, `assets/${id}.${hash}.js`), code);
    return `<script src="${BASE}assets/${id}.${hash}.js"></script>`;
  });
}
