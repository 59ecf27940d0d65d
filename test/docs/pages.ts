import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** Returns the paths of all Markdown pages at the root and in docs, relative to the root. */
export async function listPages(): Promise<string[]> {
  const inDocs = await readdir(join(ROOT, 'docs'), { recursive: true });
  const atTop = await readdir(ROOT);
  return [...atTop, ...inDocs.map((path) => join('docs', path))].filter((path) => path.endsWith('.md')).sort();
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

/** Returns the code blocks in a language, in order. */
export function codeBlocks(text: string, language: string): string[] {
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms');
  return Array.from(text.matchAll(pattern), ([, code]) => code!);
}
