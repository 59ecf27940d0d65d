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

test('a file is made for its owner only, and then never made again', async () => {
  const path = join(directory, 'a/b/file');
  expect(await readOrCreate(path, () => 'one')).toBe('one');
  expect(await readOrCreate(path, () => Promise.reject(new Error('not called')))).toBe('one');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('of two that make it at the same time, the slower one takes what the faster one made', async () => {
  const path = join(directory, 'file');
  const slower = await readOrCreate(path, async () => {
    expect(await readOrCreate(path, () => 'faster')).toBe('faster');
    return 'slower';
  });
  expect(slower).toBe('faster');
  expect(await readdir(directory)).toEqual(['file']);
});

test('nothing is left behind when its contents cannot be made', async () => {
  const path = join(directory, 'file');
  await expect(readOrCreate(path, () => Promise.reject(new Error('no entropy')))).rejects.toThrow('no entropy');
  expect(await readdir(directory)).toEqual([]);
});
