import { createParser } from 'eventsource-parser';
import type { UpstreamResponse } from '../upstream/call.ts';
import type { RpcId } from './call-id.ts';
import { elementsOf, membersOf, parseScalar } from './json-text.ts';

/** The largest batch that is read. A single request has a single response. */
const MAX_BATCH = 100;
const MEMBERS = ['id', 'method', 'result', 'error'] as const;

/**
 * Why a tool call failed, according to the MCP server: the JSON-RPC response to it is an error, or `isError` is true in
 * its result.
 *
 * Everything else counts as success: a task whose result isn't ready yet
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks), and also a response in which the
 * gateway can't find the result. A server may end a stream early and send the result to a later GET, which is free
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery).
 *
 * @param id the ID that the upstream got.
 * @returns a message for the seller, or undefined if the call didn't fail.
 */
export function toolFailure({ headers, body }: Pick<UpstreamResponse, 'headers' | 'body'>, id: RpcId) {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') return undefined;
  const type = /^[^;\s]+/.exec(String(headers['content-type'] ?? ''))?.[0].toLowerCase();
  if (type === 'application/json') return failureIn(new TextDecoder().decode(body), id)?.message;
  if (type !== 'text/event-stream') return undefined;
  for (const data of eventsIn(new TextDecoder().decode(body))) {
    const outcome = failureIn(data, id);
    if (outcome) return outcome.message;
  }
  return undefined;
}

/** Whether the call failed, if the text contains the response to it. `message` is undefined if it didn't fail. */
function failureIn(text: string, id: RpcId): { message: string | undefined } | undefined {
  const responses = text.trimStart().startsWith('[') ? (elementsOf(text, MAX_BATCH) ?? []) : [text];
  for (const response of responses) {
    const members = membersOf(response, MEMBERS);
    if (!members || members.method !== undefined) continue;
    const error = members.error === 'null' ? undefined : members.error;
    // A server that couldn't read the request doesn't know its ID.
    const isUnknown = members.id === undefined || members.id === 'null';
    if (isUnknown ? error === undefined : parseScalar(members.id) !== id) continue;
    if (error !== undefined) return { message: errorMessage(error) };
    if (members.result !== undefined) return { message: resultMessage(members.result) };
  }
  return undefined;
}

function errorMessage(error: string): string {
  const code = parseScalar(membersOf(error, ['code'])?.code);
  return `The MCP server responded with the JSON-RPC error ${typeof code === 'number' ? code : '(no code)'}.`;
}

function resultMessage(result: string): string | undefined {
  const isError = membersOf(result, ['isError'])?.isError === 'true';
  return isError ? 'The tool call’s result has `isError: true`.' : undefined;
}

/** The data of the messages in an event stream. */
function eventsIn(stream: string): string[] {
  const events: string[] = [];
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === undefined || event === 'message') events.push(data);
    },
  });
  parser.feed(stream);
  // The parser waits for what follows a carriage return, because a line feed after it isn't another line.
  if (stream.endsWith('\r')) parser.feed('\n');
  return events;
}
