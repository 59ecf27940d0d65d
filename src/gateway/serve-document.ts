import type { FastifyRequest } from 'fastify';
import { notFound } from '../errors.ts';
import { isId } from '../ids.ts';
import type { Document, DocumentsOf } from './discovery/documents.ts';
import type { PaidRequest } from './payment/paid-request.ts';
import { busyRefusal } from './payment/refusals.ts';
import type { BufferedResponse } from './payment/response-memory.ts';
import { publicAddressOf } from './routing/public-address.ts';
import type { GatewayResponse } from './upstream/gateway-response.ts';

const FRESH_SECONDS = 60;

type Options = {
  documentsOf: DocumentsOf;
  publicUrl: string | undefined;
  /** Looks something up once a database connection of the client address's share is free. */
  lookUp: PaidRequest['lookUp'];
  /** Opens the request's share of the response memory. */
  memoryFor(accountId: string): BufferedResponse;
  /** Closes the connection. */
  end(): void;
};

/** Responds with a document about the project's endpoints. An endpoint at the same path takes precedence. */
export async function serveDocument(
  request: FastifyRequest,
  projectId: string,
  path: string,
  { documentsOf, publicUrl, memoryFor, lookUp, end }: Options,
): Promise<GatewayResponse> {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const reader = { address: request.ip, baseOf: () => publicAddressOf(request, projectId, publicUrl).base };
  const isPossible = isRead && isId('Project', projectId);
  const document = isPossible ? await lookUp(() => documentsOf(projectId, path, reader)) : undefined;
  if (!document) throw notFound();
  const response = documentResponse(document, request.raw.headers['if-none-match']);
  if (request.method === 'HEAD') return response;
  // Documents are kept per project, so each project counts as a separate account.
  const memory = memoryFor(projectId);
  memory.mayDrop(end);
  if (!memory.take(response.body.length)) throw busyRefusal({});
  return response;
}

/** The response with a document, or 304 if the client has it already (RFC 9110 §13.1.2). */
function documentResponse({ body, contentType, etag }: Document, ifNoneMatch?: string): GatewayResponse {
  const headers = { etag, 'cache-control': `public, max-age=${FRESH_SECONDS}` };
  const known = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  if (known.includes(etag) || known.includes('*')) return { statusCode: 304, headers, body: '' };
  return { statusCode: 200, headers: { ...headers, 'content-type': contentType }, body };
}
