import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A possible next word, with its description. */
type Word = { word: string; about: string };
/** The possible next words after a command, such as `deliveries tail`. For the program itself, the path is ''. */
type Node = { path: string; words: Word[] };

const SCRIPTS: Readonly<Record<Shell, (nodes: readonly Node[]) => string>> = { bash, zsh, fish };

/**
 * A script that completes the commands, options, and fixed values of a program. It contains all of them, so the shell
 * doesn't run the program to complete a word.
 */
export function completionScript(shell: Shell, program: Command): string {
  return SCRIPTS[shell](nodesOf(program));
}

function nodesOf(command: Command, path: readonly string[] = []): Node[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const words = [
    ...subcommands.map((each) => ({ word: each.name(), about: each.description() })),
    ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
      argChoices.map((word) => ({ word, about: description })),
    ),
    ...help.visibleOptions(command).map(({ long, short, description }) => ({
      word: long ?? short!,
      about: description,
    })),
  ];
  const children = command.commands.flatMap((each) => nodesOf(each, [...path, each.name()]));
  return [{ path: path.join(' '), words }, ...children];
}

const wordsOf = ({ words }: Node) => words.map(({ word }) => word).join(' ');

/** Finds the command from the words so far. Each word that continues the path goes one level deeper. */
function bash(nodes: readonly Node[]): string {
  return `# bash completion for tollgate
_tollgate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" next word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${path:+$path }$word"
    case "$next" in
      ${pathPattern(nodes)}) path="$next" ;;
    esac
  done
  local words=""
  case "$path" in
${nodes.map((node) => `    ${inDoubleQuotes(node.path)}) words=${inDoubleQuotes(wordsOf(node))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
# Without a match, bash completes file names.
complete -o default -F _tollgate tollgate`;
}

function zsh(nodes: readonly Node[]): string {
  return `#compdef tollgate
# zsh completion for tollgate
_tollgate() {
  local command="" next word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${command:+$command }$word"
    case "$next" in
      ${pathPattern(nodes)}) command="$next" ;;
    esac
  done
  local -a found options
  case "$command" in
${nodes.map(zshCase).join('\n')}
  esac
  # Options are offered only after a hyphen.
  _describe 'command' found || _describe -o 'option' options || _files
}
if [[ "$funcstack[1]" = _tollgate ]]; then _tollgate "$@"; else compdef _tollgate tollgate; fi`;
}

function zshCase({ path, words }: Node): string {
  const [options, others] = [words.filter(isOption), words.filter((word) => !isOption(word))];
  return `    ${inDoubleQuotes(path)}) found=(${others.map(zshWord).join(' ')}) options=(${options.map(zshWord).join(' ')}) ;;`;
}

const isOption = ({ word }: Word) => word.startsWith('-');
const zshWord = ({ word, about }: Word) => inSingleQuotes(`${word.replaceAll(':', '\\:')}:${about}`);

function fish(nodes: readonly Node[]): string {
  const paths = nodes.flatMap(({ path }) => (path ? [inSingleQuotes(path)] : []));
  const lines = nodes.flatMap(({ path, words }) =>
    words.map(({ word, about }) => {
      const what = word.startsWith('--')
        ? `-l ${word.slice(2)}`
        : word.startsWith('-')
          ? `-s ${word.slice(1)}`
          : `-a ${word}`;
      return `complete -c tollgate -n "__tollgate_at ${inSingleQuotes(path)}" ${what} -d ${fishQuoted(about)}`;
    }),
  );
  // If a command must come next, file names aren't completed, because they would hide the commands.
  const withoutFiles = nodes
    .filter(({ words }) => !words.every(isOption))
    .map(({ path }) => `complete -c tollgate -n "__tollgate_at ${inSingleQuotes(path)}" -f`);
  return `# fish completion for tollgate
function __tollgate_at
  set -l path ''
  for word in (commandline -opc)[2..]
    set -l next (string trim -- "$path $word")
    contains -- $next ${paths.join(' ')}; and set path $next
  end
  test "$path" = "$argv[1]"
end
${[...withoutFiles, ...lines].join('\n')}`;
}

/** The paths as a \`case\` pattern. */
function pathPattern(nodes: readonly Node[]): string {
  return nodes.flatMap(({ path }) => (path ? [inDoubleQuotes(path)] : [])).join('|');
}

const inDoubleQuotes = (text: string) => `"${text}"`;
const inSingleQuotes = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const fishQuoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
