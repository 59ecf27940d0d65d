import { dirname } from 'node:path';
import { resolveLink } from './links.ts';
import { sitePathOf, titleOf } from './pages.ts';

/** The page whose sections and lists form the site's menu. */
export const MENU_PAGE = 'docs/README.md';

/** A menu item: a page (or only a heading), and the items below it. */
export type MenuItem = { text: string; file?: string; anchor?: string; items: MenuItem[] };

const LINK = /\[([^\]]+)\]\(([^)\s]+)\)/g;
const HEADING = /^(##+) (.+)$/;
/** A list item, with its indentation. */
const LIST_ITEM = /^( *)(?:[-*+]|\d+\.) (.+)$/;

/**
 * Reads the menu from a page: each `## Section` is a group, and each link to a page in its lists is an item in that
 * group. A nested list is below the outer item, which can also be text without a link. The page of a folder, such as
 * `connectors/README.md`, has the folder's other pages below it.
 *
 * @param pages all pages of the site
 */
export function readMenu(text: string, pages: readonly string[]): MenuItem[] {
  const top: MenuItem = { text: '', items: [] };
  let group = top;
  /** The list items around the current line, from the outermost to the innermost. */
  let around: { indent: number; item: MenuItem }[] = [];
  for (const line of text.split('\n')) {
    const [, marks, heading] = HEADING.exec(line) ?? [];
    const [, spaces, label] = LIST_ITEM.exec(line) ?? [];
    if (marks !== undefined) {
      group = { text: heading!, items: [] };
      (marks === '##' ? top : (top.items.at(-1) ?? top)).items.push(group);
    }
    if (marks !== undefined || line.trim() === '') around = [];
    const isInList = spaces !== undefined || around.length > 0;
    if (!isInList) continue;
    if (spaces !== undefined) around = around.filter(({ indent }) => indent < spaces.length);
    const links = linksOf(line, pages);
    const items = links.length === 0 && label?.match(LINK) === null ? [{ text: label, items: [] }] : links;
    (around.at(-1)?.item ?? group).items.push(...items);
    if (spaces !== undefined && items[0]) around.push({ indent: spaces.length, item: items[0] });
  }
  return withoutEmpty(top.items);
}

/** The links in a line that lead to pages. */
function linksOf(line: string, pages: readonly string[]): MenuItem[] {
  return Array.from(line.matchAll(LINK)).flatMap(([, label, href]) => {
    const target = resolveLink(MENU_PAGE, href!);
    if (!target?.file.endsWith('.md')) return [];
    const text = label!.replaceAll('`', '');
    return [{ text: text.charAt(0).toUpperCase() + text.slice(1), ...target, items: childrenOf(target.file, pages) }];
  });
}

function withoutEmpty(items: readonly MenuItem[]): MenuItem[] {
  return items
    .map((item) => ({ ...item, items: withoutEmpty(item.items) }))
    .filter(({ file, items: inner }) => file !== undefined || inner.length > 0);
}

function childrenOf(file: string, pages: readonly string[]): MenuItem[] {
  if (!/^docs\/.+\/README\.md$/.test(file)) return [];
  const others = pages.filter((page) => dirname(page) === dirname(file) && page !== file);
  return others.map((page) => ({ text: titleOf(page), file: page, items: [] }));
}

/** Returns all pages that are in a menu. */
export function pagesIn(menu: readonly MenuItem[]): string[] {
  return menu.flatMap(({ file, items }) => [...(file === undefined ? [] : [file]), ...pagesIn(items)]);
}

/** An item in VitePress's sidebar. */
export type SidebarItem = { text: string; link?: string; collapsed?: boolean; items?: SidebarItem[] };

/** Converts a menu. Pages below other pages are collapsed. */
export function sidebarOf(menu: readonly MenuItem[]): SidebarItem[] {
  return menu.map(({ text, file, anchor = '', items }) => ({
    text,
    ...(file !== undefined && { link: `/${sitePathOf(file)}${anchor}` }),
    ...(items.length > 0 && { items: sidebarOf(items) }),
    ...(items.length > 0 && file !== undefined && { collapsed: true }),
  }));
}
