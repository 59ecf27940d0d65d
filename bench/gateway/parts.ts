import { setTimeout } from 'node:timers/promises';
import { median, percentile } from '../support/statistics.ts';
import { microseconds, milliseconds, rate, ratio, type Table } from '../support/table.ts';
import { NODE_SERVERS, type ServerName, STREAM_CHUNKS, WITHOUT_PUBLIC_URL } from './server.ts';
import type { Contest, Contestant, LoadOptions, Measurement, SideBySide } from './stage.ts';

export type Part = {
  title: string;
  /** The servers to compare, if they are installed. */
  names: readonly ServerName[];
  run(contest: Contest, isQuick: boolean): Promise<Table>;
};

const ROUNDS = 3;
const AT_ONCE = 32;
/** The number of wallets that the buyers share. */
const WALLETS = 30;
/** The number of streams that are open at the same time. */
const SIDE_BY_SIDE = 500;
/** Fewer, because each one also fills the kernel's buffers. */
const UNREAD = 100;
/** The most memory that a stream may take. */
const MAX_STREAM_BYTES = 256 * 1024;
const MEGABYTE = 1024 * 1024;
const EXPRESS = '@x402/express';

/** The benchmark's parts, by name. */
export const PARTS = {
  unpaid: {
    title: `Unpaid requests, ${AT_ONCE} at a time: a 402 response with the terms`,
    names: [WITHOUT_PUBLIC_URL, ...NODE_SERVERS, 'nginx'],
    run: unpaid,
  },
  paid: {
    title: `Paid requests, ${AT_ONCE} at a time: verify, call the upstream, settle`,
    names: NODE_SERVERS,
    run: paid,
  },
  single: { title: 'Paid requests, one at a time', names: NODE_SERVERS, run: single },
  memory: { title: 'Memory', names: NODE_SERVERS, run: memory },
  stream: {
    title: `Streamed responses of ${STREAM_CHUNKS.toLocaleString('en')} chunks, one at a time: from the upstream to the buyer`,
    names: ['tollgate', EXPRESS],
    run: stream,
  },
  streams: {
    title: `${SIDE_BY_SIDE} streamed responses side by side, with a chunk every 50 ms`,
    names: ['tollgate'],
    run: streams,
  },
} satisfies Record<string, Part>;

/** A row of a table: a server under a load. */
type Entry = { label: string; server: Contestant; load: LoadOptions };
type Result = { label: string; name: ServerName; pick(what: keyof Measurement): number };

/**
 * Runs several rounds. In each round, the servers take turns, because a machine's speed varies. Results are medians.
 * Before the first round, each server is warmed up with all buyers, because code gets faster the more often it runs.
 */
async function compare(
  { measure }: Contest,
  entries: readonly Entry[],
  { warmUpRequests, seconds }: { warmUpRequests: number; seconds: number },
): Promise<Result[]> {
  const rounds = new Map<Entry, Measurement[]>(entries.map((entry) => [entry, []]));
  for (const { server, load } of entries)
    await measure(server, { ...load, connections: AT_ONCE, limit: { requests: warmUpRequests } });
  for (let round = 1; round <= ROUNDS; round++) {
    for (const [{ server, load }, results] of rounds)
      results.push(await measure(server, { ...load, limit: { seconds } }));
  }
  return [...rounds].map(([{ label, server }, results]) => ({
    label,
    name: server.name,
    pick: (what) => median(results, (result) => result[what]),
  }));
}

/** A number's ratio to a peer's. */
function versus(results: readonly Result[], peer: ServerName, what: keyof Measurement) {
  const other = results.find(({ name }) => name === peer);
  return ({ pick }: Result): string => (other ? ratio(pick(what) / other.pick(what)) : '–');
}

/** A cell that is empty except in Tollgate's row. */
const ofTollgate = ({ name }: { name: ServerName }, text: string): string => (name === 'tollgate' ? text : '–');

async function unpaid(contest: Contest, isQuick: boolean): Promise<Table> {
  const timing = isQuick ? { warmUpRequests: 5_000, seconds: 1 } : { warmUpRequests: 50_000, seconds: 5 };
  const load: LoadOptions = { connections: AT_ONCE, isPaid: false, limit: timing };
  const entries = contest.contestants.map((server) => ({ label: server.name, server, load }));
  const results = await compare(contest, entries, timing);
  const peers = [EXPRESS, 'nginx'] as const;
  const columns = [
    ...['', 'requests/s', ...peers.map((peer) => `÷ ${peer}`)],
    ...['CPU each', ...peers.map((peer) => `CPU ÷ ${peer}`)],
  ];
  const rows = results.map((result) => [
    ...[result.label, rate(result.pick('perSecond'))],
    ...peers.map((peer) => versus(results, peer, 'perSecond')(result)),
    microseconds(result.pick('cpuMicroseconds')),
    ...peers.map((peer) => versus(results, peer, 'cpuMicroseconds')(result)),
  ]);
  return { columns, rows };
}

async function paid(contest: Contest, isQuick: boolean): Promise<Table> {
  const timing = isQuick ? { warmUpRequests: 500, seconds: 2 } : { warmUpRequests: 5_000, seconds: 10 };
  const load: LoadOptions = { connections: AT_ONCE, isPaid: true, limit: timing };
  const shared = contest.contestants.map((server) => ({
    label: server.name === 'tollgate' ? `tollgate, ${WALLETS} wallets` : server.name,
    server,
    load: { ...load, wallets: WALLETS },
  }));
  const own = { label: 'tollgate, a wallet per buyer', server: contest.contestants[0]!, load };
  const results = await compare(contest, [own, ...shared], timing);
  const columns = [
    ...['', 'payments/s', `÷ ${EXPRESS}`, 'CPU each', `CPU ÷ ${EXPRESS}`],
    ...['PostgreSQL CPU each', 'statements each', 'commits each', 'p50', 'p99'],
  ];
  const rows = results.map((result) => [
    ...[result.label, rate(result.pick('perSecond')), versus(results, EXPRESS, 'perSecond')(result)],
    ...[microseconds(result.pick('cpuMicroseconds')), versus(results, EXPRESS, 'cpuMicroseconds')(result)],
    ofTollgate(result, microseconds(result.pick('databaseCpuMicroseconds'))),
    ...(['statements', 'commits'] as const).map((what) => ofTollgate(result, result.pick(what).toFixed(1))),
    ...(['p50', 'p99'] as const).map((what) => milliseconds(result.pick(what))),
  ]);
  return { columns, rows };
}

