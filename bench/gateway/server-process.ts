/** A process that runs one server. */
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { serve } from '../support/child.ts';
import { type NodeServer, type Server, type ServerOptions, type Usage, WITHOUT_PUBLIC_URL } from './server.ts';

export type ServerMethods = typeof methods;

// The peers aren't dependencies of the project, so the project's code can't import them by name.
const FILES: Record<NodeServer, string> = {
  tollgate: './tollgate.ts',
  [WITHOUT_PUBLIC_URL]: './tollgate.ts',
  '@x402/express': '../peers/x402-express.mjs',
  '@x402/hono': '../peers/x402-hono.mjs',
};

let server: Server;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

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
  /** The bytes in the heap and in buffers that are still in use. */
  async usedBytes(): Promise<number> {
    // The memory of buffers is freed a little later.
    for (let time = 0; time < 3; time++) {
      collectGarbage();
      await setTimeout(50);
    }
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  },
  stop: () => server.stop(),
};

serve(methods);
