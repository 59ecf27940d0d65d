import { globSync, readFileSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');
/** Markdown outside docs/ that is also on the site. */
const OUTSIDE_DOCS = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...['packages/*/README.md', 'bench/README.md', 'prisma/README.md', 'src/**/README.md'],
];

/** Returns the paths of all pages on the site, relative to the root of the repository, in order. */
export function listSitePages(): string[] {
  const files = globSync(['docs/**/*.md', ...OUTSIDE_DOCS], { cwd: ROOT });
  return files.map((file) => file.split(sep).join('/')).sort();
}

/** Returns all other Markdown files in the folder of the repository, such as uncommitted notes. */
export function listOtherMarkdown(): string[] {
  const pages = new Set(listSitePages());
  const files = globSync('**/*.md', { cwd: ROOT, exclude: ['**/node_modules/**', 'dist/**'] });
  return files.map((file) => file.split(sep).join('/')).filter((file) => !pages.has(file));
}

/**
 * Returns where a file of the repository is on the site, without the base: files in docs/ are at the top level, and
 * everything else is under `project/`.
 *
 * - `docs/errors.md` → `errors`
 * - `docs/connectors/README.md` → `connectors/`
 * - `SECURITY.md` → `project/security`
 * - `compose.yaml` → `project/compose.yaml`
 * - `src/app.ts` → `project/src/app.ts.txt`, because web servers mistake `.ts` files for videos
 */
export function sitePathOf(file: string): string {
  const path = file.startsWith('docs/') ? file.slice('docs/'.length) : `project/${file}`;
  if (path.endsWith('.ts')) return `${path}.txt`;
  if (!path.endsWith('.md')) return path;
  return path
    .replace(/(^|\/)README\.md$/, '$1')
    .replace(/[^/]*\.md$/, (name) => name.slice(0, -'.md'.length).toLowerCase());
}

/** Returns the anchor of a heading, as GitHub generates it. */
export function anchorOf(heading: string): string {
  const kept = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}_ -]/gu, '');
  return kept.trim().replaceAll(' ', '-');
}

/** Returns the title of a page: its first heading, without Markdown. */
export function titleOf(file: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
  if (title === undefined) throw new Error(`${file} has no heading`);
  return title.replaceAll('`', '');
}
