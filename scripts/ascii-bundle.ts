import type { Plugin } from 'rolldown';
import { parseAst } from 'rolldown/parseAst';

type Node = { type: string; start: number; end: number };

/**
 * Writes a bundle's strings, templates, and regular expressions using only ASCII characters. V8 keeps the text of every
 * loaded file in memory, and uses two bytes per character if any character isn't in Latin-1. A single curly quote would
 * double a file's memory usage.
 */
export function escapeNonAscii(): Plugin {
  return {
    name: 'escape-non-ascii',
    // Rolldown prints the code again after `renderChunk`.
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = toAscii(file.code);
    },
  };
}

/**
 * Replaces non-ASCII characters with escapes. Tagged templates are left unchanged, because tags can read the raw text.
 */
export function toAscii(code: string): string {
  if (isAscii(code)) return code;
  const parts: string[] = [];
  let end = 0;
  for (const literal of literalsIn(parseAst(code))) {
    parts.push(code.slice(end, literal.start), escaped(code.slice(literal.start, literal.end)));
    end = literal.end;
  }
  return parts.join('') + code.slice(end);
}

/** In source order. */
function literalsIn(program: unknown): Node[] {
  const found: Node[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (isNode(value)) {
      if (value.type === 'TaggedTemplateExpression') return;
      if (value.type === 'Literal' || value.type === 'TemplateElement') found.push(value);
      else Object.values(value).forEach(visit);
    }
  };
  visit(program);
  return found.sort((a, b) => a.start - b.start);
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

const isAscii = (text: string): boolean => !/\P{ASCII}/u.test(text);

/** Drops a backslash before a non-ASCII character. It has no effect there, but it would disable the escape. */
function escaped(literal: string): string {
  return literal.replace(/\\?[\s\S]/g, (match) => {
    const character = match.at(-1)!;
    return isAscii(character) ? match : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
