import type { Command } from 'commander';
import {
  CliDeliveryDocument,
  type CliDeliveryQuery,
  CliResendDeliveryDocument,
} from '../../generated/cli-documents.ts';
import { deliveryLine, shownDelivery, waitForResults } from '../deliveries.ts';
import { addExamples } from '../examples.ts';
import { EXIT_CODES, Failure } from '../failure.ts';
import { followDeliveries } from '../live.ts';
import { eventTypeNameOf, givenTime, listOf, note, print, printJson, secondsOf } from '../output.ts';
import { addServiceOptions, itemNotFound, openSession, type Session } from '../session.ts';
import { STATUSES, statusOf } from '../statuses.ts';

type FilterOptions = { status?: string; eventType?: string; from?: string; since?: string };
type FoundDelivery = Extract<NonNullable<CliDeliveryQuery['node']>, { __typename: 'Delivery' }>;

/** `show` points out the slowest phase if it took at least this long. */
const SLOW_MILLISECONDS = 1000;

export function addDeliveries(program: Command): void {
  const deliveries = program.command('deliveries').description('watch, inspect, and resend deliveries');
  addExamples(deliveries, 'tollgate deliveries tail', 'tollgate deliveries show dlv_01jc9x2v5qe3w8k4m6n7p9r0st');

  const tailCommand = addServiceOptions(deliveries.command('tail'), { json: 'print JSON Lines: one line per change' });
  addExamples(
    tailCommand,
    'tollgate deliveries tail',
    'tollgate deliveries tail --status failed,pending --event-type payment.settled --from 2h',
  )
    .description('print deliveries as they change')
    .option('--status <list>', `only deliveries with these statuses: ${STATUSES.join(', ').toLowerCase()}`)
    .option('--event-type <list>', 'only deliveries of these event types, such as payment.settled')
    .option(
      '--from <time>',
      'start with deliveries created since this time: a duration such as 30m or 2h, or a timestamp',
    )
    .option('--since <time>', 'former name of --from')
    .action((_options, command: Command) => tail(openSession(command), command.opts<FilterOptions>()));

  addExamples(
    addServiceOptions(deliveries.command('show')),
    'tollgate deliveries show dlv_01jc9x2v5qe3w8k4m6n7p9r0st',
    'tollgate deliveries show dlv_01jc9x2v5qe3w8k4m6n7p9r0st --curl',
  )
    .argument('<id>', 'dlv_…')
    .description('print a delivery, its attempts, the reason for its status, and what to do about it')
    .option('--curl', 'print only the curl commands that resend the request')
    .action((id: string, _options, command: Command) =>
      show(openSession(command), id, command.opts<{ curl?: boolean }>().curl === true),
    );

  addExamples(
    addServiceOptions(deliveries.command('resend')),
    'tollgate deliveries resend dlv_01jc9x2v5qe3w8k4m6n7p9r0st',
  )
    .argument('<id>', 'dlv_…')
    .description('resend a delivery and show the result')
    .option('--timeout <seconds>', 'how long to wait for the result', '30')
    .action((id: string, _options, command: Command) =>
      resend(openSession(command), id, secondsOf(command.opts<{ timeout: string }>().timeout, '--timeout')),
    );
}

/** @throws Failure that names the invalid option. */
function deliveryFilter({ status, eventType, ...period }: FilterOptions) {
  const from = givenTime(period, 'from', 'since');
  return {
    ...(status && { status: listOf(status).map(statusOf) }),
    ...(eventType && { eventType: listOf(eventType).map(eventTypeNameOf) }),
    ...(from && { from }),
  };
}

async function tail(session: Session, options: FilterOptions): Promise<void> {
  const projectId = await session.projectId();
  const greet = () => note(`Watching deliveries in ${projectId}. Press Ctrl-C to stop.`);
  for await (const delivery of followDeliveries(session, projectId, deliveryFilter(options), greet)) {
    if (session.isJson) printJson(delivery);
    else print(deliveryLine(delivery));
  }
}

async function show({ client, signal, isJson }: Session, id: string, asCurl: boolean): Promise<void> {
  const { node } = await client.run(CliDeliveryDocument, { id }, signal);
  if (node?.__typename !== 'Delivery') throw itemNotFound('Delivery', id);
  if (isJson) return printJson(shownDelivery(node));
  if (asCurl) return printCurl(node);
  print(deliveryLine(shownDelivery(node)));
  for (const attempt of node.attempts) print(attemptLines(attempt));
  for (const line of explanationLines(node.explanation)) print(`  ${line}`);
}

function explanationLines(explanation: FoundDelivery['explanation']): string[] {
  const { summary, advice, next, slowestPhase, slowestPhaseMs } = explanation;
  const phase = slowestPhase?.toLowerCase().replaceAll('_', ' ');
  const isSlow = (slowestPhaseMs ?? 0) >= SLOW_MILLISECONDS;
  return [
    `why:   ${summary}`,
    ...(isSlow ? [`slow:  ${phase} took ${slowestPhaseMs} ms in the last attempt`] : []),
    `next:  ${next}`,
    ...(advice ? [`hint:  ${advice}`] : []),
  ];
}

/** Prints the commands to standard output so that you can save them, and explains their variables on standard error. */
function printCurl({ id, explanation: { curl, curlVariables } }: FoundDelivery): void {
  if (curl === null) throw new Failure('refused', `The request for ${id} cannot be shown without exposing secrets.`);
  for (const { name, description } of curlVariables) note(`${name}: ${description}`);
  print(curl);
}

function attemptLines(attempt: FoundDelivery['attempts'][number]): string {
  const { number, trigger, startedAt, durationMs, statusCode, errorClass, errorMessage, responseBody } = attempt;
  const omitted = attempt.isContentOmitted && 'response: not stored, because the account had reached its daily limit';
  const by = trigger === 'MANUAL' ? '  manual' : '';
  const head = `  ${number}.  ${startedAt}  ${statusCode ?? errorClass}  ${durationMs} ms${by}`;
  const body = responseBody ? `response: ${responseBody.replaceAll(/\s+/g, ' ').slice(0, 500)}` : undefined;
  return [head, errorMessage, omitted || body].filter(Boolean).join('\n      ');
}

async function resend(session: Session, id: string, timeoutSeconds: number): Promise<void> {
  const { resendDelivery } = await session.client.run(CliResendDeliveryDocument, { input: { id } }, session.signal);
  const [delivery] = await waitForResults(session, [resendDelivery!.delivery], timeoutSeconds);
  if (session.isJson) printJson(delivery);
  else print(deliveryLine(delivery!));
  if (delivery!.status !== 'SUCCEEDED') process.exitCode = EXIT_CODES.failed;
}
