import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptsGzip } from '../http/static-files.ts';

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

/** `html` is bytes, which all responses share. As text, each response would have its own copy, even if nobody reads it. */
type Page = { html: Buffer; gzipped: Buffer; etag: string; policy: string };

/** Whether this is a browser that requests the page, not a client that requests data. */
export function isBrowser({ method, headers }: FastifyRequest): boolean {
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
    const { html, gzipped, etag, policy } = await page;
    reply.headers({ ...HEADERS, 'content-security-policy': policy });
    reply.headers({ etag, 'cache-control': 'no-cache', vary: 'accept, accept-encoding' });
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    reply.type('text/html; charset=utf-8');
    // The page is several megabytes in size.
    if (!acceptsGzip(request)) return reply.send(html);
    return reply.header('content-encoding', 'gzip').send(gzipped);
  };
}

async function renderPage(): Promise<Page> {
  // The package takes up about 30 MB of memory, and few processes ever serve the explorer.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const html = renderGraphiQL({
    title: 'Tollgate GraphQL',
    defaultQuery: QUERY,
    // Otherwise, the credential stays in the browser's storage after the user has left.
    shouldPersistHeaders: false,
  });
  const hash = createHash('sha256').update(html).digest('base64url');
  const body = Buffer.from(html);
  return { html: body, gzipped: await promisify(gzip)(body), etag: `"${hash}"`, policy: contentSecurityPolicy(html) };
}

/**
 * Allows only the page's own scripts, its editor's workers, and this server's API. Inline styles are allowed because
 * the editor sets them.
 */
function contentSecurityPolicy(html: string): string {
  const scripts = Array.from(html.matchAll(/<script>(.*?)<\/script>/gs), ([, script]) => script!);
  const hashes = scripts.map((script) => createHash('sha256').update(script).digest('base64'));
  return [
    "default-src 'none'",
    ['script-src', ...hashes.map((hash) => `'sha256-${hash}'`)].join(' '),
    'worker-src blob:',
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};
