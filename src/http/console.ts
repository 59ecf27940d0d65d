import type { FastifyInstance } from 'fastify';
import { AppError } from '../errors.ts';
import type { ConsoleSettings } from './console-sign-in.ts';
import { contentSecurityPolicy, listStaticFiles, sendFile, wantsPage } from './static-files.ts';

const PREFIX = '/console';

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
  const files = await listStaticFiles(folder);
  const page = files.get('index.html');
  if (!page) {
    app.log.warn({ folder }, "the console hasn't been built, so it isn't served");
    return;
  }
  // The files are read now so that pages keep working while the console is being rebuilt.
  await Promise.all(Array.from(files.values(), ({ read }) => read()));
  const headers = {
    'content-security-policy': policyFor(settings),
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
    const file = files.get(request.params['*']);
    if (file && file !== page) return sendFile(request, reply, file);
    // Never return the page for a missing file, because the browser would try to run HTML as a script.
    if (!file && request.params['*'].startsWith('assets/')) throw new AppError('NOT_FOUND');
    return sendFile(request, reply.headers(headers), page);
  });
}

/**
 * Allows only this server's own files and API, and calls to the identity provider. Inline styles are allowed because
 * Mantine sets custom properties on elements.
 */
function policyFor({ signIn }: ConsoleSettings): string {
  const issuers = signIn.kind === 'oidc' ? signIn.origins : [];
  const directives = [
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    ["connect-src 'self'", ...issuers].join(' '),
    "form-action 'self'",
    "frame-ancestors 'none'",
  ];
  return contentSecurityPolicy(directives, `${PREFIX}/`);
}
