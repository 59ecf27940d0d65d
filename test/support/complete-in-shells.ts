import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'vitest';
import { INHERITED } from './inherited.ts';

const TIMEOUT_MILLISECONDS = 60_000;

/** Types lines into an interactive zsh, and makes it list the possible completions. */
const ZSH_DRIVER = String.raw`
zmodload zsh/zpty
zpty z env TERM=dumb zsh -f -i
zpty -w z 'PROMPT=; unset zle_bracketed_paste; COLUMNS=400; LINES=400; LISTMAX=0; fpath=($FOLDER $fpath); autoload -Uz compinit
compinit -D -u; end-line() { zle kill-whole-line; print -r -- "<<END>>" }; zle -N end-line
bindkey "^X" list-choices; bindkey "^Y" end-line; print "<<READY>>"'
zpty -r z out $'*\n<<READY>>*'
for line in "$@"; do
  zpty -w -n z "$line"$'\x18\x19'
  zpty -r z out '*<<END>>*'
  print -r -- "$out"
done
zpty -d z
`;

/**
 * The completions that zsh suggests for the last word of each line. The script is autoloaded, as the documentation
 * says.
 */
export function completeInZsh(script: string, lines: readonly string[]): string[][] {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-zsh-'));
  try {
    writeFileSync(join(folder, '_tollgate'), script);
    const out = run('zsh', ['-f', '-c', ZSH_DRIVER, 'driver', ...lines], { FOLDER: folder });
    return out
      .split('<<END>>')
      .slice(0, lines.length)
      .map((screen, index) => listed(screen, lines[index]!));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The words in a listing: one per line, with its description, or several file names next to each other. */
function listed(screen: string, typed: string): string[] {
  const lines = stripVTControlCharacters(screen).split(/\r*\n/);
  return (
    lines
      .map((line) => line.trim())
      // The line that was typed is on the screen too.
      .filter((line) => line !== '' && !line.endsWith(typed.trim()))
      .flatMap((line) => (/^(\S+ +)+-- /.exec(line)?.[0] ?? line).replace(/ -- $/, '').split(/\s+/))
      .filter(Boolean)
  );
}

/** The completions that fish suggests for the last word of each line. */
export function completeInFish(script: string, lines: readonly string[]): string[][] {
  const driver = `${script}\nfor line in $argv; complete -C $line; echo '<<END>>'; end`;
  const out = run('fish', ['--no-config', '-c', driver, ...lines]);
  return out.split('<<END>>\n').slice(0, lines.length).map(wordsInFish);
}

/** Each line is a word, followed by a tab and the word's description. */
const wordsInFish = (text: string) =>
  text
    .split('\n')
    .map((line) => line.split('\t')[0]!)
    .filter(Boolean);

function run(shell: string, args: string[], env: Record<string, string> = {}): string {
  const { stdout, stderr, status } = spawnSync(shell, args, {
    encoding: 'utf8',
    env: { ...INHERITED, ...env },
    timeout: TIMEOUT_MILLISECONDS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  expect({ shell, status, stderr }).toEqual({ shell, status: 0, stderr: '' });
  return stdout;
}
