/** A process that runs one server. */
import { serve } from '../support/child.ts';
import { countStatements } from '../support/statements.ts';
import type { Server, ServerName, ServerOptions, Usage } from './server.ts';

export type ServerMethods = typeof methods;

const counts = countStatements();
let server: Server;

const methods = {
  /** Returns the URL. */
  async open(name: ServerName, options: ServerOptions): Promise<string> {
    const { createServer } =
      name === 'tollgate' ? await import('./tollgate.ts') : (await import('./peer.ts')).peerNamed(name);
    server = await createServer(options);
    return server.url;
  },
  usage(): Usage {
    const { user, system } = process.cpuUsage();
    return { ...counts(), cpuMicroseconds: user + system, rssBytes: process.memoryUsage.rss() };
  },
  stop: () => server.stop(),
};

serve(methods);
