import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { requireMember } from '../src/library-member.ts';

const ROOT = resolve(import.meta.dirname, '..');
const manifest = JSON.parse(readFileSync(resolve(ROOT, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>;
const versions = { ...manifest.dependencies, ...manifest.devDependencies };
const CALL = /requireMember\(\s*'(\S+) (\S+)'/g;

const calls = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) =>
  [...readFileSync(resolve(ROOT, file), 'utf8').matchAll(CALL)].map(([, library, version]) => ({
    file,
    library: library!,
    version: version!,
  })),
);

describe('members of libraries that the code changes or that are not documented', () => {
  test('are checked in several places', () => {
    expect(new Set(calls.map(({ library }) => library)).size).toBeGreaterThan(3);
  });

  test.each(calls)('$file was written for $library $version, which is installed', ({ library, version }) => {
    expect(version, 'Read the code around the call, try it with the new version, and then change the call').toBe(
      versions[library],
    );
  });

  test('must be functions', () => {
    const client = { connection: { stream: { destroy() {} } }, name: 'text' };
    expect(() => requireMember('pg 8.23.1', client, 'connection.stream.destroy')).not.toThrow();
    for (const path of ['connection.socket.destroy', 'connection.stream', 'name', 'end'])
      expect(() => requireMember('pg 8.23.1', client, path)).toThrow(
        `Tollgate was written for pg 8.23.1 and needs its function ${path}, but`,
      );
    expect(() => requireMember('pg 8.23.1', undefined, 'end')).toThrow('needs its function end');
  });
});
