import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runBench } from '../support/bench.ts';

// The short version of `npm run brownout`.

const PROGRAMS = ['unshare', 'setpriv', 'mkfs.ext4', 'e2fsck'];

const canMountFiles =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  existsSync('/dev/loop-control') &&
  PROGRAMS.every((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0);

test.skipIf(!canMountFiles)(
  'nothing is lost while the database is slow or read-only, or while disks are full or fail',
  async ({ signal }) => {
    const { code, output } = await runBench('brownout/main.ts', ['--seconds', '5'], signal);
    expect(code, output).toBe(0);
    for (const role of ['api', 'gateway', 'worker']) {
      const rows = output.split('\n').filter((line) => line.includes(`| ${role} `));
      const readiness = rows.map((row) => row.split('|')[3]!.trim());
      // PostgreSQL may accept writes for a moment before its disk is full again.
      for (const statuses of readiness.slice(0, -1)) expect(statuses).toMatch(/^200( → 503 → 200)+$/);
      expect(readiness).toHaveLength(5);
      expect(rows.at(-1)).toContain('log lines could not be written');
    }
  },
);
