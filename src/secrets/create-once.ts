import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Reads a small file, making it first when it is missing. Processes that start at the same moment all read the same
 * contents, and nobody ever sees half of them.
 *
 * @param path where it lives; missing directories are made.
 * @param create makes the contents. It may run without its result being used. The file is readable by its owner only.
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
    // A hard link appears whole, and fails when another process was first: then its contents are the ones to use.
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
