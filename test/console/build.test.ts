import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const FOLDER = resolve(import.meta.dirname, '../../dist/console');
const MAX_FIRST_LOAD_BYTES = 200_000;

type Manifest = Record<string, { file: string; isEntry?: boolean; imports?: string[] }>;

test('the first page of the console loads less than 200 KB of gzipped scripts', () => {
  const manifest = JSON.parse(readFileSync(join(FOLDER, '.vite/manifest.json'), 'utf8')) as Manifest;
  const needed = new Set<string>();
  const need = (name: string) => {
    if (needed.has(name)) return;
    needed.add(name);
    manifest[name]!.imports?.forEach(need);
  };
  for (const [name, { isEntry }] of Object.entries(manifest)) if (isEntry) need(name);
  expect(needed.size).toBeGreaterThan(0);
  const bytes = [...needed].map((name) => gzipSync(readFileSync(join(FOLDER, manifest[name]!.file))).length);
  expect(bytes.reduce((sum, length) => sum + length, 0)).toBeLessThan(MAX_FIRST_LOAD_BYTES);
});

test('the console’s page has no inline scripts and no external resources', () => {
  const page = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  expect(page.match(/<script(?![^>]*\ssrc=)/g)).toBeNull();
  expect(page.match(/(src|href)="(?!\/console\/)/g)).toBeNull();
});
