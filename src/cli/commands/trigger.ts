import type { Command } from 'commander';
import { CliSendTestEventDocument, CliWebhooksDocument } from '../../generated/cli-documents.ts';
import { deliveryLine, waitForResults } from '../deliveries.ts';
import { Failure } from '../failure.ts';
import { eventTypeOf, listOf, note, print, printJson, secondsOf } from '../output.ts';
import { addServiceOptions, foundProject, openSession, type Session } from '../session.ts';

export function addTrigger(program: Command): void {
  addServiceOptions(program.command('trigger'))
    .argument('<type>', 'event type, such as payment.settled')
    .description('send a test event and show the results')
    .option('--webhook <ids>', 'webhook IDs, separated by commas (default: all active webhooks in the project)')
    .option('--timeout <seconds>', 'how long to wait for results', '30')
    .action(async (kind: string, _options, command: Command) => {
      const { webhook, timeout } = command.opts<{ webhook?: string; timeout: string }>();
      await trigger(openSession(command), kind, webhook ? listOf(webhook) : undefined, secondsOf(timeout, '--timeout'));
    });
}

async function trigger(session: Session, kind: string, ids: string[] | undefined, timeoutSeconds: number) {
  const { client, signal, isJson } = session;
  const eventType = eventTypeOf(kind);
  const webhookIds = ids ?? (await activeWebhooks(session));
  const sent = await Promise.all(
    webhookIds.map((id) => client.run(CliSendTestEventDocument, { input: { id, eventType } }, signal)),
  );
  const deliveries = sent.map(({ sendWebhookTestEvent }) => sendWebhookTestEvent!.delivery);
  if (!isJson) note(`Sent ${kind} to ${deliveries.length === 1 ? '1 webhook' : `${deliveries.length} webhooks`}.`);
  const results = await waitForResults(session, deliveries, timeoutSeconds);
  for (const delivery of results) isJson ? printJson(delivery) : print(deliveryLine(delivery));
  if (results.some(({ status }) => status !== 'SUCCEEDED')) process.exitCode = 1;
}

async function activeWebhooks(session: Session): Promise<string[]> {
  const projectId = await session.projectId();
  const { project } = await session.client.run(CliWebhooksDocument, { projectId }, session.signal);
  const active = foundProject(project, projectId).webhooks.nodes.filter(({ isActive }) => isActive);
  if (active.length === 0)
    throw new Failure('refused', `Project ${projectId} has no active webhooks. Create one first.`);
  return active.map(({ id }) => id);
}
