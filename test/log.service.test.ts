import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { NODE } from './support/programs.ts';

const PROGRAM = join(import.meta.dirname, 'log-process.ts');
const ENDINGS = [
  ['by itself', 0],
  ['by process.exit', 0],
  ['by an error', 1],
] as const;

type Line = { number?: number; lines?: number; msg: string };

const parse = (output: string): Line[] =>
  output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

test.each(ENDINGS)(
  'every line is written, in order and without credentials, when a process ends %s',
  async (ending, exitCode) => {
    const child = spawn(NODE, [PROGRAM, ending], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [output] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect(child.exitCode).toBe(exitCode);
    expect(parse(output).map(({ number }) => number)).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1));
    expect(output).not.toContain('hidden');
  },
);

// A process that still has to write doesn't end by itself.
test.each(ENDINGS.slice(1))('if nobody reads the log, a process still ends %s', async (ending, exitCode) => {
  const child = spawn(NODE, [PROGRAM, ending, '50000'], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout.pause();
  child.stderr.resume();
  expect(await once(child, 'exit')).toEqual([exitCode, null]);
});

describe('if the log can’t grow', () => {
  const MAX_BLOCKS = 16;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tollgate-log-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Starts a process whose files can't be larger than 8 KiB. Larger ones can't be written, as on a full disk. */
  async function startOnFullDisk(ending: string, file: string) {
    const log = await open(file, 'a');
    const command = ['-c', `trap '' XFSZ; ulimit -f ${MAX_BLOCKS}; exec "$@"`, 'sh', NODE, PROGRAM, ending];
    const child = spawn('sh', command, { stdio: ['pipe', log.fd, 'pipe'] });
    await log.close();
    return { child, exit: once(child, 'close') };
  }

  test.each(ENDINGS)('a process still ends %s', async (ending, exitCode) => {
    const { child, exit } = await startOnFullDisk(ending, join(folder, ending));
    child.stderr!.resume();
    expect(await exit).toEqual([exitCode, null]);
  });

  test('the process continues, and the log says how many lines are missing', async () => {
    const file = join(folder, 'full');
    const { child, exit } = await startOnFullDisk('when its input ends', file);
    let said = '';
    child.stderr!.on('data', (chunk) => (said += chunk));
    // Several attempts to write fail.
    await expect.poll(() => new Set(said.match(/^lost \d+$/gm)).size).toBeGreaterThan(5);
    const before = await readFile(file, 'utf8');
    expect(Buffer.byteLength(before)).toBe(MAX_BLOCKS * 512);
    await truncate(file);
    await expect.poll(() => readFile(file, 'utf8')).toContain('could not be written');
    child.stdin!.end();
    expect(await exit).toEqual([0, null]);

    const [, logged, lost] = /logged (\d+), lost (\d+)$/.exec(said)!.map(Number);
    const lines = [...parse(before.slice(0, before.lastIndexOf('\n'))), ...parse(await readFile(file, 'utf8'))];
    const reports = lines.filter(({ number }) => number === undefined);
    expect(reports).toEqual([expect.objectContaining({ level: 'warn', lines: lost })]);
    expect(lines).toHaveLength(logged! - lost! + 1);
  });
});
