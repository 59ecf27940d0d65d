import { statSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';
import { ROOT, sitePathOf } from './pages.ts';

/** The parts of a link within the repository: a file, relative to the root, and an anchor with its `#`. */
export type RepositoryLink = { file: string; anchor: string };

/** Resolves a relative link of a page. Returns undefined for links to other sites. */
export function resolveLink(page: string, link: string): RepositoryLink | undefined {
  if (/^([a-z][a-z0-9+.-]*:|\/)/i.test(link)) return undefined;
  const [path = '', fragment] = link.split('#');
  const file =
    path === ''
      ? page
      : normalize(join(dirname(page), decodeURI(path)))
          .split(sep)
          .join('/');
  return { file, anchor: fragment === undefined ? '' : `#${fragment}` };
}

/**
 * A markdown-it plugin that makes the repository's links work on the site: links to pages lead to the same page on the
 * site, and links to other files lead to a copy.
 *
 * @param files gets every file that is linked, so that it can be copied
 */
export function repositoryLinks(md: MarkdownRenderer, files: Set<string>): void {
  md.core.ruler.push('repository_links', ({ tokens, env }) => {
    const { path, realPath = path } = env as { path: string; realPath?: string };
    const page = relative(ROOT, realPath).split(sep).join('/');
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null;
      const target = href === null || href.startsWith('#') ? undefined : resolveLink(page, href);
      if (!target) continue;
      token.attrSet('href', `/${sitePathOf(target.file)}${target.anchor}`);
      if (target.file.endsWith('.md') || !isFile(target.file)) continue;
      files.add(target.file);
      // Otherwise, the site's router would look for a page.
      token.attrSet('target', '_self');
    }
  });
}

function isFile(file: string): boolean {
  return statSync(join(ROOT, file), { throwIfNoEntry: false })?.isFile() ?? false;
}
