import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { ConsoleSettings } from './console-sign-in.ts';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};
const PREFIX = '/console';

type Asset = {
  body: Buffer;
  /** Compresses the body the first time. */
  gzipped: () => Promise<Buffer>;
  mediaType: string;
  etag: string;
  isHashed: boolean;
};

/**
 * Serves the web console at `/console/`: the files that Vite built, the console's settings, and the console's page for
 * every path that the console routes itself. Redirects browsers from `/` to the console.
 *
 * @param folder the built files. Without them, the server runs without the console.
 */
export async function registerConsole(
  app: FastifyInstance,
  { folder, settings }: { folder: string; settings: ConsoleSettings },
): Promise<void> {
  const assets = await readAssets(folder);
  const page = assets.get('index.html');
  if (!page) {
    app.log.warn({ folder }, 'the console is not built, so it is not served');
    return;
  }
  const headers = {
    'content-security-policy': contentSecurityPolicy(settings),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  };

  app.get('/', (request, reply) => {
    if (!wantsPage(request)) throw new AppError('NOT_FOUND');
    return reply.header('vary', 'accept').redirect(`${PREFIX}/`, 302);
  });
  app.get(PREFIX, (_request, reply) => reply.redirect(`${PREFIX}/`, 302));
  app.get(`${PREFIX}/config.json`, (_request, reply) => reply.send(settings));
  app.get<{ Params: { '*': string } }>(`${PREFIX}/*`, (request, reply) => {
    const asset = assets.get(request.params['*']);
    if (asset && asset !== page) return send(request, reply, asset);
    // Never return the page for a missing file, because the browser would try to run HTML as a script.
    if (!asset && request.params['*'].startsWith('assets/')) throw new AppError('NOT_FOUND');
    return send(request, reply.headers(headers), page);
  });
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return (headers.accept ?? '').includes('text/html');
}

async function send(request: FastifyRequest, reply: FastifyReply, asset: Asset): Promise<FastifyReply> {
  const { body, gzipped, mediaType, etag, isHashed } = asset;
  reply.headers({
    etag,
    vary: 'accept-encoding',
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
  if (request.headers['if-none-match'] === etag) return reply.code(304).send();
  reply.type(mediaType);
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(body);
  return reply.header('content-encoding', 'gzip').send(await gzipped());
}

async function readAssets(folder: string): Promise<Map<string, Asset>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile() && extname(entry.name) in MEDIA_TYPES);
  const assets = files.map(async ({ parentPath, name }): Promise<[string, Asset]> => {
    const file = join(parentPath, name);
    const path = relative(folder, file).split(sep).join('/');
    const body = await readFile(file);
    const hash = createHash('sha256').update(body).digest('base64url');
    const asset = {
      body,
      gzipped: once(() => promisify(gzip)(body)),
      mediaType: MEDIA_TYPES[extname(name)]!,
      etag: `"${hash}"`,
      // Vite puts a content hash into these file names.
      isHashed: path.startsWith('assets/'),
    };
    return [path, asset];
  });
  return new Map(await Promise.all(assets));
}

/** Remembers the first result. */
function once<T>(make: () => T): () => T {
  let result: T | undefined;
  return () => {
    result ??= make();
    return result;
  };
}

/**
 * Allows only this server's own files and API, and calls to the identity provider. Inline styles are allowed because
 * Mantine sets custom properties on elements.
 */
function contentSecurityPolicy({ signIn }: ConsoleSettings): string {
  const issuers = signIn.kind === 'oidc' ? signIn.origins : [];
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    ["connect-src 'self'", ...issuers].join(' '),
    // The API explorer and reference are pages on this server.
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}
