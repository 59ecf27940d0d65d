import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withConnection } from '../../src/database/connection.ts';
import { unprivilegedAccount } from '../../src/database/embedded/account.ts';
import { defaultsFor } from '../../src/database/pooler.ts';
import { MAIN } from '../../test/support/programs.ts';
import { type Cluster, kill, PASSWORD } from './cluster.ts';
import { ADDRESS, runProgram } from './hosts.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PORTS = { API1: 4021, API2: 4022, GATEWAY1: 4031, GATEWAY2: 4032, WORKER1: 4041, WORKER2: 4042 };
const PGBOUNCER_PORT = 6432;

export type Service = Awaited<ReturnType<typeof startService>>;

/** HAProxy, PgBouncer, and two processes of each role. */
export async function startService(folder: string, cluster: Cluster, env: Record<string, string>) {
  runProgram(folder, 'haproxy', {
    command: 'haproxy',
    args: ['-db', '-f', join(ROOT, 'deploy/high-availability/haproxy.cfg')],
    env: {
      BIND: ADDRESS,
      API_HOST: ADDRESS,
      ...Object.fromEntries(cluster.hosts.map(({ address }, index) => [`POSTGRES${index + 1}`, address])),
      ...Object.fromEntries(Object.entries(PORTS).map(([name, port]) => [name, `127.0.0.1:${port}`])),
    },
  });
  const directUrl = `postgres://tollgate:${PASSWORD}@${ADDRESS}:5432/tollgate`;
  await createDatabase();
  let pooler = await startPooler(folder);

  for (const [name, port] of Object.entries(PORTS)) {
    runProgram(folder, name.toLowerCase(), {
      command: join(ROOT, 'node_modules/.bin/node'),
      args: [MAIN],
      env: {
        NODE_ENV: 'test',
        SANDBOX: 'off',
        LOG_LEVEL: 'warn',
        ROLES: name.toLowerCase().replace(/\d/, ''),
        PORT: String(port),
        DATA_DIR: folder,
        DATABASE_POOL_SIZE: '10',
        EGRESS_ALLOW: '127.0.0.1/32:*',
        DATABASE_URL: `postgres://tollgate:${PASSWORD}@127.0.0.1:${PGBOUNCER_PORT}/tollgate`,
        DATABASE_DIRECT_URL: directUrl,
        TRUSTED_PROXIES: `127.0.0.1,${ADDRESS}`,
        ...env,
      },
    }).once('exit', (code, signal) => console.log(`${name} ended with ${code ?? signal}`));
  }
  const url = `http://${ADDRESS}:8080`;
  await waitFor(async () => (await fetch(`${url}/readyz`)).ok);
  for (const port of Object.values(PORTS))
    await waitFor(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok);

  return {
    url,
    directUrl,
    async restartPooler(): Promise<void> {
      await kill(pooler);
      await sleep(1_000);
      pooler = await startPooler(folder);
    },
  };
}

async function createDatabase(): Promise<void> {
  const url = `postgres://postgres:${PASSWORD}@${ADDRESS}:5432/postgres`;
  const run = (statements: string[]): Promise<void> =>
    withConnection(url, 'failover', async (client) => {
      for (const statement of statements) await client.query(statement);
    });
  // HAProxy may not have started yet. Once it accepts connections, it must not send them to a standby.
  await waitFor(async () => {
    await run([]);
    return true;
  });
  await run([
    `CREATE ROLE tollgate LOGIN PASSWORD '${PASSWORD}'`,
    'CREATE DATABASE tollgate OWNER tollgate',
    ...defaultsFor('tollgate', 'tollgate'),
  ]);
}

async function startPooler(folder: string): Promise<ChildProcess> {
  const account = await unprivilegedAccount();
  const users = join(folder, 'userlist.txt');
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(users, `"tollgate" "${PASSWORD}"\n`);
  await writeFile(
    file,
    `[databases]
tollgate = host=${ADDRESS} port=5432 dbname=tollgate

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${PGBOUNCER_PORT}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 40
max_client_conn = 2000
query_wait_timeout = 10
server_login_retry = 1
`,
  );
  execFileSync('chmod', ['a+r', users, file]);
  const pooler = runProgram(folder, 'pgbouncer', { command: 'pgbouncer', args: [file], account });
  await once(pooler.stderr!, 'data');
  return pooler;
}

/** Retries until the condition is true. An error also causes a retry. */
async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition().catch(() => false))) await sleep(100);
}
