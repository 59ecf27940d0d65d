import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';

export type CommandOfTree = { path: string; command: Command; help: string; examples: string[] };

/**
 * Every command of the command line that does something, including groups such as `deliveries`, with its full help
 * text.
 */
export function commandTree(): CommandOfTree[] {
  const walk = (command: Command, path: readonly string[]): CommandOfTree[] => [
    ...(path.length > 0 ? [describe(command, path.join(' '))] : []),
    ...command.commands.flatMap((each) => walk(each, [...path, each.name()])),
  ];
  return walk(createProgram(), []);
}

function describe(command: Command, path: string): CommandOfTree {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  const [, block = ''] = /\nExamples:\n((?: {2}.+\n?)+)/.exec(help) ?? [];
  return { path, command, help, examples: block.split('\n').flatMap((line) => line.trim() || []) };
}

/** The words of a command line, without `tollgate`. Single quotes preserve spaces. */
export function wordsOf(example: string): string[] {
  const words = [...example.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
  if (words.shift() !== 'tollgate') throw new Error(`An example starts with tollgate: ${example}`);
  return words;
}
