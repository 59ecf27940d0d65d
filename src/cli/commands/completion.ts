import { Argument, type Command } from 'commander';
import { completionScript, SHELLS, type Shell } from '../completion.ts';
import { addExamples } from '../examples.ts';
import { print } from '../output.ts';

const HOW_TO = `
To enable completion in new shells:
  bash:  tollgate completion bash >> ~/.bashrc
  zsh:   tollgate completion zsh > "\${fpath[1]}/_tollgate"
  fish:  tollgate completion fish > ~/.config/fish/completions/tollgate.fish`;

export function addCompletion(program: Command): void {
  addExamples(program.command('completion'), 'tollgate completion bash', 'tollgate completion zsh')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
    .description('print a script that completes commands and options in your shell')
    .addHelpText('after', HOW_TO)
    .action((shell: Shell) => print(completionScript(shell, program)));
}
