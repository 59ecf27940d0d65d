import type { Command } from 'commander';
import type { EventType } from '../../events/types.ts';
import { CliSendTestEventDocument, CliWebhooksDocument } from '../../generated/cli-documents.ts';
import { deliveryLine, waitForResults } from '../deliveries.ts';
import { addExamples } from '../examples.ts';
import { EXIT_CODES } from '../failure.ts';
import { clock, eventTypeEnumOf, eventTypeNameOf, listOf, note, print, printJson, secondsOf } from '../output.ts';
import { failureOf } from '../sdk-failure.ts';
import { addServiceOptions, foundProject, openSession, type Session } from '../session.ts';

export function addTrigger(program: Command): void {
  const command = addServiceOptions(program.command('trigger'), {
    json: 'print JSON Lines: one line per delivery, or the event if the project has no active webhook',
  });
  addExamples(
    command,
    'tollgate trigger payment.settled',
    'tollgate trigger payment.failed --webhook wh_01jc9x2v5qe3w8k4m6n7p9r0st --timeout 60',
  )
    .argument('<type>', 'event type, such as payment.settled')
    .description('create a test event for all active webhooks and for `tollgate listen`')
    .option('--webhook <ids>', 'webhook IDs, separated by commas (default: all active webhooks in the project)')
    .option('--timeout <seconds>', 'how long to wait for results', '30')
    .action(async (type: string, _options, command: Command) => {
      const { webhook, timeout } = command.opts<{ webhook?: string; timeout: string }>();
      const typeName = eventTypeNameOf(type);
      const timeoutSeconds = secondsOf(timeout, '--timeout');
      const session = openSession(command);
      if (webhook) return sendTo(listOf(webhook), session, typeName, timeoutSeconds);
      const projectId = await session.projectId();
      const webhookIds = await activeWebhooks(session, projectId);
      if (webhookIds.length > 0) return sendTo(webhookIds, session, typeName, timeoutSeconds);
      return record(session, projectId, typeName);
    });
}

async function sendTo(webhookIds: string[], session: Session, typeName: EventType, timeoutSeconds: number) {
  const { client, signal, isJson } = session;
  const eventType = eventTypeEnumOf(typeName);
  const sent = await Promise.all(
    webhookIds.map((id) => client.run(CliSendTestEventDocument, { input: { id, eventType } }, signal)),
  );
  const deliveries = sent.map(({ sendWebhookTestEvent }) => sendWebhookTestEvent!.delivery);
  if (!isJson) note(`Sent ${typeName} to ${deliveries.length === 1 ? '1 webhook' : `${deliveries.length} webhooks`}.`);
  const results = await waitForResults(session, deliveries, timeoutSeconds);
  for (const delivery of results) isJson ? printJson(delivery) : print(deliveryLine(delivery));
  if (results.some(({ status }) => status !== 'SUCCEEDED')) process.exitCode = EXIT_CODES.failed;
}

/** Records an event that isn't sent to webhooks, but reaches everyone who is listening. */
async function record({ tollgate, signal, isJson }: Session, projectId: string, typeName: EventType) {
  const event = await tollgate.events
    .recordTest({ eventType: typeName }, { projectId, signal })
    .catch((error) => Promise.reject(failureOf(error)));
  if (isJson) return printJson(event);
  print(`${clock(new Date(event.timestamp))}  ${typeName.padEnd(24)}  ${event.id}`);
  note('The project has no active webhooks, so only `tollgate listen` and live feeds get this event.');
}

async function activeWebhooks({ client, signal }: Session, projectId: string): Promise<string[]> {
  const { project } = await client.run(CliWebhooksDocument, { projectId }, signal);
  const active = foundProject(project, projectId).webhooks.nodes.filter(({ isActive }) => isActive);
  return active.map(({ id }) => id);
}
