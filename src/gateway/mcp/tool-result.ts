import type { UpstreamResponse } from '../upstream/call.ts';
import { messagesWith } from './event-stream.ts';
import { elementsOf, membersOf, parseScalar } from './json-text.ts';

/** The largest batch that is read. A single request has a single response. */
const MAX_BATCH = 100;
/** How many messages that could be the response are read. More would take too long. */
const MAX_MESSAGES = 10_000;
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
 * @param id the ID that the upstream got. JSON encoders don't escape it.
 * @returns a message for the seller, or undefined if the call didn't fail.
 */
export function toolFailure({ headers, body }: Pick<UpstreamResponse, 'headers' | 'body'>, id: string) {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') return undefined;
  const type = /^[^;\s]+/.exec(String(headers['content-type'] ?? ''))?.[0].toLowerCase();
  let count = 0;
  for (const text of textsIn(type, body, id)) {
    for (const message of messagesIn(text)) {
      count += 1;
      if (count > MAX_MESSAGES) return undefined;
      const outcome = outcomeIn(message, id);
      if (outcome) return outcome.failure;
    }
  }
  return undefined;
}

/** The JSON texts that could contain the response. */
function textsIn(type: string | undefined, body: Buffer, id: string): Iterable<string> {
  if (type === 'application/json') return [new TextDecoder().decode(body)];
  if (type !== 'text/event-stream') return [];
  // A server that couldn't read the request sends an error without the ID.
  return messagesWith(new TextDecoder().decode(body), [id, '"error"']);
}

function messagesIn(text: string): string[] {
  return text.trimStart().startsWith('[') ? (elementsOf(text, MAX_BATCH) ?? []) : [text];
}

/** Whether the call failed, if the message is the response to it. `failure` is undefined if it didn't fail. */
function outcomeIn(message: string, id: string): { failure: string | undefined } | undefined {
  const members = membersOf(message, MEMBERS);
  if (!members || members.method !== undefined) return undefined;
  const error = members.error === 'null' ? undefined : members.error;
  // A server that couldn't read the request doesn't know its ID.
  const isUnknown = members.id === undefined || members.id === 'null';
  if (isUnknown ? error === undefined : parseScalar(members.id) !== id) return undefined;
  if (error !== undefined) return { failure: errorMessage(error) };
  return members.result === undefined ? undefined : { failure: resultMessage(members.result) };
}

function errorMessage(error: string): string {
  const code = parseScalar(membersOf(error, ['code'])?.code);
  return `The MCP server responded with the JSON-RPC error ${typeof code === 'number' ? code : '(no code)'}.`;
}

function resultMessage(result: string): string | undefined {
  const isError = membersOf(result, ['isError'])?.isError === 'true';
  return isError ? 'The tool call’s result has `isError: true`.' : undefined;
}
