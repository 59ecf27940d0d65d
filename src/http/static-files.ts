import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

// A quality of zero means that the client doesn't accept it (RFC 9110, section 12.5.3).
const ACCEPTS_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

/** A built file. It is read the first time it is needed, and then kept in memory. */
export type StaticFile = { read: () => Promise<Content>; mediaType: string; isHashed: boolean };

type Content = {
  body: Buffer;
  /** Compresses the body the first time. */
  gzipped: () => Promise<Buffer>;
  etag: string;
};

/**
 * Returns a folder's files by their path within the folder, such as `assets/index-1a2b3c4d.js`. Leaves out hidden
 * files, which contain information about the build. A folder that doesn't exist has no files.
 */
export async function listStaticFiles(folder: string): Promise<Map<string, StaticFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join('/'))
    .filter((path) => !path.startsWith('.'));
  return new Map(
    files.map((path) => [
      path,
      {
        read: once(async () => toContent(await readFile(join(folder, path)))),
        mediaType: MEDIA_TYPES[extname(path)] ?? 'text/plain; charset=utf-8',
        // Vite puts a content hash into these file names.
        isHashed: path.startsWith('assets/'),
      },
    ]),
  );
}

/** Sends a file, compressed if the client accepts that, or 304 if the client has it. */
export async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { read, mediaType, isHashed }: StaticFile,
): Promise<FastifyReply> {
  const { body, gzipped, etag } = await read();
  reply.headers({
    etag,
    vary: 'accept-encoding',
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
  if (reply.statusCode === 200 && request.headers['if-none-match'] === etag) return reply.code(304).send();
  reply.type(mediaType);
  if (!acceptsGzip(request)) return reply.send(body);
  return reply.header('content-encoding', 'gzip').send(await gzipped());
}

/** Whether the client accepts a compressed response. */
export function acceptsGzip({ headers }: FastifyRequest): boolean {
  return ACCEPTS_GZIP.test(headers['accept-encoding'] ?? '');
}

/** Whether the response is for a browser to display. */
export function wantsPage({ headers }: FastifyRequest): boolean {
  return (headers.accept ?? '').includes('text/html');
}

/** A document that is written the first time it is needed, and then kept in memory. */
export function lazyFile(write: () => Promise<Buffer>, mediaType: string): StaticFile {
  return { read: once(async () => toContent(await write())), mediaType, isHashed: false };
}

/**
 * The content security policy of pages whose scripts are all in one folder. It is two policies, and browsers require that a
 * script meets both: `'self'` also covers what sellers' APIs return under `/gateway/`, but can't be limited to a path. A
 * host can, and any host is allowed there, because the server doesn't know all of its own names. The schemes are needed
 * for Safari, which ignores `*` without one.
 *
 * @param directives the directives besides the ones about scripts.
 * @param folder such as `/console/`.
 */
export function contentSecurityPolicy(directives: readonly string[], folder: string): string {
  const policy = ["default-src 'none'", "script-src 'self'", ...directives, "base-uri 'none'"].join('; ');
  return `${policy}, script-src http://*:*${folder} https://*:*${folder}`;
}

function toContent(body: Buffer): Content {
  const hash = createHash('sha256').update(body).digest('base64url');
  return { body, gzipped: once(() => promisify(gzip)(body)), etag: `"${hash}"` };
}

/** Remembers the first result, but not a failure, such as too many open files. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= make().catch((error) => {
      result = undefined;
      throw error;
    });
    return result;
  };
}
