import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Reads a small file, creating it first if it is missing. Processes that start at the same time all read the same
 * complete content.
 *
 * @param path the file. Missing directories are created. Only the owner can read the file.
 * @param create returns the content, which is discarded if another process creates the file first.
 */
export async function readOrCreate(path: string, create: () => string | Promise<string>): Promise<string> {
  const existing = await readIfThere(path);
  if (existing !== undefined) return existing;

  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(await create());
    await file.sync();
    // A hard link never appears half written. Creating it fails if another process was faster; in that case, that
    // process's content is used.
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await file.close();
    await unlink(temporary);
  }
  return readFile(path, 'utf8');
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
