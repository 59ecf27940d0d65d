import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import type { ResponseMemory } from '../upstream/call.ts';
import type { Headers } from '../upstream/headers.ts';
import { hasBody } from '../upstream/request-body.ts';
import { type RpcId, readMessage } from './message.ts';
import { readPost } from './read-post.ts';

/** A request to an MCP endpoint. `body`: what the upstream gets, or null if there is no body. */
export type McpRequest = { kind: 'call'; id: RpcId; body: Buffer } | { kind: 'free'; body: Buffer | null };

/**
 * Reads a request to an MCP endpoint (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports) and
 * determines whether it has to be paid for.
 *
 * @throws AppError if the gateway can't tell; see `readPost` and `readMessage`.
 */
export async function readMcpRequest({ method, raw }: FastifyRequest, memory: ResponseMemory): Promise<McpRequest> {
  if (method !== 'POST') {
    // An upstream could read it as a message.
    if (hasBody(raw))
      throw new AppError('BAD_REQUEST', { detail: `A ${method} request to this endpoint has no body.` });
    return { kind: 'free', body: null };
  }
  const bytes = await readPost(raw, memory);
  const message = readMessage(bytes);
  return message.kind === 'call' ? { ...message, body: bytes } : { kind: 'free', body: Buffer.from(message.text) };
}

/** The headers for the upstream. They describe the body that it gets, which may differ from the one that arrived. */
export function mcpHeaders(headers: Headers, { kind, body }: McpRequest): Headers {
  const { 'content-digest': digest, ...others } = headers;
  if (body === null) return headers;
  const length = { 'content-length': String(body.length) };
  if (kind === 'free') return { ...others, ...length, 'content-type': 'application/json' };
  // The gateway has to read the response. If it can't, the call is charged.
  return { ...headers, ...length, 'accept-encoding': 'identity' };
}
