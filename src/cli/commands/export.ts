import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable, type Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import type { Exported, Tollgate } from '../../../packages/sdk/src/index.ts';
import { didYouMean } from '../../did-you-mean.ts';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';
import type { Call } from '../lists.ts';
import { createVisibleText, note, timeOf } from '../output.ts';
import { cutToLastRow } from '../resume.ts';
import { failureOf } from '../sdk-failure.ts';
import { addServiceOptions, openSession, type Session } from '../session.ts';
import { noteIfSlow } from '../slow.ts';

/** What can be exported, and its export in the SDK. */
const EXPORTS: Readonly<Record<string, (tollgate: Tollgate, ...call: Call) => Exported<unknown>>> = {
  payments: ({ payments }, ...call) => payments.export(...call),
  customers: ({ customers }, ...call) => customers.export(...call),
  revenue: ({ revenue }, ...call) => revenue.export(...call),
  deliveries: ({ deliveries }, ...call) => deliveries.export(...call),
  events: ({ events }, ...call) => events.export(...call),
  'audit-log': ({ auditLog }, ...call) => auditLog.export(...call),
};
const EXPORTED = Object.keys(EXPORTS);
const FORMATS = ['csv', 'jsonl'];
const PROGRESS_MILLISECONDS = 500;

type ExportOptions = {
  format: 'csv' | 'jsonl';
  output?: string;
  resume?: string;
  from?: string;
  to?: string;
  filter: string[];
};

export function addExport(program: Command): void {
  const command = addServiceOptions(program.command('export'), { json: 'print JSON Lines (same as --format jsonl)' });
  addExamples(
    command,
    'tollgate export payments --from 2026-01-01T00:00:00Z --output payments.csv',
    'tollgate export deliveries --filter status=FAILED,SKIPPED --json --resume failed.jsonl',
    'tollgate export revenue --filter interval=MONTH --from 365d',
  )
    .description('export everything that matches as CSV or JSON Lines, oldest first')
    .argument('<what>', EXPORTED.join(', '))
    .addOption(new Option('--format <format>', 'format of the file').choices(FORMATS).default('csv'))
    .option('--output <file>', 'write to this file once the export is complete (default: standard output)')
    .addOption(
      new Option('--resume <file>', 'continue this file from an export that was cut off, or start it').conflicts(
        'output',
      ),
    )
    .option('--from <time>', 'only items at or after this time: a duration such as 30m or 2h, or a timestamp')
    .option('--to <time>', 'only items before this time: a duration or a timestamp')
    .option('--filter <name=value...>', 'additional filters for the list, such as status=FAILED', [])
    .action((what: string, _options, command: Command) =>
      exportRows(openSession(command), what, command.opts<ExportOptions>()),
    );
}

async function exportRows(session: Session, what: string, options: ExportOptions): Promise<void> {
  if (!EXPORTED.includes(what)) {
    const advice = didYouMean(what, EXPORTED) || ` Use one of ${EXPORTED.join(', ')}.`;
    throw new Failure('usage', `Cannot export "${what}".${advice}`);
  }
  const { tollgate, signal, isJson } = session;
  const { output, resume } = options;
  if (resume !== undefined && what === 'revenue') {
    throw new Failure('usage', 'Revenue is exported in one step, so --resume has no effect. Export it again.');
  }
  const format = isJson ? 'jsonl' : options.format;
  const query = queryOf(options);
  const projectId = await session.projectId();
  const after = resume === undefined ? undefined : await cutToLastRow(resume, format);
  if (after !== undefined) query.after = [after];
  const body = await EXPORTS[what]!(tollgate, query as never, { projectId, signal })
    .file(format)
    .catch((error) => Promise.reject(failureOf(error)));
  const progress = createProgress(what);
  try {
    const writing = resume !== undefined ? append(resume) : output !== undefined ? writeFile(output) : print();
    await (process.stderr.isTTY ? writing : noteIfSlow(writing, `Exporting ${what}…`));
  } finally {
    progress.stop();
  }
  progress.finish();

  /** A terminal gets visible text, and everything else gets the exact bytes. */
  function print(): Promise<void> {
    return write(process.stdout, { end: false, steps: process.stdout.isTTY ? [createVisibleText()] : [] });
  }

  /** If this fails, the file keeps its rows, so that the same command can continue it. */
  function append(path: string): Promise<void> {
    return write(createWriteStream(path, { flags: 'a' }), { end: true });
  }

  async function write(target: Writable, { end, steps = [] }: { end: boolean; steps?: Transform[] }): Promise<void> {
    const source = Readable.fromWeb(body as never).on('data', ({ length }: Uint8Array) => progress.add(length));
    // The pipeline controls how fast to read.
    source.pause();
    // If either side fails, the other one stops.
    let failed: 'source' | 'target' | undefined;
    source.once('error', () => (failed ??= 'source'));
    target.once('error', () => (failed ??= 'target'));
    await pipeline([source, ...steps, target], { end, signal }).catch((error) => {
      if (signal.aborted) throw error;
      if (failed === 'target') throw new Failure('failed', `Cannot write: ${(error as Error).message}.`);
      const { message } = failureOf(error) as Error;
      const advice = resume === undefined ? '' : ' Run the command again to continue it.';
      const text = `${message} The export was cut off and is incomplete.${advice}`;
      throw new Failure('unreachable', text, { isTransient: true });
    });
  }

  /** The file gets the requested name only once it is complete. */
  async function writeFile(path: string): Promise<void> {
    const part = `${path}.part`;
    try {
      await write(createWriteStream(part), { end: true });
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
  }
}

/** @throws Failure that names the invalid option. */
function queryOf({ from, to, filter }: ExportOptions): Record<string, string[]> {
  const query = new Map<string, string[]>();
  if (from) query.set('from', [timeOf(from, '--from')]);
  if (to) query.set('to', [timeOf(to, '--to')]);
  for (const text of filter) {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (!name || value === undefined) {
      throw new Failure('usage', `--filter must have the form name=value, for example, status=FAILED, not ${text}.`);
    }
    query.set(name, [...(query.get(name) ?? []), value]);
  }
  return Object.fromEntries(query);
}

/**
 * Shows on standard error how much has been downloaded. The line is updated in place, so it is shown only in a
 * terminal. Elsewhere, one line says that the export is running.
 */
function createProgress(what: string) {
  const startedAt = performance.now();
  const { isTTY } = process.stderr;
  let bytes = 0;
  const show = () => process.stderr.write(`\r${what}: ${megabytes(bytes)}`);
  const timer = isTTY ? setInterval(show, PROGRESS_MILLISECONDS) : undefined;
  return {
    add(length: number): void {
      bytes += length;
    },
    stop(): void {
      clearInterval(timer);
      if (isTTY) process.stderr.write('\r\x1b[K');
    },
    finish(): void {
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      note(`Exported ${what}: ${megabytes(bytes)} in ${seconds} s.`);
    },
  };
}

function megabytes(bytes: number): string {
  return bytes < 100_000 ? `${bytes} bytes` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
