import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { completionScript } from '../../src/cli/completion.ts';
import { createProgram } from '../../src/cli/program.ts';
import { runCli } from '../support/cli.ts';
import { commandTree } from '../support/command-tree.ts';
import { completeInFish, completeInZsh } from '../support/complete-in-shells.ts';
import { INHERITED } from '../support/inherited.ts';

const script = completionScript('bash', createProgram());

const bash = (run: string) =>
  spawnSync('bash', ['--norc', '-c', run], { encoding: 'utf8', env: INHERITED, stdio: ['ignore', 'pipe', 'pipe'] });

/** The completions that bash suggests for the last word of a line. */
function inBash(line: string): string[] {
  const words = line.split(' ');
  const run = `set -u; ${script}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_tollgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = bash(run);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split('\n').filter(Boolean);
}

describe('in bash', () => {
  test('each command is completed with its subcommands and options', () => {
    for (const { path, command } of commandTree()) {
      const found = inBash(`tollgate ${path} `);
      const names = [...command.commands.map((each) => each.name()), ...command.options.map(({ long }) => long!)];
      for (const name of names) expect(found, path).toContain(name);
    }
  });

  test('the beginning of a word narrows the choices', () => {
    expect(inBash('tollgate del')).toEqual(['deliveries']);
    expect(inBash('tollgate deliveries s')).toEqual(['show']);
    expect(inBash('tollgate replay --dry')).toEqual(['--dry-run']);
    expect(inBash('tollgate completion z')).toEqual(['zsh']);
  });

  test('options and their values before the word do not hide its command', () => {
    expect(inBash('tollgate deliveries tail --status failed --since 2h --event')).toEqual(['--event-type']);
    expect(inBash('tollgate listen --forward-to localhost:3000/hook --pri')).toEqual(['--print-secret']);
  });

  test('bash completes file names for a word that is not a command or an option', () => {
    expect(inBash('tollgate import openapi.y')).toEqual([]);
  });

  test('the command prints this script, and bash loads it', async () => {
    const { code, stdout, stderr } = await runCli(['completion', 'bash']);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `${script}\n`, stderr: '' });
    const loaded = bash(`${stdout}\ncomplete -p tollgate`);
    expect(loaded.stdout).toBe('complete -o default -F _tollgate tollgate\n');
  });
});

const isMissing = (shell: string) => spawnSync(shell, ['--version']).error !== undefined;

for (const [shell, complete] of [
  ['zsh', completeInZsh],
  ['fish', completeInFish],
] as const) {
  describe(`in ${shell}`, () => {
    test('each command is completed with its subcommands, and after a hyphen with its options', ({ skip }) => {
      skip(isMissing(shell), `${shell} is not installed`);
      const tree = commandTree();
      const lines = tree.flatMap(({ path }) => [`tollgate ${path} `, `tollgate ${path} --`]);
      const found = complete(completionScript(shell, createProgram()), lines);
      for (const [index, { path, command }] of tree.entries()) {
        for (const each of command.commands) expect(found[2 * index], path).toContain(each.name());
        for (const { long } of command.options) expect(found[2 * index + 1], path).toContain(long);
      }
    });

    test('the beginning of a word narrows the choices, and options before it do not hide its command', ({ skip }) => {
      skip(isMissing(shell), `${shell} is not installed`);
      const cases: Record<string, string[]> = {
        'tollgate del': ['deliveries'],
        'tollgate deliveries s': ['show'],
        'tollgate replay --dry': ['--dry-run'],
        'tollgate completion z': ['zsh'],
        'tollgate deliveries tail --status failed --from 2h --event': ['--event-type'],
        'tollgate listen --forward-to localhost:3000/hook --pri': ['--print-secret'],
      };
      expect(complete(completionScript(shell, createProgram()), Object.keys(cases))).toEqual(Object.values(cases));
    });

    test('file names are completed where no command or option fits, and nowhere else', ({ skip }) => {
      skip(isMissing(shell), `${shell} is not installed`);
      const lines = ['tollgate import package.j', 'tollgate deliveries '];
      const [files, commands] = complete(completionScript(shell, createProgram()), lines);
      expect(files).toEqual(['package.json']);
      expect(commands).not.toContain('package.json');
    });
  });
}

test('the scripts for zsh and fish contain each command, each option, and their descriptions', () => {
  const zsh = completionScript('zsh', createProgram());
  const fish = completionScript('fish', createProgram());
  expect(zsh).toMatch(/^#compdef tollgate\n/);
  expect(fish).toContain(
    "complete -c tollgate -n \"__tollgate_at 'deliveries'\" -a tail -d 'print deliveries as they change'",
  );
  for (const { path, command } of commandTree()) {
    expect(zsh).toContain(`    "${path}") found=(`);
    for (const { long } of command.options) {
      expect(zsh).toContain(`'${long}:`);
      expect(fish).toContain(`"__tollgate_at '${path}'" -l ${long!.slice(2)} -d '`);
    }
  }
});

test('the installed shells accept their scripts', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-completion-'));
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    if (spawnSync(shell, ['--version']).error) continue;
    const file = join(folder, shell);
    await writeFile(file, completionScript(shell, createProgram()));
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    expect({ shell, status, stderr }).toEqual({ shell, status: 0, stderr: '' });
  }
  await rm(folder, { recursive: true });
});

test('an unknown shell is a usage error', async () => {
  expect(await runCli(['completion', 'tcsh'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bash, zsh, fish'),
  });
});
