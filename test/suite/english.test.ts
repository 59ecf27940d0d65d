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
};

const FILES = [
  '*.md',
  '{docs,findings,bench,deploy,packages/sdk}/**/*.md',
  '{src,test,bench,scripts,packages}/**/*.{ts,tsx}',
];
// The schema of an earlier release is kept as it was.
const LEFT_OUT = /node_modules|src\/generated|test\/compatibility\/released/;

test('docs, code, and comments avoid phrases that readers trip over', () => {
  const files = globSync(FILES, { cwd: ROOT }).filter((file) => !LEFT_OUT.test(file));
  expect(files.length).toBeGreaterThan(1_500);
  const phrase = new RegExp(`\\b(?:${Object.keys(PHRASES).join('|')})\\b`, 'i');
  const found = files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const match = phrase.exec(line)?.[0].toLowerCase();
        return match ? [`${file}:${index + 1}: “${match}”; write ${PHRASES[match]}`] : [];
      }),
  );
  expect(found).toEqual([]);
});
