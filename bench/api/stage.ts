import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withConnection } from '../../src/database/connection.ts';
import { type Child, startChild } from '../support/child.ts';
import { openPostgres } from '../support/postgres.ts';
import { percentile } from '../support/statistics.ts';
import { createData, type Data } from './data.ts';
import type { ApiRequest, Load, LoadMethods } from './load.ts';
import { NEW_PATHS } from './requests.ts';
import type { ServerName, Usage } from './server.ts';
import type { ServerMethods } from './server-process.ts';

export type Contestant = { name: ServerName; url: string; usage(): Promise<Usage> };

/** Values are per request, except for the rate. Times are in milliseconds unless the name says otherwise. */
export type Measurement = {
  perSecond: number;
  cpuMicroseconds: number;
  databaseCpuMicroseconds: number;
  statements: number;
  p50: number;
  p99: number;
};

export type Contest = {
  data: Data;
  contestants: readonly Contestant[];
  measure(contestant: Contestant, request: ApiRequest, load: Pick<Load, 'connections' | 'limit'>): Promise<Measurement>;
};

/** Makes room for the endpoints that the next server creates. */
async function deleteNewEndpoints(databaseUrl: string): Promise<void> {
  await withConnection(databaseUrl, 'bench', (client) =>
    client.query(`DELETE FROM "Endpoint" WHERE starts_with("path", $1)`, [NEW_PATHS]),
  );
}

/** The resources that all parts share: PostgreSQL and clients. */
export async function openStage({ core, cpuProfile }: { core: number | undefined; cpuProfile: string | undefined }) {
  const postgres = await openPostgres();
  const clients = startChild<LoadMethods>(new URL('load.ts', import.meta.url));
  const env: Record<string, string> = cpuProfile ? { CPU_PROFILE: cpuProfile } : {};

  /** Runs `use` with newly started servers on one database. */
  async function withServers<T>(names: readonly ServerName[], use: (contest: Contest) => Promise<T>): Promise<T> {
    const database = await postgres.createDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'));
    await chmod(dataDir, 0o711);
    const closers: (() => Promise<unknown>)[] = [];

    async function startServer(name: ServerName): Promise<Contestant> {
      const child: Child<ServerMethods> = startChild(new URL('server-process.ts', import.meta.url), env, core);
      closers.push(async () => {
        await child.call('stop').catch(() => {});
        await child.end();
      });
      const url = await child.call('open', name, { databaseUrl: database.url, dataDir });
      return { name, url, usage: () => child.call('usage') };
    }

    try {
      const data = await createData({ databaseUrl: database.url, dataDir });
      const contestants: Contestant[] = [];
      for (const name of names) contestants.push(await startServer(name));

      const measure: Contest['measure'] = async ({ url, usage }, request, load) => {
        await deleteNewEndpoints(database.url);
        const look = async () => ({ ...(await usage()), database: postgres.cpuMicroseconds() });
        const before = await look();
        const result = await clients.call('load', { ...load, url, request, token: data.token });
        const after = await look();
        const { count, seconds, latencies } = result;
        const each = (what: keyof typeof before) => (after[what] - before[what]) / count;
        return {
          perSecond: count / seconds,
          cpuMicroseconds: each('cpuMicroseconds'),
          databaseCpuMicroseconds: each('database'),
          statements: each('statements'),
          p50: percentile(latencies, 0.5),
          p99: percentile(latencies, 0.99),
        };
      };
      return await use({ data, contestants, measure });
    } finally {
      for (const close of closers.reverse()) await close();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    }
  }

  return {
    withServers,
    async close(): Promise<void> {
      await clients.end();
      await postgres.stop();
    },
  };
}
