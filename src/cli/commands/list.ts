import { type Command, Option } from 'commander';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';
import { type Item, LISTS, type List } from '../lists.ts';
import { note, print, printJson } from '../output.ts';
import { failureOf } from '../sdk-failure.ts';
import { addServiceOptions, openSession, type Session } from '../session.ts';

const DEFAULT_LIMIT = 20;
const MAX_PAGE_SIZE = 100;

/** Adds `tollgate list <what>`, with the filters of each list as options. */
export function addList(program: Command): void {
  const command = program.command('list').description('print the newest items in a list, optionally filtered');
  addExamples(command, 'tollgate list payments --status failed --from 2h', 'tollgate list endpoints --json');
  for (const list of LISTS) {
    const json = 'print JSON Lines: one line per item';
    const subcommand = addExamples(addServiceOptions(command.command(list.path), { json }), list.example)
      .description(`print ${list.what}, newest first`)
      .option('--limit <number>', 'how many items to print', String(DEFAULT_LIMIT));
    for (const [name, { value, text }] of Object.entries(list.filters)) {
      subcommand.addOption(new Option(`--${dashed(name)} ${value}`, text));
    }
    subcommand.action((_options, chosen: Command) => printList(openSession(chosen), list, chosen.opts()));
  }
}

const dashed = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

async function printList(session: Session, list: List, options: Record<string, string>): Promise<void> {
  const { tollgate, signal, isJson } = session;
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1)
    throw new Failure('usage', '--limit must be a whole number of at least 1.');
  const filters = Object.entries(list.filters).flatMap(([name, { read }]) => {
    const text = options[name];
    if (text === undefined) return [];
    return [[name, read ? read(text, `--${dashed(name)}`) : text] as const];
  });
  const query = { ...Object.fromEntries(filters), limit: Math.min(limit, MAX_PAGE_SIZE) };
  const call = { signal, ...(!list.isOfAccount && { projectId: await session.projectId() }) };
  let count = 0;
  try {
    for await (const item of list.open(tollgate, query as never, call)) {
      isJson ? printJson(item) : print(lineOf(list, item));
      count += 1;
      if (count === limit) break;
    }
  } catch (error) {
    throw failureOf(error);
  }
  if (count === 0 && !isJson) note('Nothing matches.');
}

function lineOf({ columns }: List, item: Item): string {
  const words = columns.map((name) => wordOf(name, item[name])).filter((word) => word !== '');
  return words.join('  ');
}

/** Formats a value as a single word. Booleans include the field's name, because `true` alone isn't clear. */
function wordOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return `${name}=${value}`;
  return Array.isArray(value) ? value.join(',') : String(value);
}
