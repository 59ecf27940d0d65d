/**
 * Shows that the service survives the loss of its database's primary node: runs three PostgreSQL nodes with synchronous
 * replication under Patroni, HAProxy, PgBouncer, and two processes of each role, and breaks them under load.
 *
 *   npm run failover                 10 switchovers, 10 crashes and 5 partitions of the primary, 5 crashes and 3 partitions
 *                                    of the synchronous standby, and restarts of etcd and PgBouncer
 *   npm run failover -- --times 1    each fault once
 *   npm run failover -- --only standby    the faults whose names contain "standby"
 *   npm run failover -- --short      one crash
 *
 * Needs Linux, root, and the Debian packages patroni, etcd-server, haproxy, pgbouncer, and postgresql. Everything runs
 * in its own namespaces, which disappear when this process ends. Exits with 1 if something was lost, charged twice, or
 * is stuck.
 */
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { print } from '../support/table.ts';
import { checkBooks } from './books.ts';
import { startChain } from './chain.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { type Load, startLoad } from './load.ts';
import { type Service, startService } from './service.ts';
import { startWatchers, type Watchers } from './watchers.ts';

const PROGRAMS = ['unshare', 'ip', 'setpriv', 'patroni', 'etcd', 'haproxy', 'pgbouncer'];
/** How long the load runs undisturbed before each fault. */
const CALM_MILLISECONDS = 3_000;
/** Longer than Patroni takes to replace a lost node. */
const PARTITION_MILLISECONDS = 40_000;

/** How many changes must be acknowledged while the synchronous standby is down. */
const CHANGES_WITHOUT_STANDBY = 50;

type World = { cluster: Cluster; service: Service; load: Load; watchers: Watchers };
type Fault = { name: string; times: number; strike(world: World): Promise<void> };

const { values } = parseArgs({
  options: { short: { type: 'boolean', default: false }, times: { type: 'string' }, only: { type: 'string' } },
});
const maxTimes = values.times === undefined ? Number.POSITIVE_INFINITY : Number(values.times);

const crash: Fault = {
  name: 'crash of the primary',
  times: values.short ? 1 : 10,
  async strike({ cluster }) {
    const host = await cluster.primary();
    await host.crash();
    await waitForOther(cluster, host.name);
    cluster.startNode(host);
  },
};
const FAULTS: Fault[] = values.short
  ? [crash]
  : [
      { name: 'switchover', times: 10, strike: ({ cluster }) => cluster.switchover() },
      crash,
      {
        name: 'partition of the primary',
        times: 5,
        async strike({ cluster }) {
          const host = await cluster.primary();
          host.cut();
          await sleep(PARTITION_MILLISECONDS);
          await waitForOther(cluster, host.name);
          host.connect();
        },
      },
      {
        name: 'crash of the synchronous standby',
        times: 5,
        async strike({ cluster, load }) {
          const host = await cluster.syncStandby();
          await host.crash();
          await waitForChanges(load);
          cluster.startNode(host);
        },
      },
      {
        name: 'partition of the synchronous standby',
        times: 3,
        async strike({ cluster, load }) {
          const host = await cluster.syncStandby();
          host.cut();
          await waitForChanges(load);
          host.connect();
        },
      },
      { name: 'restart of etcd', times: 1, strike: ({ cluster }) => cluster.restartEtcd() },
      { name: 'restart of PgBouncer', times: 3, strike: ({ service }) => service.restartPooler() },
    ];

async function waitForOther(cluster: Cluster, name: string): Promise<void> {
  while ((await cluster.primary()).name === name) await sleep(100);
}

/** Waits until the service has acknowledged more changes, which it can do only with another synchronous standby. */
async function waitForChanges({ changes }: Load): Promise<void> {
  const enough = changes.length + CHANGES_WITHOUT_STANDBY;
  while (changes.length < enough) await sleep(100);
}

