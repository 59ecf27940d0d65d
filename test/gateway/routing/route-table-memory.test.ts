import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pino from 'pino';
import { expect, test } from 'vitest';
import type { Bus } from '../../../src/bus/bus.ts';
import type { Database } from '../../../src/database/client.ts';
import { openRouteTable } from '../../../src/gateway/routing/route-table.ts';
import { splitTarget } from '../../../src/gateway/routing/split-target.ts';
import { newId } from '../../../src/ids.ts';

const MAX_BYTES = 16 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Keeps listeners by topic, as the real bus does. */
function createBus(): Bus {
  const listeners = new Map<string, Set<() => void>>();
  return {
    publish() {},
    publishHereFirst() {},
    close: async () => {},
    subscribe(topic, listener) {
      listeners.set(topic, new Set([listener]));
      return () => listeners.delete(topic);
    },
  };
}

test.each([
  ['short', '/path'],
  ['long', `/path?${'x'.repeat(7_000)}`],
])(
  'projects that nobody has, which anyone can request, take no more memory than all projects may take, with %s URLs',
  async (_, rest) => {
    const table = await openRouteTable({
      // There are no rows in this database.
      db: { pool: { query: async () => ({ rows: [] }) } as unknown as Database['pool'] },
      bus: createBus(),
      log: pino({ level: 'silent' }),
      networks: [],
      ownHosts: undefined,
      secretBox: { open: () => '' },
      maxBytes: MAX_BYTES,
    });
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let count = 0; count < 20_000; count++) {
      const { projectId } = splitTarget(`/gateway/${newId('Project')}${rest}`);
      await table.find(projectId, ['path'], 'GET');
    }
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(1.1 * MAX_BYTES);
    table.close();
  },
);
