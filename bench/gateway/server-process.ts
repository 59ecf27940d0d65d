/** A process that runs one server. */
import { serve } from '../support/child.ts';
import type { NodeServer, Server, ServerOptions, Usage } from './server.ts';

export type ServerMethods = typeof methods;

// The peers aren't dependencies of the project, so the project's code can't import them by name.
const FILES: Record<NodeServer, string> = {
  tollgate: './tollgate.ts',
  '@x402/express': '../peers/x402-express.mjs',
  '@x402/hono': '../peers/x402-hono.mjs',
};

let server: Server;

const methods = {
  /** Returns the URL. */
  async open(name: NodeServer, options: ServerOptions): Promise<string> {
    const { createServer } = (await import(FILES[name])) as { createServer(options: ServerOptions): Promise<Server> };
    server = await createServer(options);
    return server.url;
  },
  usage(): Usage {
    const { user, system } = process.cpuUsage();
    const counts = server.counts?.() ?? { statements: 0, commits: 0 };
    return { ...counts, cpuMicroseconds: user + system, rssBytes: process.memoryUsage.rss() };
  },
  stop: () => server.stop(),
};

serve(methods);
