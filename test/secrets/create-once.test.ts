import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readOrCreate } from '../../src/secrets/create-once.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tollgate-create-once-'));
});
afterEach(() => rm(directory, { recursive: true }));

test('a file is created once, readable only by its owner', async () => {
  const path = join(directory, 'a/b/file');
  expect(await readOrCreate(path, () => 'one')).toBe('one');
  expect(await readOrCreate(path, () => Promise.reject(new Error('not called')))).toBe('one');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("if two processes create a file at the same time, the slower one uses the other's contents", async () => {
  const path = join(directory, 'file');
  const slower = await readOrCreate(path, async () => {
    expect(await readOrCreate(path, () => 'faster')).toBe('faster');
    return 'slower';
  });
  expect(slower).toBe('faster');
  expect(await readdir(directory)).toEqual(['file']);
});

test('nothing is left behind if the contents cannot be created', async () => {
  const path = join(directory, 'file');
  await expect(readOrCreate(path, () => Promise.reject(new Error('no entropy')))).rejects.toThrow('no entropy');
  expect(await readdir(directory)).toEqual([]);
});
