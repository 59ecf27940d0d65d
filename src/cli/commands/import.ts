import { readFile, stat } from 'node:fs/promises';
import type { Command } from 'commander';
import {
  CliImportEndpointsDocument,
  type CliImportEndpointsMutation,
  CliPreviewImportDocument,
  type CliPreviewImportMutation,
} from '../../generated/cli-documents.ts';
import { confirm } from '../confirm.ts';
import { addExamples } from '../examples.ts';
import { EXIT_CODES, Failure } from '../failure.ts';
import { note, print, printJson } from '../output.ts';
import { addServiceOptions, openSession, type Session } from '../session.ts';

type Options = { upstreamUrl?: string; price?: string; dryRun?: boolean; yes?: boolean };
type Preview = NonNullable<CliPreviewImportMutation['previewImport']>;
type Item = Preview['items'][number];
type Result = NonNullable<CliImportEndpointsMutation['importEndpoints']>['results'][number];

const MAX_FILE_BYTES = 5 * 1024 * 1024;
/**
 * The number of endpoints per request. Each endpoint counts toward the rate limit. Several small requests can use all
 * that is left of it, but one large request might not fit.
 */
const BATCH = 50;

export function addImport(program: Command): void {
  const command = addServiceOptions(program.command('import'), { json: 'print JSON Lines: one line per endpoint' });
  addExamples(
    command,
    'tollgate import openapi.yaml --price 0.01',
    'tollgate import openapi.json --price 0.05 --upstream-url https://api.example.com/v2 --yes',
    'tollgate import https://api.example.com/openapi.json --dry-run',
  )
    .argument('<file-or-url>', 'OpenAPI document (3.0, 3.1, or Swagger 2.0) in JSON or YAML')
    .description('create and update endpoints from an OpenAPI document, after you confirm the changes')
    .option('--upstream-url <url>', 'URL of your API (default: the document’s first server)')
    .option('--price <usd>', 'price per request for new endpoints in USD, such as 0.01')
    .option('--dry-run', 'only show what would be created and updated')
    .option('--yes', 'skip the confirmation')
    .action((source: string, _options, command: Command) =>
      importDocument(openSession(command), source, command.opts<Options>()),
    );
}

async function importDocument(session: Session, source: string, options: Options): Promise<void> {
  const { client, signal, isJson } = session;
  const input = {
    projectId: await session.projectId(),
    ...(/^https?:\/\//i.test(source) ? { url: source } : { document: await readDocument(source) }),
    ...(options.upstreamUrl && { upstreamUrl: options.upstreamUrl }),
    ...(options.price && { priceUsd: options.price }),
  };
  const preview = (await client.run(CliPreviewImportDocument, { input }, signal)).previewImport!;
  for (const { pointer, message } of preview.problems) note(`Not imported: ${pointer}  ${message}`);
  const show = (item: Item) => (isJson ? printJson(item) : print(previewLines(item)));
  if (options.dryRun) return preview.items.forEach(show);

  const chosen = preview.items.filter(({ status }) => status === 'NEW' || status === 'CHANGED');
  if (chosen.length === 0) return note('There is nothing to import: the endpoints already match the document.');
  const added = chosen.filter(({ status }) => status === 'NEW').length;
  if (added > 0 && !options.price) {
    throw new Failure('usage', `Set the price of ${endpoints(added)} with --price, for example, --price 0.01.`);
  }
  if (!options.yes) {
    for (const item of chosen) note(previewLines(item));
    await confirm(`Create ${endpoints(added)} and update ${chosen.length - added}?`, signal);
  }
  const failed = await importAll(session, input, chosen);
  if (failed > 0) process.exitCode = EXIT_CODES.failed;
}

/** Imports the items in batches and prints each result. @returns how many failed */
async function importAll(
  { client, signal, isJson }: Session,
  input: { projectId: string },
  chosen: readonly Item[],
): Promise<number> {
  let failed = 0;
  for (let start = 0; start < chosen.length; start += BATCH) {
    const items = chosen
      .slice(start, start + BATCH)
      .map(({ path, methods, upstreamUrl }) => ({ path, methods, upstreamUrl }));
    const { importEndpoints } = await client
      .run(CliImportEndpointsDocument, { input: { ...input, items } }, signal)
      .catch((error) => {
        if (start > 0) note(`Imported ${start} of ${chosen.length}. To import the rest, run the command again.`);
        throw error;
      });
    for (const result of importEndpoints!.results) {
      isJson ? printJson(result) : print(resultLine(result));
      if (result.status === 'FAILED') failed += 1;
    }
  }
  return failed;
}

/** @throws Failure if the file can't be read */
async function readDocument(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size <= MAX_FILE_BYTES) return await readFile(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Failure(
      'usage',
      code === 'ENOENT' ? `The file ${path} does not exist.` : `Cannot read ${path}: ${message}.`,
    );
  }
  throw new Failure('usage', `${path} is larger than 5 MB.`);
}

function previewLines({ status, path, methods, upstreamUrl, priceUsd, changes, problems }: Item): string {
  const price = priceUsd === null ? '' : `  $${priceUsd}`;
  const details = [
    ...changes.map(({ field, before, after }) => `${field}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`),
    ...problems,
  ];
  const line = `${status.padEnd(7)}  ${path}  ${methods.join(',')}  → ${upstreamUrl}${price}`;
  return [line, ...details.map((detail) => `         ${detail}`)].join('\n');
}

function resultLine({ status, path, endpointId, error }: Result): string {
  return [status.padEnd(7), path, error?.message ?? endpointId ?? ''].join('  ').trimEnd();
}

function endpoints(count: number): string {
  return count === 1 ? '1 endpoint' : `${count} endpoints`;
}
