import { createHmac } from 'node:crypto';
import type { Command } from 'commander';
import type { Event } from '../../../packages/sdk/src/index.ts';
import { signedWebhookHeaders, webhookBody } from '../../delivery/send/webhook-request.ts';
import type { EventType } from '../../events/types.ts';
import { CliWebhookDocument, type EventType as EventTypeEnum } from '../../generated/cli-documents.ts';
import { VERSION } from '../../version.ts';
import { addExamples } from '../examples.ts';
import { Failure } from '../failure.ts';
import { request, requestUnverified } from '../http.ts';
import { followEvents } from '../live.ts';
import { clock, eventTypeNameOf, listOf, note, print, printJson, typeNameOf } from '../output.ts';
import { addServiceOptions, itemNotFound, openSession, type Session } from '../session.ts';

type Options = { forwardTo?: string; skipVerify?: boolean; events?: string; webhook?: string; printSecret?: boolean };
type Forwarded = { statusCode: number } | { error: string };

const FORWARD_TIMEOUT_MILLISECONDS = 15_000;

export function addListen(program: Command): void {
  const command = addServiceOptions(program.command('listen'), { json: 'print JSON Lines: one line per event' });
  addExamples(
    command,
    'tollgate listen --forward-to localhost:3000/hook',
    'tollgate listen --events payment.settled,payment.failed --json',
    'tollgate listen --print-secret',
  )
    .description('forward live events to a local port, signed like webhooks')
    .option('--forward-to <address>', 'where to send events, such as localhost:3000/hook (default: only print them)')
    .option('--skip-verify', 'accept any certificate from an https address in --forward-to, such as a self-signed one')
    .option(
      '--events <types>',
      'only events of these types, separated by commas, such as payment.settled,payment.failed',
    )
    .option('--webhook <id>', 'only events of the types that this webhook is subscribed to')
    .option('--print-secret', 'print the signing secret and exit')
    .action(async (_options, command: Command) => listen(openSession(command), command.opts<Options>()));
}

async function listen(session: Session, options: Options): Promise<void> {
  const { signal, isJson } = session;
  const target = options.forwardTo === undefined ? undefined : targetUrl(options.forwardTo);
  const webhook = options.webhook === undefined ? undefined : await findWebhook(session, options.webhook);
  const projectId = webhook?.projectId ?? (await session.projectId());
  const secret = sessionSecret(session.credential, projectId);
  if (options.skipVerify && target?.protocol !== 'https:')
    throw new Failure('usage', '--skip-verify needs an https:// address in --forward-to.');
  const send = options.skipVerify ? requestUnverified : request;
  if (options.printSecret) return isJson ? printJson({ secret }) : print(secret);

  const types = options.events ? listOf(options.events).map(eventTypeNameOf) : webhook?.types;
  const what = types ? types.join(', ') : 'all events';
  const greet = () => {
    note(`Listening for ${what} in ${projectId}. Press Ctrl-C to stop.`);
    if (target) note(`Forwarding to ${target.origin}, signed with ${secret}`);
  };

  const counts = { forwarded: 0, failed: 0 };
  for await (const event of followEvents(session, projectId, types, greet)) {
    if (!target) {
      if (isJson) printJson(event);
      else print(`${clock()}  ${event.type.padEnd(24)}  ${event.id}`);
      continue;
    }
    const startedAt = performance.now();
    const result = await forward(event, { url: target, send, secret }, signal);
    if (signal.aborted) break;
    const durationMs = Math.round(performance.now() - startedAt);
    const isOk = 'statusCode' in result && result.statusCode >= 200 && result.statusCode < 300;
    counts[isOk ? 'forwarded' : 'failed'] += 1;
    if (isJson) printJson({ eventId: event.id, type: event.type, ...result, durationMs });
    else {
      const outcome = 'statusCode' in result ? `${result.statusCode}  ${durationMs} ms` : result.error;
      print(`${clock()}  ${event.type.padEnd(24)}  ${event.id}  → ${outcome}`);
    }
  }
  if (target) note(`${counts.forwarded} forwarded, ${counts.failed} failed.`);
}

/** Sends an event with the same body and headers that the service sends to webhooks. A failure isn't retried. */
async function forward(
  event: Event,
  { url, send, secret }: { url: URL; send: typeof requestUnverified; secret: string },
  signal: AbortSignal,
): Promise<Forwarded> {
  const { id, version, test, timestamp, projectId, data } = event;
  const fields = { id, type: event.type, test, timestamp: new Date(timestamp), data: JSON.stringify(data) };
  const body = webhookBody(fields, projectId);
  const timestampSeconds = Math.floor(Date.now() / 1000);
  const userAgent = `Tollgate/${VERSION}`;
  try {
    const response = await send(url.href, {
      method: 'POST',
      headers: signedWebhookHeaders({ id, version, userAgent, timestampSeconds, body, secrets: [secret] }),
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(FORWARD_TIMEOUT_MILLISECONDS)]),
    });
    await response.body?.cancel();
    return { statusCode: response.status };
  } catch (error) {
    const { message } = error as Error;
    return { error: message.includes('self-signed') ? `${message} To accept it anyway, add --skip-verify.` : message };
  }
}

/**
 * Creates the signing secret. It depends only on the credential and the project, so users have to configure it only
 * once, and it doesn't reveal the credential.
 */
function sessionSecret(credential: string, projectId: string): string {
  return `whsec_${createHmac('sha256', credential).update(`tollgate listen v1 ${projectId}`).digest('base64')}`;
}

function targetUrl(text: string): URL {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new Failure('usage', `--forward-to must be an address such as localhost:3000/hook, not ${text}.`);
}

async function findWebhook(
  { client, signal }: Session,
  id: string,
): Promise<{ projectId: string; types: EventType[] | undefined }> {
  const { node } = await client.run(CliWebhookDocument, { id }, signal);
  if (node?.__typename !== 'Webhook') throw itemNotFound('Webhook', id);
  const isAll = node.eventTypes.includes('ALL');
  return { projectId: node.projectId, types: isAll ? undefined : (node.eventTypes as EventTypeEnum[]).map(typeNameOf) };
}
