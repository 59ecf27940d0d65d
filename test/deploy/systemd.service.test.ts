import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const UNIT = resolve(import.meta.dirname, '../../deploy/systemd/tollgate.service');
const MAX_EXPOSURE = 2;
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

let folder: string;
let unit: string;

/** systemd checks that programs exist, so the unit uses the path of this Node. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-systemd-'));
  unit = join(folder, 'tollgate.service');
  await writeFile(unit, (await readFile(UNIT, 'utf8')).replace('/usr/bin/node', process.execPath));
});

afterEach(() => rm(folder, { recursive: true }));

test.skipIf(!hasSystemd)('systemd finds nothing to complain about in the unit', () => {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
});

test.skipIf(!hasSystemd)("systemd rates the unit's exposure as low", () => {
  const options = ['security', '--offline=true', '--no-pager', `--threshold=${MAX_EXPOSURE * 10}`, unit];
  const { status, stdout } = spawnSync('systemd-analyze', options, { encoding: 'utf8' });
  expect(status, stdout).toBe(0);
});
