import type { Command } from 'commander';
import {
  CliDeliveryDocument,
  type CliDeliveryQuery,
  CliResendDeliveryDocument,
  type DeliveryFilter,
  type DeliveryStatus,
} from '../../generated/cli-documents.ts';
import { deliveryLine, waitForResults } from '../deliveries.ts';
import { Failure } from '../failure.ts';
import { followDeliveries } from '../live.ts';
import { eventTypeOf, listOf, note, print, printJson, timeOf } from '../output.ts';
import { addServiceOptions, openSession, type Session } from '../session.ts';

type FilterOptions = { status?: string; eventType?: string; since?: string };
type ShownDelivery = Extract<NonNullable<CliDeliveryQuery['node']>, { __typename: 'Delivery' }>;

const STATUSES: readonly DeliveryStatus[] = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'SKIPPED'];

export function addDeliveries(program: Command): void {
  const deliveries = program.command('deliveries').description('watch, inspect and repeat deliveries');

  addServiceOptions(deliveries.command('tail'))
    .description('print deliveries as they change')
    .option('--status <list>', `only these: ${STATUSES.join(', ').toLowerCase()}`)
    .option('--event-type <list>', 'only of these events, such as payment.settled')
    .option('--since <time>', 'first those since then: an age such as 30m or 2h, or a time')
    .action((_options, command: Command) => tail(openSession(command), command.opts<FilterOptions>()));

  addServiceOptions(deliveries.command('show'))
    .argument('<id>', 'dlv_…')
    .description('print a delivery with all its attempts')
    .action((id: string, _options, command: Command) => show(openSession(command), id));

  addServiceOptions(deliveries.command('resend'))
    .argument('<id>', 'dlv_…')
    .description('send a delivery again and show how it went')
    .option('--timeout <seconds>', 'how long to wait for the result', '30')
    .action((id: string, _options, command: Command) =>
      resend(openSession(command), id, Number(command.opts<{ timeout: string }>().timeout)),
    );
}

/** @throws Failure naming the option that is wrong. */
export function deliveryFilter({ status, eventType, since }: FilterOptions): DeliveryFilter {
  return {
    ...(status && { status: listOf(status).map(statusOf) }),
    ...(eventType && { eventTypes: listOf(eventType).map(eventTypeOf) }),
    ...(since && { since: timeOf(since, '--since') }),
  };
}

function statusOf(text: string): DeliveryStatus {
  const status = STATUSES.find((name) => name === text.toUpperCase());
  if (status) return status;
  throw new Failure('usage', `There is no status "${text}". Use one of ${STATUSES.join(', ').toLowerCase()}.`);
}

async function tail(session: Session, options: FilterOptions): Promise<void> {
  const projectId = await session.projectId();
  const greet = () => note(`Watching the deliveries of ${projectId}. Ctrl-C ends it.`);
  for await (const delivery of followDeliveries(session, projectId, deliveryFilter(options), greet)) {
    if (session.isJson) printJson(delivery);
    else print(deliveryLine(delivery));
  }
}

async function show({ client, signal, isJson }: Session, id: string): Promise<void> {
  const { node } = await client.run(CliDeliveryDocument, { id }, signal);
  if (node?.__typename !== 'Delivery') throw new Failure('refused', `There is no delivery ${id} that you may see.`);
  if (isJson) return printJson(node);
  print(deliveryLine(node));
  for (const attempt of node.attempts) print(attemptLines(attempt));
}

function attemptLines(attempt: ShownDelivery['attempts'][number]): string {
  const { number, trigger, startedAt, durationMs, statusCode, errorClass, errorMessage, responseBody } = attempt;
  const by = trigger === 'MANUAL' ? '  by hand' : '';
  const head = `  ${number}.  ${startedAt}  ${statusCode ?? errorClass}  ${durationMs} ms${by}`;
  const body = responseBody ? `answer: ${responseBody.replaceAll(/\s+/g, ' ').slice(0, 500)}` : undefined;
  return [head, errorMessage, body].filter(Boolean).join('\n      ');
}

async function resend(session: Session, id: string, timeoutSeconds: number): Promise<void> {
  const { resendDelivery } = await session.client.run(CliResendDeliveryDocument, { input: { id } }, session.signal);
  const [delivery] = await waitForResults(session, [resendDelivery!.delivery], timeoutSeconds);
  if (session.isJson) printJson(delivery);
  else print(deliveryLine(delivery!));
  if (delivery!.status !== 'SUCCEEDED') process.exitCode = 1;
}
