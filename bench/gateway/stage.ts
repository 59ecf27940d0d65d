import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from '../support/child.ts';
import { openPostgres } from '../support/postgres.ts';
import { percentile } from '../support/statistics.ts';
import { checkBooks } from './books.ts';
import type { BuyerMethods, Load, OpenStreams, StreamResult } from './buyers.ts';
import { startNginx } from './nginx.ts';
import { type Terms, termsOf } from './payment-header.ts';
import { type NodeServer, type ServerName, type StreamName, type Usage, WITHOUT_PUBLIC_URL } from './server.ts';
import type { ServerMethods } from './server-process.ts';
import { createShop } from './shop.ts';
import type { StubMethods } from './stub.ts';

const NETWORK = 'eip155:84532';
const SELLER = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';

export type Contestant = {
  name: ServerName;
  /** The URL of the paid route. */
  url: string;
  /** The terms of a paid request. nginx has none, because it only returns 402 responses. */
  terms?: Terms;
  usage(): Promise<Usage>;
  /** The bytes in use after a garbage collection. nginx doesn't report them. */
  usedBytes?(): Promise<number>;
};

/** Values are per request, except for the rate. */
export type Measurement = {
  perSecond: number;
  cpuMicroseconds: number;
  databaseCpuMicroseconds: number;
  statements: number;
  commits: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
};

export type LoadOptions = Omit<Load, 'url' | 'terms'> & { isPaid: boolean };

export type Contest = {
  /** Tollgate comes first. */
  contestants: readonly Contestant[];
  measure(contestant: Contestant, load: LoadOptions): Promise<Measurement>;
  /** Reads streamed responses through a server or, without one, directly from the upstream. */
  stream(contestant: Contestant | undefined, requests: number): Promise<StreamResult>;
  /**
   * Opens many streamed responses through a server or, without one, directly from the upstream. Calls `onOpen` while all
   * of them are open.
   */
  sideBySide(
    contestant: Contestant | undefined,
    streams: SideBySide,
    onOpen?: () => Promise<void>,
  ): Promise<StreamResult>;
};

export type SideBySide = Pick<OpenStreams, 'count' | 'perSecond' | 'isRead'> & { name: StreamName };

