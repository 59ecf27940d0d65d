import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listStaticFiles } from '../../src/http/static-files.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'static-files-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a static file', () => {
  test("is read again for the next request if it can't be read the first time", async () => {
    const path = join(folder, 'guide.html');
    await writeFile(path, '<h1>Guide</h1>');
    const file = (await listStaticFiles(folder)).get('guide.html')!;
    await rename(path, `${path}.away`);
    await expect(file.read()).rejects.toThrow('ENOENT');
    await rename(`${path}.away`, path);
    expect((await file.read()).body.toString()).toBe('<h1>Guide</h1>');
  });

  test('stays the same after it was read, while the folder is being rebuilt', async () => {
    const path = join(folder, 'guide.html');
    await writeFile(path, 'old');
    const file = (await listStaticFiles(folder)).get('guide.html')!;
    await file.read();
    await writeFile(path, 'new');
    expect((await file.read()).body.toString()).toBe('old');
  });
});
