import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { EXIT_CODE_MEANINGS, EXIT_CODES, type ExitReason, Failure } from '../../src/cli/failure.ts';
import { problemOf } from '../../src/cli/problem.ts';
import { createProgram } from '../../src/cli/program.ts';
import { commandTree, wordsOf } from '../support/command-tree.ts';

/** Why some commands don't print JSON, by command. */
const WITHOUT_JSON: Readonly<Record<string, string>> = {
  start: 'its log is JSON Lines',
  mcp: 'it speaks JSON-RPC',
  completion: 'it prints a script',
};

const tree = commandTree();
const docs = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');

describe('every command', () => {
  test.each(tree.map(({ path }) => path))('%s has a short description without a period', (path) => {
    const { command } = tree.find((each) => each.path === path)!;
    expect(command.description(), path).toMatch(/^[a-z].*[^.]$/);
  });

  test.each(tree.map(({ path }) => path))('%s has one to three examples that its parser accepts', async (path) => {
    const { examples } = tree.find((each) => each.path === path)!;
    expect(examples.length, `${path}: use addExamples of src/cli/examples.ts`).toBeGreaterThanOrEqual(1);
    expect(examples.length, path).toBeLessThanOrEqual(3);
    for (const example of examples) {
      expect(example.startsWith(`tollgate ${path}`), example).toBe(true);
      expect(await parse(wordsOf(example)), example).toContain(path);
    }
  });

  test('prints JSON with --json, and says whether it is one document or JSON Lines', () => {
    const offenders = tree
      .filter(({ command, path }) => command.commands.length === 0 && !(path in WITHOUT_JSON))
      .filter(({ command }) => {
        const json = command.options.find(({ long }) => long === '--json');
        return !/^print (one JSON document|JSON Lines)/.test(json?.description ?? '');
      });
    expect(offenders.map(({ path }) => path)).toEqual([]);
    const superfluous = Object.keys(WITHOUT_JSON).filter((path) =>
      tree.find((each) => each.path === path)?.command.options.some(({ long }) => long === '--json'),
    );
    expect(superfluous).toEqual([]);
  });

  test('has a section or is mentioned in docs/cli.md', () => {
    const missing = tree.filter(({ path }) => !docs.includes(path.split(' ').at(-1)!));
    expect(missing.map(({ path }) => path)).toEqual([]);
    const sections = tree.filter(({ path }) => !path.includes(' ') && !docs.includes(`## ${path}\n`));
    expect(sections.map(({ path }) => path)).toEqual([]);
  });
});

/** Parses a command line without running it. @returns the path of the command that would run */
async function parse(words: string[]): Promise<string> {
  const program = createProgram();
  let parsed = '';
  const record = (path: string) => () => {
    parsed = path;
  };
  const disarm = (command: Command, path: string): void => {
    command.exitOverride().configureOutput({ writeErr: () => {}, outputError: () => {} });
    if (command.commands.length === 0) command.action(record(path));
    for (const each of command.commands) disarm(each, `${path} ${each.name()}`.trim());
  };
  disarm(program, '');
  await program.parseAsync(words, { from: 'user' });
  return parsed;
}

describe('exit codes', () => {
  const reasons = Object.keys(EXIT_CODES) as ExitReason[];

  test('each has its own number and a line in docs/cli.md', () => {
    expect(new Set(Object.values(EXIT_CODES)).size).toBe(reasons.length);
    const rows = reasons.map((reason) => `| ${EXIT_CODES[reason]} | ${EXIT_CODE_MEANINGS[reason]} |`);
    for (const row of rows) expect(docs).toContain(row);
    expect([...docs.matchAll(/^\| \d+ \|/gm)]).toHaveLength(reasons.length);
  });

  test('the service’s errors have their own codes', () => {
    const codeFor = (code: string, isTransient = false) =>
      problemOf(new Failure(isTransient ? 'unreachable' : 'refused', 'No.', { code, isTransient })).exitCode;
    expect(codeFor('VALIDATION_FAILED')).toBe(4);
    expect(codeFor('UNAUTHENTICATED')).toBe(5);
    expect(codeFor('FORBIDDEN')).toBe(6);
    expect(codeFor('NOT_FOUND')).toBe(7);
    expect(codeFor('RATE_LIMITED', true)).toBe(8);
    expect(codeFor('UNAVAILABLE', true)).toBe(3);
  });

  test('with --json, an error that has no service error code is named after its reason', () => {
    expect(problemOf(new Failure('notFound', 'Gone.'))).toEqual({
      detail: 'Gone.',
      code: 'NOT_FOUND',
      exitCode: 7,
      isTransient: false,
      errors: [],
    });
    expect(problemOf(new Error('boom'))).toMatchObject({ detail: 'boom', code: 'FAILED', exitCode: 1 });
  });
});
