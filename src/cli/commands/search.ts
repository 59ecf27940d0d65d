import type { Command } from 'commander';
import { CliSearchDocument } from '../../generated/cli-documents.ts';
import { addExamples } from '../examples.ts';
import { note, print, printJson } from '../output.ts';
import { addServiceOptions, openSession, type Session } from '../session.ts';

export function addSearch(program: Command): void {
  const command = addServiceOptions(program.command('search'), { json: 'print JSON Lines: one line per item' });
  addExamples(
    command,
    'tollgate search 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
    'tollgate search weather --project proj_01jc9x2v5qe3w8k4m6n7p9r0st',
  )
    .argument('<text>', 'an ID, a transaction hash, a wallet, a payment identifier, or part of a path, host, or name')
    .description('find items in the given project, or in all projects that you can see')
    .action((text: string, _options, command: Command) =>
      search(openSession(command), text, command.opts<{ project?: string }>().project),
    );
}

async function search({ client, signal, isJson }: Session, query: string, projectId: string | undefined) {
  const { search: found } = await client.run(CliSearchDocument, { query, projectId: projectId ?? null }, signal);
  for (const item of found!) {
    const { type, id, label, status } = item;
    if (isJson) printJson(item);
    else print([type.toLowerCase().padEnd(11), id, label, ...(status ? [status] : [])].join('  '));
  }
  if (found!.length === 0 && !isJson) note('Nothing found.');
}
