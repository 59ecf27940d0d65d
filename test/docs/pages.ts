import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** Returns the paths of all Markdown pages at the root and in docs, relative to the root. */
export async function listPages(): Promise<string[]> {
  const inDocs = await readdir(join(ROOT, 'docs'), { recursive: true });
  const atTop = await readdir(ROOT);
  return [...atTop, ...inDocs.map((path) => join('docs', path))].filter((path) => path.endsWith('.md')).sort();
}

/** Returns the paths of all images in docs, relative to the root. */
export async function listImages(): Promise<string[]> {
  return (await readdir(join(ROOT, 'docs/images'))).map((name) => `docs/images/${name}`).sort();
}

export async function readPage(path: string): Promise<string> {
  return readFile(join(ROOT, path), 'utf8');
}

/** Returns the text from a heading to the next one of the same or a higher level. Skips `# …` comments in code. */
export function section(page: string, heading: string): string {
  const lines = page.split('\n');
  const start = lines.indexOf(heading);
  if (start < 0) throw new Error(`There is no heading "${heading}"`);
  const level = heading.indexOf(' ');
  let isCode = false;
  const isEnd = (line: string) => {
    if (line.startsWith('```')) isCode = !isCode;
    return !isCode && /^#+ /.test(line) && line.indexOf(' ') <= level;
  };
  const length = lines.slice(start + 1).findIndex(isEnd);
  return lines.slice(start, length < 0 ? undefined : start + 1 + length).join('\n');
}

/** A fenced code block. `info` is what follows the language, such as `no-run`. */
export type Block = { language: string; info: string; code: string };

/** Returns all code blocks, including blocks in lists, in order and without their indentation. */
export function allBlocks(text: string): Block[] {
  const fenced = text.matchAll(/^( *)```([^\n]*)\n(.*?)^ *```$/gms);
  return Array.from(fenced, ([, indent, fence, code]) => {
    const [language = '', ...info] = fence!.split(' ');
    return { language, info: info.join(' '), code: code!.replaceAll(new RegExp(`^${indent}`, 'gm'), '') };
  });
}

/** Returns the code blocks in a language, in order. */
export function codeBlocks(text: string, language: string): string[] {
  return allBlocks(text)
    .filter((block) => block.language === language)
    .map(({ code }) => code);
}