/** The resources that all parts share: PostgreSQL, the servers behind the gateway, and buyers. */
export async function openStage({ core, cpuProfile }: { core: number | undefined; cpuProfile: string | undefined }) {
  const postgres = await openPostgres();
  const stub = startChild<StubMethods>(new URL('stub.ts', import.meta.url));
  const buyers = startChild<BuyerMethods>(new URL('buyers.ts', import.meta.url));
  const behind = await stub.call('listen', NETWORK);
  const env: Record<string, string> = cpuProfile ? { CPU_PROFILE: cpuProfile } : {};

  /**
   * Runs `use` with newly started servers: Tollgate and others.
   *
   * @returns its result, and the number of Tollgate's paid responses.
   * @throws Error if the ledger, the facilitator, and the buyers disagree afterward.
   */
  async function withServers<T>(
    names: readonly ServerName[],
    use: (contest: Contest) => Promise<T>,
  ): Promise<{ result: T; paidCount: number }> {
    const database = await postgres.createDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), 'tollgate-bench-'));
    await chmod(dataDir, 0o711);
    const closers: (() => Promise<unknown>)[] = [];

    async function startServer(name: NodeServer, path: string): Promise<Contestant> {
      const child: Child<ServerMethods> = startChild(new URL('server-process.ts', import.meta.url), env, core);
      closers.push(async () => {
        await child.call('stop').catch(() => {});
        await child.end();
      });
      const publicUrl = name === 'tollgate' ? { publicUrl: 'https://pay.example' } : {};
      const where = { databaseUrl: database.url, dataDir, ...publicUrl };
      const origin = await child.call('open', name, { network: NETWORK, payTo: SELLER, ...behind, ...where });
      const url = `${origin}${path}`;
      const meters = { usage: () => child.call('usage'), usedBytes: () => child.call('usedBytes') };
      return { name, url, terms: termsOf(await paymentRequiredOf(url)), ...meters };
    }

    async function startStatic(tollgate: Contestant): Promise<Contestant> {
      const { url, cpuMicroseconds, stop } = await startNginx(await paymentRequiredOf(tollgate.url), core);
      closers.push(stop);
      const usage = async () => ({ cpuMicroseconds: cpuMicroseconds(), rssBytes: 0, statements: 0, commits: 0 });
      return { name: 'nginx', url: `${url}/data`, usage };
    }

    try {
      const shop = await createShop({ databaseUrl: database.url, dataDir, payTo: SELLER, ...behind });
      const tollgate = await startServer('tollgate', shop);
      const contestants = [tollgate];
      for (const name of names) {
        if (name === 'nginx') contestants.push(await startStatic(tollgate));
        else if (name !== 'tollgate')
          contestants.push(await startServer(name, name === WITHOUT_PUBLIC_URL ? shop : '/data'));
      }
      const paid = new Map<Contestant, number>();
      const settled = await stub.call('settlements');

      const addPaid = (contestant: Contestant, count: number) =>
        paid.set(contestant, (paid.get(contestant) ?? 0) + count);

      async function stream(contestant: Contestant | undefined, requests: number): Promise<StreamResult> {
        const result = await buyers.call('stream', { ...placeOf(contestant, 'stream'), requests });
        if (contestant) addPaid(contestant, requests);
        return result;
      }

      async function sideBySide(
        contestant: Contestant | undefined,
        { name, ...streams }: SideBySide,
        onOpen?: () => Promise<void>,
      ): Promise<StreamResult> {
        await buyers.call('openStreams', { ...placeOf(contestant, name), ...streams });
        if (contestant) addPaid(contestant, streams.count);
        await onOpen?.();
        return buyers.call('endStreams');
      }

      function placeOf(contestant: Contestant | undefined, name: StreamName): { url: string; terms?: Terms } {
        const { url, terms } = contestant ?? { url: behind.upstreamUrl };
        return { url: url.replace(/data$/, name), ...(terms && { terms }) };
      }

      async function measure(contestant: Contestant, { isPaid, ...load }: LoadOptions): Promise<Measurement> {
        const { url, terms } = contestant;
        const look = async () => ({ ...(await contestant.usage()), database: postgres.cpuMicroseconds() });
        const before = await look();
        const result = await buyers.call('load', { ...load, url, ...(isPaid && terms && { terms }) });
        const after = await look();
        const { count, seconds, latencies } = result;
        if (isPaid) addPaid(contestant, count);
        return {
          perSecond: count / seconds,
          cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / count,
          databaseCpuMicroseconds: (after.database - before.database) / count,
          statements: (after.statements - before.statements) / count,
          commits: (after.commits - before.commits) / count,
          p50: percentile(latencies, 0.5),
          p99: percentile(latencies, 0.99),
        };
      }

      const result = await use({ contestants, measure, stream, sideBySide });
      const paidCount = paid.get(tollgate) ?? 0;
      await checkBooks(database.url, paidCount, tollgate.terms!.amount);
      const settlements = (await stub.call('settlements')) - settled;
      const total = [...paid.values()].reduce((sum, count) => sum + count, 0);
      if (settlements !== total) throw new Error(`Buyers got ${total} responses for ${settlements} settlements.`);
      return { result, paidCount };
    } finally {
      for (const close of closers.reverse()) await close();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    }
  }

  return {
    withServers,
    async close(): Promise<void> {
      await Promise.all([stub.end(), buyers.end()]);
      await postgres.stop();
    },
  };
}

async function paymentRequiredOf(url: string): Promise<Response> {
  const response = await fetch(url, { headers: { accept: 'application/json' } });
  if (response.status !== 402) throw new Error(`${url} responded with ${response.status}: ${await response.text()}`);
  return response;
}
