import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  CliCancelReplayDocument,
  CliCreateReplayDocument,
  type CliReplayFragment,
  CliReplayProgressDocument,
  type ReplayFilter,
} from '../../generated/cli-documents.ts';
import { confirm } from '../confirm.ts';
import { addExamples } from '../examples.ts';
import { EXIT_CODES, Failure } from '../failure.ts';
import { eventTypeEnumOf, givenTime, listOf, note, print, printJson } from '../output.ts';
import { addServiceOptions, openSession, type Session } from '../session.ts';
import { STATUSES, statusOf } from '../statuses.ts';

type ReplayOptions = {
  status?: string;
  eventType?: string;
  from?: string;
  since?: string;
  to?: string;
  until?: string;
  webhook?: string;
  connector?: string;
  delivery?: string;
  maxPerSecond: string;
  dryRun?: boolean;
  yes?: boolean;
};

/** Deliveries in progress can't be replayed. */
const REPLAYED = STATUSES.filter((status) => status !== 'RUNNING');

const DEFAULT_STATUS = 'failed';
const PROGRESS_MILLISECONDS = 500;
const REQUEST_TIMEOUT_MILLISECONDS = 30_000;

export function addReplay(program: Command): void {
  addExamples(
    addServiceOptions(program.command('replay')),
    'tollgate replay --from 2h',
    'tollgate replay --webhook wh_01jc9x2v5qe3w8k4m6n7p9r0st --status failed,skipped --dry-run',
    'tollgate replay --from 7d --event-type payment.settled --max-per-second 10 --yes',
  )
    .description('count the matching deliveries, ask for confirmation, and resend them; Ctrl-C cancels')
    .option(
      '--status <list>',
      `only deliveries with these statuses: ${REPLAYED.join(', ').toLowerCase()}. Default: failed, or any with --delivery`,
    )
    .option('--event-type <list>', 'only deliveries of these event types, such as payment.settled')
    .option(
      '--from <time>',
      'only deliveries created at or after this time: a duration such as 30m or 2h, or a timestamp',
    )
    .option('--to <time>', 'only deliveries created before this time: a duration or a timestamp')
    .option('--since <time>', 'former name of --from')
    .option('--until <time>', 'former name of --to')
    .option('--webhook <id>', 'only deliveries to this webhook')
    .option('--connector <id>', 'only deliveries to this connector')
    .option('--delivery <list>', 'only these deliveries, up to 100')
    .option('--max-per-second <number>', 'deliveries to queue per second, from 1 to 1,000', '50')
    .option('--dry-run', 'count the deliveries without resending them')
    .option('--yes', 'skip the confirmation')
    .action((_options, command: Command) => replay(openSession(command), command.opts<ReplayOptions>()));
}

async function replay(session: Session, options: ReplayOptions): Promise<void> {
  const { client, signal, isJson } = session;
  const filter = filterOf(options);
  const maxPerSecond = Number(options.maxPerSecond);
  if (!Number.isInteger(maxPerSecond)) throw new Failure('usage', '--max-per-second must be a whole number.');
  const projectId = await session.projectId();
  const input = { projectId, filter, maxPerSecond };

  const counted = await client.run(CliCreateReplayDocument, { input: { ...input, dryRun: true } }, signal);
  const { total } = counted.createReplay!;
  if (options.dryRun) return isJson ? printJson({ total }) : print(`${deliveries(total)} would be resent.`);
  if (total === 0) return isJson ? printJson({ total }) : note('No deliveries match.');
  if (!options.yes) await confirm(`Resend ${deliveries(total)}, up to ${maxPerSecond} per second?`, signal);

  // Not interruptible, because a replay that has started can be canceled only by its ID.
  const created = await client.run(
    CliCreateReplayDocument,
    { input },
    AbortSignal.timeout(REQUEST_TIMEOUT_MILLISECONDS),
  );
  const ended = await watch(session, created.createReplay!.replay!);
  if (isJson) printJson(ended);
  else print(resultOf(ended));
  if (ended.status !== 'COMPLETED') process.exitCode = signal.aborted ? EXIT_CODES.interrupted : EXIT_CODES.failed;
}

/** @throws Failure that names the invalid option. */
function filterOf({ status, eventType, webhook, connector, delivery, ...period }: ReplayOptions): ReplayFilter {
  const statuses = status ?? (delivery === undefined ? DEFAULT_STATUS : undefined);
  const from = givenTime(period, 'from', 'since');
  const to = givenTime(period, 'to', 'until');
  return {
    ...(statuses && { status: listOf(statuses).map(statusOf) }),
    ...(delivery !== undefined && { deliveryIds: listOf(delivery) }),
    ...(eventType && { eventTypes: listOf(eventType).map(eventTypeEnumOf) }),
    ...(from && { from }),
    ...(to && { to }),
    ...(webhook && { webhookId: webhook }),
    ...(connector && { connectorId: connector }),
  };
}

/** Shows progress until the replay ends. Cancels it if the user interrupts. */
async function watch({ client, signal }: Session, started: CliReplayFragment): Promise<CliReplayFragment> {
  let replay = started;
  note(`Started ${replay.id}. Press Ctrl-C to cancel it.`);
  while (replay.status === 'RUNNING') {
    await delay(PROGRESS_MILLISECONDS, undefined, { signal }).catch(() => {});
    if (signal.aborted) {
      const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MILLISECONDS);
      const canceled = await client.run(CliCancelReplayDocument, { input: { id: replay.id } }, timeout);
      return canceled.cancelReplay!.replay;
    }
    const now = await progressOf(replay.id);
    if (now.done + now.skipped > replay.done + replay.skipped) note(`  ${now.done + now.skipped} of ${now.total}`);
    replay = now;
  }
  return replay;

  async function progressOf(id: string): Promise<CliReplayFragment> {
    try {
      const { node } = await client.run(CliReplayProgressDocument, { id }, signal);
      if (node?.__typename === 'Replay') return node;
    } catch (error) {
      // The replay continues even if we can't watch it.
      if (signal.aborted || (error instanceof Failure && error.isTransient)) return replay;
      throw error;
    }
    throw new Failure('notFound', `Replay ${id} no longer exists.`);
  }
}

function resultOf({ id, status, total, done, skipped }: CliReplayFragment): string {
  const passed = skipped > 0 ? `, ${skipped} skipped` : '';
  return `${id}  ${status}  ${done} of ${total} requeued${passed}`;
}

function deliveries(count: number): string {
  return count === 1 ? '1 delivery' : `${count} deliveries`;
}
