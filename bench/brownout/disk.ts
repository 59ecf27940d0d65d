import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MILLISECONDS = 100;

const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });

export type Disk = Awaited<ReturnType<typeof createDisk>>;

/** Creates a small disk, which is a file with an ext4 file system. It behaves like a real disk when it is full or fails. */
export async function createDisk(folder: string, name: string, megabytes: number) {
  const image = join(folder, `${name}.img`);
  const path = join(folder, name);
  const filler = join(path, 'filler');
  closeSync(openSync(image, 'w'));
  truncateSync(image, megabytes * 2 ** 20);
  run('mkfs.ext4', '-q', '-m', '0', image);
  await mkdir(path);
  const mount = () => run('mount', '-o', 'loop', image, path);
  mount();

  /** Waits for the processes that use the disk. */
  async function unmount(): Promise<void> {
    for (;;) {
      try {
        run('umount', path);
        return;
      } catch {
        await sleep(POLL_MILLISECONDS);
      }
    }
  }

  return {
    path,
    /** Uses up all space. */
    fill(): void {
      const fd = openSync(filler, 'a');
      // The chunks get smaller and smaller, until no space is left.
      for (let bytes = 2 ** 20; bytes >= 1; bytes /= 2) writeUntilFull(fd, Buffer.alloc(bytes));
      closeSync(fd);
    },
    /** Frees the space again. */
    clear: () => rmSync(filler),
    /** Makes the file system read-only, as the kernel does after an error of the disk. */
    fail: () => void run('mount', '-o', 'remount,abort', path),
    /** Repairs the file system after `fail`, and makes it writable again. */
    async repair(): Promise<void> {
      await unmount();
      // e2fsck exits with 1 if it has repaired something.
      run('sh', '-c', 'e2fsck -p "$0" || [ $? -eq 1 ]', image);
      mount();
    },
    async remove(): Promise<void> {
      await unmount();
      rmSync(image);
    },
  };
}

function writeUntilFull(fd: number, chunk: Buffer): void {
  try {
    for (;;) writeSync(fd, chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
