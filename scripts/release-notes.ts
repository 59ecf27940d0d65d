import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { releasesIn } from './changelog.ts';

/** Prints the changelog's text for a version (by default, the current one), for the release page. */
const ROOT = resolve(import.meta.dirname, '..');
const read = (path: string) => readFileSync(resolve(ROOT, path), 'utf8');

const version = process.argv[2] ?? (JSON.parse(read('package.json')) as { version: string }).version;
const release = releasesIn(read('CHANGELOG.md')).find((one) => one.version === version);
if (release) process.stdout.write(`${release.notes}\n`);
else {
  process.stderr.write(`CHANGELOG.md has no version ${version}.\n`);
  process.exitCode = 1;
}
