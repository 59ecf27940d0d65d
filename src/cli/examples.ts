import type { Command } from 'commander';

/** Adds one to three examples to a command's help. Tests run them, so each must be a complete command line. */
export function addExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText('after', ['\nExamples:', ...examples.map((example) => `  ${example}`)].join('\n'));
}
