import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import type { ResponseMemory } from '../upstream/call.ts';
import type { Headers } from '../upstream/headers.ts';
import { hasBody } from '../upstream/request-body.ts';
import { readMessage } from './message.ts';
import type { MessageLimit } from './message-limit.ts';
import { noMemory, readPost } from './read-post.ts';

/**
 * A request to an MCP endpoint.
 *
 * - `body`: what the upstream gets, or null if there is no body
 * - `callId`: the ID of the call in it
 * - `digest`: SHA-256 in hex of what the buyer sent
 */
export type McpRequest =
  | { kind: 'call'; callId: string; digest: string; body: Buffer }
  | { kind: 'free'; callId?: undefined; digest?: undefined; body: Buffer | null };

/**
 * Reads a request to an MCP endpoint (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports) and
 * determines whether it has to be paid for.
 *
 * @param gone aborts when the client is no longer waiting.
 * @throws AppError if the gateway can't tell; see `readPost` and `readMessage`. `RATE_LIMITED` if the client address has sent
 *   too much.
 */
export async function readMcpRequest(
  { method, raw, ip }: FastifyRequest,
  memory: ResponseMemory,
  limit: MessageLimit,
  gone: AbortSignal,
): Promise<McpRequest> {
  if (method !== 'POST') {
    // An upstream could read it as a message.
    if (hasBody(raw))
      throw new AppError('BAD_REQUEST', { detail: `A ${method} request to this endpoint has no body.` });
    return { kind: 'free', body: null };
  }
  limit.check(ip);
  const waiting: { bytes: Buffer | undefined } = { bytes: await readPost(raw, memory) };
  const { length } = waiting.bytes!;
  await limit.take(ip, length);
  const forget = () => {
    waiting.bytes = undefined;
  };
  // A message that nobody waits for, or that had to make room for others, doesn't stay in memory until its turn.
  memory.mayDrop(forget);
  gone.addEventListener('abort', forget, { once: true });
  if (gone.aborted) forget();
  try {
    return await limit.inTurn(ip, length, () => {
      if (!waiting.bytes) throw noMemory();
      return requestOf(waiting.bytes);
    });
  } finally {
    gone.removeEventListener('abort', forget);
  }
}

function requestOf(bytes: Buffer): McpRequest {
  const message = readMessage(bytes);
  const body = Buffer.from(message.text);
  if (message.kind === 'free') return { kind: 'free', body };
  return { kind: 'call', callId: message.callId, digest: createHash('sha256').update(bytes).digest('hex'), body };
}

/** The headers for the upstream. They describe the body that it gets, which may differ from the one that arrived. */
export function mcpHeaders(headers: Headers, { kind, body }: McpRequest): Headers {
  const { 'content-digest': digest, ...others } = headers;
  // The gateway has to read responses to calls, and streams that can contain them. If it can't, the call is charged.
  const readable = { 'accept-encoding': 'identity' };
  if (body === null) return { ...headers, ...readable };
  const described = { ...others, 'content-length': String(body.length), 'content-type': 'application/json' };
  return kind === 'free' ? described : { ...described, ...readable };
}