async function single(contest: Contest, isQuick: boolean): Promise<Table> {
  const timing = isQuick ? { warmUpRequests: 500, seconds: 1 } : { warmUpRequests: 5_000, seconds: 5 };
  const load: LoadOptions = { connections: 1, isPaid: true, limit: timing };
  const entries = contest.contestants.map((server) => ({ label: server.name, server, load }));
  const results = await compare(contest, entries, timing);
  const rows = results.map((result) => [
    ...[result.label, milliseconds(result.pick('p50')), versus(results, EXPRESS, 'p50')(result)],
    ...[milliseconds(result.pick('p99')), microseconds(result.pick('cpuMicroseconds'))],
  ]);
  return { columns: ['', 'p50', `÷ ${EXPRESS}`, 'p99', 'CPU each'], rows };
}

async function memory({ contestants, measure }: Contest, isQuick: boolean): Promise<Table> {
  const requests = isQuick ? 2_000 : 100_000;
  const used = new Map<ServerName, { before: number; after: number }>();
  for (const server of contestants) {
    const before = (await server.usage()).rssBytes;
    await measure(server, { connections: AT_ONCE, isPaid: true, wallets: WALLETS, limit: { requests } });
    used.set(server.name, { before, after: (await server.usage()).rssBytes });
  }
  const express = used.get(EXPRESS);
  const rows = [...used].map(([name, { before, after }]) => [
    ...[name, ...[before, after].map((bytes) => `${Math.round(bytes / MEGABYTE)} MB`)],
    express ? ratio(after / express.after) : '–',
  ]);
  return { columns: ['', 'at the start', `after ${rate(requests)} paid requests`, `÷ ${EXPRESS}`], rows };
}

async function stream(contest: Contest, isQuick: boolean): Promise<Table> {
  const requests = isQuick ? { warmUp: 1, perRound: 2 } : { warmUp: 10, perRound: 20 };
  const sources = [undefined, ...contest.contestants].map((server) => ({
    label: server?.name ?? 'the upstream alone',
    read: (count: number) => contest.stream(server, count),
    first: [] as number[],
    all: [] as number[],
  }));
  for (const { read } of sources) await read(requests.warmUp);
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { read, first, all } of sources) {
      const delays = await read(requests.perRound);
      first.push(...delays.first);
      for (const delay of delays.all) all.push(delay);
    }
  }
  const rows = sources.map(({ label, first, all }) => [
    label,
    ...[first, all].flatMap((delays) => [0.5, 0.99].map((share) => milliseconds(percentile(delays, share)))),
  ]);
  return { columns: ['', 'first byte p50', 'p99', 'every chunk p50', 'p99'], rows };
}

/** The delays and CPU of streams, and how much memory one takes while its buyer reads, and while nobody does. */
async function streams({ contestants, sideBySide }: Contest, isQuick: boolean): Promise<Table> {
  const [tollgate] = contestants as [Contestant];
  const tokens = { name: 'tokens' as const, count: SIDE_BY_SIDE, perSecond: 50, isRead: true };
  await sideBySide(tollgate, tokens);
  const rows: string[][] = [];
  for (const server of isQuick ? [tollgate] : [undefined, tollgate]) {
    const before = await server?.usage();
    const { first, all } = await sideBySide(server, tokens);
    const after = await server?.usage();
    const cpu = before && after && (after.cpuMicroseconds - before.cpuMicroseconds) / SIDE_BY_SIDE;
    rows.push([
      server?.name ?? 'the upstream alone',
      ...[first, all].flatMap((delays) => [0.5, 0.99].map((share) => milliseconds(percentile(delays, share)))),
      cpu === undefined ? '–' : milliseconds(cpu / 1000),
    ]);
  }

  // Measured last, because garbage collections stop the server, and it has to compile some of its code again.
  async function bytesPerStream(load: SideBySide): Promise<number> {
    // The connections of earlier streams may still be closing, and unread streams need some time to fill all buffers.
    await setTimeout(2_000);
    const before = await tollgate.usedBytes!();
    let perStream = 0;
    await sideBySide(tollgate, load, async () => {
      await setTimeout(2_000);
      perStream = ((await tollgate.usedBytes!()) - before) / load.count;
    });
    if (perStream > MAX_STREAM_BYTES) throw new Error(`A stream of ${load.name} takes ${kilobytes(perStream)}.`);
    return perStream;
  }
  const reading = await bytesPerStream({ ...tokens, isRead: false });
  const unread = await bytesPerStream({ ...tokens, name: 'flood', count: UNREAD, isRead: false });
  const memory = (server: string, bytes: number) => (server === tollgate.name ? kilobytes(bytes) : '–');
  return {
    columns: ['', 'first byte p50', 'p99', 'every chunk p50', 'p99', 'CPU each', 'memory each', 'memory each, unread'],
    rows: rows.map((row) => [...row, memory(row[0]!, reading), memory(row[0]!, unread)]),
  };
}

const kilobytes = (bytes: number): string => `${Math.round(bytes / 1024)} KB`;
