import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const CONNECTORS = resolve(import.meta.dirname, '../../src/connectors');

const COMMENT = /^\s*(?:\/?\*|\/\/)/;
const LITERAL = /(?<=[\s([{,:;!&|?=])\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+\/[a-z]*/g;

/** The regular expressions in a file, as written. */
function patternsIn(path: string): string[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => !COMMENT.test(line)).flatMap((line) => line.match(LITERAL) ?? []);
}

/**
 * Without an anchor, a pattern such as `a.*b` reads the rest of the text again for each `a` in it. For a response of
 * 64 KB, that can be a billion steps.
 */
function isQuadratic(pattern: string): boolean {
  if (!/(?<!\\)\.(?:[*+]|\{\d+,\})/.test(pattern)) return false;
  let outsideGroups = pattern;
  for (let before = ''; before !== outsideGroups; ) {
    before = outsideGroups;
    outsideGroups = before.replace(/(?<!\\)\((?:\\.|[^()\\])*\)/g, '');
  }
  return !/^\/\^[^|]*$/.test(outsideGroups);
}

test('patterns have no repeated wildcard that vendors could use to block the process', () => {
  const names = readdirSync(CONNECTORS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const found = names.flatMap((name) => patternsIn(join(CONNECTORS, name)).map((pattern) => ({ name, pattern })));
  expect(found.length).toBeGreaterThan(60);
  expect(found.filter(({ pattern }) => isQuadratic(pattern))).toEqual([]);
});

test('a pattern with a repeated wildcard counts as quadratic unless it has a limit or can only start once', () => {
  const [quadratic, linear] = [
    ['/a.*b/', '/a.+b/i', '/a.{1,}b/', '/^a|b.*c/'],
    ['/a.{0,9}b/', '/^a.*b/', '/^(a|b.*)c/', '/a\\.+/'],
  ];
  expect([...quadratic, ...linear].filter(isQuadratic)).toEqual(quadratic);
});
