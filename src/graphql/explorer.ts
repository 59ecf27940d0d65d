import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const QUERY = `# Welcome to Tollgate.
#
# Open "Headers" below and put in your credential:
#   { "Authorization": "Bearer <token or API key>" }

query Start {
  viewer {
    tier
    limits { requestsPerMinute maxConnectors connectorCount }
  }
  projects(first: 10) {
    nodes { id name walletAddress }
  }
}
`;

type Page = { html: string; gzipped: Buffer; etag: string };

/** Whether a browser asks for the page and not a client for data. */
export function wantsExplorer({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && (headers.accept ?? '').includes('text/html');
}

/**
 * Makes the handler that answers the GraphQL explorer: one page with all it needs in it and no data. What it asks for
 * carries its own credential.
 */
export function createExplorer(): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  let page: Promise<Page> | undefined;
  return async (request, reply) => {
    page ??= renderPage();
    const { html, gzipped, etag } = await page;
    reply.headers({ etag, 'cache-control': 'no-cache', vary: 'accept, accept-encoding' });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    reply.type('text/html; charset=utf-8');
    // It is some megabytes large.
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(html);
    return reply.header('content-encoding', 'gzip').send(gzipped);
  };
}

async function renderPage(): Promise<Page> {
  // Some 30 MB, for which few processes are ever asked.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL({ title: 'Tollgate GraphQL', defaultQuery: QUERY });
  const hash = createHash('sha256').update(html).digest('base64url');
  return { html, gzipped: await promisify(gzip)(html), etag: `"${hash}"` };
}
