import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';

// A small disk in a separate mount namespace, which disappears when the process ends.
const disk = mkdtempSync(join(tmpdir(), 'tollgate-disk-'));
const MOUNT = 'mount -t tmpfs -o size=160m,mode=755 tmpfs "$0"';
const canMount = spawnSync('unshare', ['-m', 'sh', '-c', MOUNT, disk]).status === 0;

afterAll(() => rmSync(disk, { recursive: true, force: true }));

describe.skipIf(!canMount)('on a full disk (needs root and `unshare -m`)', () => {
  test('the database still serves reads, and readiness fails until there is space again', async () => {
    const script = fileURLToPath(new URL('full-disk-process.ts', import.meta.url));
    const command = `${MOUNT} && exec "$1" "$2" "$0"`;
    const { stdout } = await promisify(execFile)('unshare', [
      '-m',
      'sh',
      '-c',
      command,
      disk,
      process.execPath,
      script,
    ]);
    expect(JSON.parse(stdout)).toEqual({
      before: { written: 'fine', read: 'fine' },
      // disk_full
      full: { written: '53100', read: 'fine' },
      after: { written: 'fine', read: 'fine' },
    });
  });
});
