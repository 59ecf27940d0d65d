import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import { contentSecurityPolicy, listStaticFiles, sendFile, wantsPage } from './static-files.ts';

const PREFIX = '/docs';

/**
 * Serves the documentation at `/docs/`: the pages that VitePress built, without `.html` in their URLs, and the files
 * that they link to.
 *
 * @param folder the built files. Without them, the server runs without the documentation.
 */
export async function registerDocs(app: FastifyInstance, { folder }: { folder: string }): Promise<void> {
  const files = await listStaticFiles(folder);
  const notFoundPage = files.get('404.html');
  if (!notFoundPage) {
    app.log.warn({ folder }, "the documentation hasn't been built, so it isn't served");
    return;
  }

  app.get(PREFIX, (_request, reply) => reply.redirect(`${PREFIX}/`, 302));
  app.get<{ Params: { '*': string } }>(`${PREFIX}/*`, (request, reply) => {
    const path = request.params['*'];
    const file = files.get(path) ?? files.get(/(^|\/)$/.test(path) ? `${path}index.html` : `${path}.html`);
    if (file) return sendFile(request, reply.headers(HEADERS), file);
    if (files.has(`${path}/index.html`)) return reply.redirect(`${PREFIX}/${path}/`, 302);
    if (!wantsPage(request) || path.startsWith('assets/')) throw new AppError('NOT_FOUND');
    return sendFile(request, reply.code(404).headers(HEADERS), notFoundPage);
  });
}

/** Allows only the site's own files. Inline styles are allowed because syntax highlighting uses them. */
const HEADERS = {
  'content-security-policy': contentSecurityPolicy(
    [
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ],
    `${PREFIX}/`,
  ),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};
