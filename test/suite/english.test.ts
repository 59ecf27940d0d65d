import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** Phrases that American readers misread or find odd, and what to write instead. */
const PHRASES: Readonly<Record<string, string>> = {
  ['at' + ' once']: 'immediately, at the same time, in one step, or at a time',
  ['told' + ' of']: 'notified about, or learns about',
  ['became' + ' of']: 'what happened to, or the outcome of',
  ['ane' + 'w']: 'again',
  ['none' + ' chosen']: 'no … selected',
  ['(?:takes?|took|taking)' + ' long(?!-)']: 'take a long time, or take too long',
  ['hears?' + ' of']: 'get, or find out about',
  ['in another' + ' way']: 'differently',
  ['another(?: (?!rather|more|less|other)[\\w-]+){1,2}' + ' than']: 'a different … than',
};

const FILES = [
  '*.md',
  '{docs,findings,bench,deploy,packages/sdk,prisma,src}/**/*.md',
  '{src,test,bench,scripts,packages}/**/*.{ts,tsx}',
];
// The schema of an earlier release is kept as it was.
const LEFT_OUT = /node_modules|src\/generated|test\/compatibility\/released/;

test('docs, code, and comments avoid phrases that readers trip over', () => {
  const files = globSync(FILES, { cwd: ROOT }).filter((file) => !LEFT_OUT.test(file));
  expect(files.length).toBeGreaterThan(1_500);
  const phrases = Object.entries(PHRASES).map(
    ([phrase, advice]) => [new RegExp(`\\b(?:${phrase})\\b`, 'i'), advice] as const,
  );
  const any = new RegExp(phrases.map(([phrase]) => phrase.source).join('|'), 'i');
  const found = files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        if (!any.test(line)) return [];
        return phrases
          .filter(([phrase]) => phrase.test(line))
          .map(([phrase, advice]) => `${file}:${index + 1}: “${phrase.exec(line)?.[0]}”; write ${advice}`);
      }),
  );
  expect(found).toEqual([]);
});