/** Causes a fault the given number of times, and returns the longest pauses in seconds. */
async function strikeRepeatedly({ name, strike, ...fault }: Fault, world: World): Promise<string[]> {
  const { load, watchers } = world;
  const worst = { writes: 0, purchases: 0, deliveries: 0, frames: 0 };
  const times = Math.min(fault.times, maxTimes);
  for (let time = 1; time <= times; time++) {
    await world.cluster.healthy();
    await sleep(CALM_MILLISECONDS);
    load.pauses();
    watchers.pause();
    await strike(world);
    await world.cluster.healthy();
    await sleep(CALM_MILLISECONDS);
    const pauses = { ...load.pauses(), frames: watchers.pause() };
    for (const kind of ['writes', 'purchases', 'deliveries', 'frames'] as const)
      worst[kind] = Math.max(worst[kind], pauses[kind]);
    console.log(`${name} ${time} of ${times}: no write for ${pauses.writes.toFixed(1)} s`);
  }
  return [name, String(times), ...Object.values(worst).map((seconds) => `${seconds.toFixed(1)} s`)];
}

async function run(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-failover-'));
  await chmod(folder, 0o711);
  // This comes first, because it also brings the network up.
  const cluster = await startCluster(folder);
  const chain = await startChain();
  await cluster.healthy();
  const service = await startService(folder, cluster, chain.env);
  const load = await startLoad({ url: service.url, dataDir: folder, chain, pauseMilliseconds: 50 });
  const watchers = await startWatchers({ url: service.url, dataDir: folder, socketsPerProject: values.short ? 2 : 50 });
  const world = { cluster, service, load, watchers };
  const rows: string[][] = [];
  for (const fault of FAULTS.filter(({ name }) => name.includes(values.only ?? '')))
    rows.push(await strikeRepeatedly(fault, world));
  await load.stop();
  const lostFrames = await watchers.stop();

  const books = { ...(await checkBooks(service.directUrl, load, chain)), 'live frames lost': lostFrames };
  const columns = ['fault', 'times', 'longest pause in writes', 'in paid responses', 'in deliveries', 'in live frames'];
  console.log(print({ columns, rows }));
  const { changes, created, payments, received } = load;
  console.log(
    `acknowledged: ${changes.length} changes, ${created.length} endpoints, ${payments.filter(({ isServed }) => isServed).length} paid responses; received: ${received.size} deliveries`,
  );
  console.log(`${watchers.count} sockets received ${watchers.frames()} live frames`);
  console.log(`nodes that couldn't rejoin and were rebuilt: ${cluster.rebuilt()}`);
  console.table(books);
  const isClean = Object.values(books).every((count) => count === 0);
  // Make sure that nothing writes to the folder while it is being deleted.
  for (const host of cluster.hosts) await host.crash();
  if (isClean) await rm(folder, { recursive: true, force: true, maxRetries: 20 });
  else console.log(`The logs are in ${folder}.`);
  return isClean ? 0 : 1;
}

/** Runs this program in its own namespaces, so that its networks and processes end with it. */
function runIsolated(): number {
  const missing = PROGRAMS.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || missing.length > 0) {
    console.error(
      `This needs Linux, root, and these programs: ${PROGRAMS.join(', ')}. Missing: ${missing.join(', ') || 'none'}.`,
    );
    return 2;
  }
  const flags = ['--net', '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child', '--mount-proc'];
  // The shell is the first process of its namespace, so it must collect processes whose parents have ended. Otherwise,
  // a stopped PostgreSQL would look as if it were still stopping, and Patroni would wait for it forever.
  const command = [
    'sh',
    '-c',
    '"$@" & wait $!',
    'sh',
    process.execPath,
    import.meta.filename,
    ...process.argv.slice(2),
  ];
  const env = { ...process.env, FAILOVER_ISOLATED: '1' };
  // Ends everything that this process started, even if this process is killed.
  const args = ['--pdeathsig', 'KILL', 'unshare', ...flags, ...command];
  return spawnSync('setpriv', args, { stdio: 'inherit', env }).status ?? 1;
}

process.exit(process.env.FAILOVER_ISOLATED ? await run() : runIsolated());
