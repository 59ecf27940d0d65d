import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { type McpRequest, mcpHeaders } from './mcp/mcp-request.ts';
import type { PaidRoute } from './routing/load-routes.ts';
import type { PublicAddress } from './routing/public-address.ts';
import { withCredentials } from './upstream/credentials.ts';
import { checkHeaderSize, type Headers, requestHeaders } from './upstream/headers.ts';
import { checkFraming, hasBody } from './upstream/request-body.ts';

/** @throws AppError if the request can't be passed on. */
export function checkRequest({ raw }: FastifyRequest, { forwardedHeaders }: PaidRoute): void {
  checkFraming(raw);
  checkHeaderSize(raw.headers, forwardedHeaders);
}

/**
 * The headers that the upstream gets.
 *
 * @param mcp what the gateway has read, if the endpoint is an MCP server.
 * @throws AppError `UNAVAILABLE` if the seller's headers can't be decrypted.
 */
export function headersFor(
  request: FastifyRequest,
  { forwardedHeaders, credentials }: PaidRoute,
  { host, protocol }: PublicAddress,
  mcp: McpRequest | undefined,
): Headers {
  const headers = requestHeaders(request.raw.headers, forwardedHeaders, { clientAddress: request.ip, host, protocol });
  if (!hasBody(request.raw)) delete headers['content-length'];
  const all = withCredentials(headers, credentials());
  return mcp ? mcpHeaders(all, mcp) : all;
}

/** The body that the upstream gets. Null if the request has no body. */
export function bodyFor({ raw }: FastifyRequest, mcp: McpRequest | undefined): Readable | null {
  if (mcp) return mcp.body && Readable.from([mcp.body]);
  return hasBody(raw) ? raw : null;
}
