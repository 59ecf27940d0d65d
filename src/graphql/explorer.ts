import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const QUERY = `# Welcome to Tollgate.
#
# Open "Headers" below and add your credential:
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

/** Whether this is a browser that requests the page, not a client that requests data. */
export function wantsExplorer({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && (headers.accept ?? '').includes('text/html');
}

/**
 * Creates the handler for the GraphQL explorer: a self-contained page without data. Its requests send their own
 * credential.
 */
export function createExplorer(): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  let page: Promise<Page> | undefined;
  return async (request, reply) => {
    page ??= renderPage();
    const { html, gzipped, etag } = await page;
    reply.headers({ etag, 'cache-control': 'no-cache', vary: 'accept, accept-encoding' });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    reply.type('text/html; charset=utf-8');
    // The page is several megabytes in size.
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(html);
    return reply.header('content-encoding', 'gzip').send(gzipped);
  };
}

async function renderPage(): Promise<Page> {
  // The package takes up about 30 MB of memory, and few processes ever serve the explorer.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL({ title: 'Tollgate GraphQL', defaultQuery: QUERY });
  const hash = createHash('sha256').update(html).digest('base64url');
  return { html, gzipped: await promisify(gzip)(html), etag: `"${hash}"` };
}
