import { AppError } from '../../errors.ts';
import { createCallId, isCallId, isRpcId, MAX_ID_BYTES } from './call-id.ts';
import { isJson } from './json-grammar.ts';
import { elementsOf, membersOf, parseScalar } from './json-text.ts';

/**
 * What a POST to an MCP endpoint contains. `text`: the message to send instead of the one that arrived. `callId`: the ID
 * that the call has in it.
 */
type Message = { kind: 'call'; callId: string; text: string } | { kind: 'free'; text: string };

/** The only method that buyers pay for. */
const PAID_METHOD = 'tools/call';
/** A batch counts as one request, so it can't be large. */
const MAX_BATCH = 20;
const MEMBERS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const;
const CANCELLATION = 'notifications/cancelled';
/** All of MCP's methods have names like this. */
const METHOD_NAME = /^[\x21-\x7e]+$/;
/** Normalizing a name of a megabyte can take minutes. */
const MAX_METHOD_CHARACTERS = 255;

/**
 * Reads a JSON-RPC message, or a batch of them, and determines whether it has to be paid for.
 *
 * Servers can read the same text in different ways. For example, some use the first of two members called `method`, and
 * others the last, or one called `Method`. A server must never find a tool call in a message that is free, or another ID
 * in a call, so messages are written again, with each known member once. Their values are copied as they are, except for
 * the ID of a call; see `createCallId`.
 *
 * @throws AppError `BAD_REQUEST` if it isn't a message, or is a batch that contains a tool call.
 */
export function readMessage(bytes: Uint8Array): Message {
  const text = decode(bytes);
  if (!text.trimStart().startsWith('[')) return read(text);
  const elements = elementsOf(text, MAX_BATCH);
  if (!elements) throw refused(`A batch can have at most ${MAX_BATCH} messages.`);
  if (elements.length === 0) throw refused('A batch must have at least one message.');
  const messages = elements.map((element) => {
    const message = read(element);
    if (message.kind === 'free') return message.text;
    throw refused(`Send each \`${PAID_METHOD}\` in its own request, because each one is paid for separately.`);
  });
  return { kind: 'free', text: `[${messages.join()}]` };
}

/** @returns text that is valid JSON. */
function decode(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (isJson(text)) return text;
  } catch {
    // The bytes aren't UTF-8.
  }
  throw refused("The request body isn't valid UTF-8-encoded JSON.");
}

/** @param text valid JSON. */
function read(text: string): Message {
  const members = membersOf(text, MEMBERS);
  if (!members || parseScalar(members.jsonrpc) !== '2.0') throw notMessage();
  const id = parseScalar(members.id);
  if (members.id !== undefined && !isRpcId(id)) throw refused('The `id` of a message must be a string or a number.');
  const { method: quotedMethod } = members;
  if (quotedMethod === undefined) {
    const isResponse = id !== undefined && (members.result === undefined) !== (members.error === undefined);
    if (!isResponse || members.params !== undefined) throw notMessage();
    return { kind: 'free', text: write(members) };
  }
  const method = parseScalar(quotedMethod);
  if (typeof method !== 'string' || members.result !== undefined || members.error !== undefined) throw notMessage();
  if (method.length > MAX_METHOD_CHARACTERS) {
    throw refused(`The \`method\` of a message can have at most ${MAX_METHOD_CHARACTERS} characters.`);
  }
  if (isPaid(method)) {
    if (members.id === undefined)
      throw refused(`A \`${PAID_METHOD}\` must have an \`id\`. Otherwise, it has no response.`);
    if (Buffer.byteLength(members.id) > MAX_ID_BYTES) {
      throw refused(`The \`id\` of a \`${PAID_METHOD}\` can have at most ${MAX_ID_BYTES} bytes.`);
    }
    const callId = createCallId(members.id);
    const own = { ...members, id: JSON.stringify(callId), method: JSON.stringify(method) };
    return { kind: 'call', callId, text: write(own) };
  }
  // Servers can reveal IDs, for example, in log messages.
  if (isCallId(id) || (method === CANCELLATION && hasCallId(members.params))) {
    throw refused("A free message can't have the ID of a tool call.");
  }
  if (!METHOD_NAME.test(method)) throw refused('The `method` of a message must consist of printable ASCII characters.');
  return { kind: 'free', text: write({ ...members, method: JSON.stringify(method) }) };
}

/**
 * Some servers may ignore case, spaces, or control characters.
 *
 * @param method at most `MAX_METHOD_CHARACTERS`.
 */
function isPaid(method: string): boolean {
  const plain = method.normalize('NFKC').replace(/[^\x21-\x7e]/g, '');
  return plain.toLowerCase() === PAID_METHOD;
}

function write(members: Partial<Record<(typeof MEMBERS)[number], string>>): string {
  const known = MEMBERS.flatMap((name) => (members[name] === undefined ? [] : `"${name}":${members[name]}`));
  return `{${known.join()}}`;
}

/** Whether any string in the text is the ID of a call. */
function hasCallId(text = ''): boolean {
  return (text.match(/"(?:[^"\\]|\\.)*"/g) ?? []).some((quoted) => isCallId(parseScalar(quoted)));
}

function notMessage(): AppError {
  return refused("The request body isn't a JSON-RPC 2.0 message.");
}

function refused(detail: string): AppError {
  return new AppError('BAD_REQUEST', { detail: `${detail} You weren't charged.` });
}
