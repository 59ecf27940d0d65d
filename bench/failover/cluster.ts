import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { unprivilegedAccount } from '../../src/database/embedded/account.ts';
import { ADDRESS, createHosts, type Host, runProgram } from './hosts.ts';

const PATRONI = resolve(import.meta.dirname, '../../deploy/high-availability/patroni.yml');
const ETCD_PORTS = [2379, 2479, 2579];
/** If a node is still starting after this time, its data has diverged from the primary's, and it can't rejoin. */
const REJOIN_MILLISECONDS = 60_000;
export const PASSWORD = 'failover';

export type Cluster = Awaited<ReturnType<typeof startCluster>>;
type Member = { name: string; role: string; state: string; lag?: number };

/** Three PostgreSQL nodes with synchronous replication, run by Patroni, and three etcd nodes. */
export async function startCluster(folder: string) {
  const account = await unprivilegedAccount();
  const hosts = createHosts(folder, ['postgres1', 'postgres2', 'postgres3']);
  let etcd = ETCD_PORTS.map((_, index) => startEtcd(folder, index));
  const hostsByName = new Map(hosts.map((host) => [host.name, host]));

  function startNode(host: Host): void {
    const data = join(folder, host.name);
    const env = {
      PATRONI_NAME: host.name,
      PATRONI_POSTGRESQL_LISTEN: `${host.address}:5432`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${host.address}:5432`,
      PATRONI_RESTAPI_LISTEN: `${host.address}:8008`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `${host.address}:8008`,
      PATRONI_POSTGRESQL_DATA_DIR: join(data, 'data'),
      PATRONI_POSTGRESQL_BIN_DIR: '/usr/lib/postgresql/15/bin',
      PATRONI_POSTGRESQL_PGPASS: join(data, 'pgpass'),
      PATRONI_ETCD3_HOSTS: ETCD_PORTS.map((port) => `${ADDRESS}:${port}`).join(),
      PATRONI_SUPERUSER_PASSWORD: PASSWORD,
      PATRONI_REPLICATION_PASSWORD: PASSWORD,
    };
    host.run({ command: 'patroni', args: [PATRONI], env, account });
  }

  for (const host of hosts) {
    await mkdir(join(folder, host.name));
    await chown(join(folder, host.name), account.uid, account.gid);
    await chmod(join(folder, host.name), 0o700);
    startNode(host);
  }

  /** Calls a node's Patroni. Returns undefined if it doesn't respond. */
  async function ask(host: Host, path: string, body?: object): Promise<{ ok: boolean; text: string } | undefined> {
    const init: RequestInit = body ? { method: 'POST', body: JSON.stringify(body) } : {};
    const signal = AbortSignal.timeout(body ? 60_000 : 3_000);
    try {
      const response = await fetch(`http://${host.address}:8008${path}`, { ...init, signal });
      return { ok: response.ok, text: await response.text() };
    } catch {
      return undefined;
    }
  }

  async function primary(): Promise<Host | undefined> {
    for (const host of hosts) if ((await ask(host, '/primary'))?.ok) return host;
    return undefined;
  }

  /** The state of each node, as the primary sees it. */
  async function members(): Promise<Member[]> {
    const host = await primary();
    const response = host && (await ask(host, '/cluster'));
    return response?.ok ? (JSON.parse(response.text) as { members: Member[] }).members : [];
  }

  let rebuilt = 0;
  return {
    hosts,
    members,

    async primary(): Promise<Host> {
      for (;;) {
        const host = await primary();
        if (host) return host;
        await sleep(100);
      }
    },

    /** The node that stores every write before it is acknowledged. */
    async syncStandby(): Promise<Host> {
      return hostsByName.get((await members()).find(({ role }) => role === 'sync_standby')!.name)!;
    },

    /**
     * Waits until all three nodes are part of the cluster, and one of the others is the synchronous standby. Rebuilds a
     * node that can't rejoin, as an operator would.
     */
    async healthy(): Promise<void> {
      const startingSince = new Map<string, number>();
      for (;;) {
        const list = await members();
        const isUp = ({ state }: Member) => state === 'running' || state === 'streaming';
        if (list.filter(isUp).length === 3 && list.some(({ role }) => role === 'sync_standby')) return;
        for (const { name, state } of list) {
          if (state !== 'starting') startingSince.delete(name);
          else if (!startingSince.has(name)) startingSince.set(name, Date.now());
          else if (Date.now() - startingSince.get(name)! > REJOIN_MILLISECONDS) {
            startingSince.delete(name);
            rebuilt += 1;
            await ask(hostsByName.get(name)!, '/reinitialize', { force: true });
          }
        }
        await sleep(200);
      }
    },

    /** How many nodes had to be rebuilt. */
    rebuilt: () => rebuilt,

    /** Makes the synchronous standby the primary, as an operator would before maintenance. */
    async switchover(): Promise<void> {
      const list = await members();
      const candidate = list.find(({ role }) => role === 'sync_standby')!.name;
      const leader = list.find(({ role }) => role === 'leader')!.name;
      const response = await ask(hostsByName.get(leader)!, '/switchover', { leader, candidate });
      if (!response?.ok) throw new Error(`The switchover failed: ${response?.text}`);
    },

    startNode,

    /** Kills each etcd node and starts it again, one after another, and then all of them at the same time. */
    async restartEtcd(): Promise<void> {
      for (const index of ETCD_PORTS.keys()) {
        await kill(etcd[index]!);
        await sleep(2_000);
        etcd[index] = startEtcd(folder, index);
        await sleep(3_000);
      }
      await Promise.all(etcd.map(kill));
      await sleep(15_000);
      etcd = ETCD_PORTS.map((_, index) => startEtcd(folder, index));
    },
  };
}

function startEtcd(folder: string, index: number): ChildProcess {
  const client = `http://${ADDRESS}:${ETCD_PORTS[index]}`;
  const peerOf = (port: number) => `http://${ADDRESS}:${port + 1}`;
  const args = [
    ...['--name', `etcd${index + 1}`, '--data-dir', join(folder, `etcd${index + 1}`)],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peerOf(ETCD_PORTS[index]!), '--initial-advertise-peer-urls', peerOf(ETCD_PORTS[index]!)],
    ...['--initial-cluster', ETCD_PORTS.map((port, at) => `etcd${at + 1}=${peerOf(port)}`).join()],
  ];
  return runProgram(folder, `etcd${index + 1}`, { command: 'etcd', args });
}

/** Ends a process with SIGKILL. */
export async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
